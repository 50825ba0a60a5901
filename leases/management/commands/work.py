"""The reference worker as a command: HTTP only, no database."""

import argparse
import logging
import math
import os
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leases.attempt import Orders
from leases.client import Client
from leases.group import StillAlive
from leases.problems import ApiError
from leases.worker import Worker

EPILOG = """
The command runs in the lane's clone, DIR/<clone.dir>, with these set: TASK_ID, TASK_KEY, TASK_TITLE, TASK_BODY_FILE,
TASK_INPUTS_FILE (JSON), TASK_ATTEMPT, TASK_FENCE, RESULT_FILE, PROGRESS_FILE, ASKS_FILE.

Exit status 0 is done, 10 partial, 75 gives the task back, any other rejects the attempt. RESULT_FILE may hold JSON:
{"summary": "...", "result": ...}, or the result alone. A file in PROGRESS_FILE is shown while the task runs.

SIGTERM, SIGINT and SIGHUP end the command and give the task back; the status of this program is 0 then. With --once it
is 0 also when there was nothing to do, and 1 when the task's lease was lost. A server that refuses the worker: 1.
"""

STOPS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
ENDED: Final = b"\0"  # no signal has this number


class Command(BaseCommand):
    help = "Claim tasks and run a command for each, over HTTP."
    requires_system_checks = ()

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        kwargs |= {"epilog": EPILOG, "formatter_class": argparse.RawDescriptionHelpFormatter}
        return super().create_parser(prog_name, subcommand, **kwargs)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--url", default=os.environ.get("TASK_SERVER"), help="of the server; or TASK_SERVER")
        parser.add_argument(
            "--token",
            default=os.environ.get("TASK_TOKEN"),
            help="of the worker; better in TASK_TOKEN: every user of this machine can read arguments",
        )
        parser.add_argument("--exec", required=True, metavar="COMMAND", dest="run", help="for /bin/sh -c, in the clone")
        parser.add_argument("--dir", type=Path, default=Path("clones"), help="where the clones are (%(default)s)")
        parser.add_argument("--once", action="store_true", help="stop after one task, or when there is none")
        parser.add_argument("--plan", metavar="NAME", help="take tasks of this plan only")
        parser.add_argument("--holder", default=f"{socket.gethostname()}:{os.getpid()}", help="name shown on the lease")
        parser.add_argument("--ttl", type=int, metavar="S", help="life of the lease between heartbeats; the server's")
        parser.add_argument("--poll", type=_seconds, default=2.0, metavar="S", help="between two looks (%(default)s)")
        parser.add_argument("--grace", type=_seconds, default=5.0, metavar="S", help="TERM to KILL (%(default)s)")
        parser.add_argument("--timeout", type=_seconds, metavar="S", help="reject an attempt that takes longer")

    def handle(self, *args: Any, **options: Any) -> None:
        for name, variable in (("url", "TASK_SERVER"), ("token", "TASK_TOKEN")):
            if not options[name]:
                raise CommandError(f"--{name} is missing, and so is {variable}", returncode=2)
        orders = Orders(
            command=options["run"],
            root=options["dir"].absolute(),
            token=options["token"],
            plan=options["plan"],
            ttl_s=options["ttl"],
            poll_s=options["poll"],
            grace_s=options["grace"],
            timeout_s=options["timeout"],
        )
        _log_to_stderr(options["verbosity"])
        try:
            client = Client(options["url"], options["token"], holder=options["holder"])
        except ValueError as fault:
            raise CommandError(str(fault), returncode=2) from fault
        with client:
            kept = self._run(Worker(client, orders), once=options["once"])
        if not kept:
            raise CommandError("the task was lost")

    def _run(self, worker: Worker, *, once: bool) -> bool:
        """The worker has a thread of its own; this one waits at a pipe for signals and for the end.

        A pipe, because a signal that the system hands to another thread interrupts nothing here, but is written there.
        """
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored by whoever started us, it would hide how commands end
        before = {number: signal.getsignal(number) for number in STOPS}
        before = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}  # nohup, `&`
        news, write = os.pipe()
        os.set_blocking(write, False)
        earlier = signal.set_wakeup_fd(write)
        for number in before:
            signal.signal(number, lambda *_: None)
        try:
            with ThreadPoolExecutor(1, thread_name_prefix="worker") as pool:
                ending = pool.submit(worker.run, once=once)
                ending.add_done_callback(lambda _: os.write(write, ENDED))
                while os.read(news, 1) != ENDED:
                    worker.stop()
                return ending.result()
        except (ApiError, OSError, StillAlive) as fault:
            raise CommandError(str(fault)) from fault
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(earlier)
            os.close(news)
            os.close(write)


def _seconds(text: str) -> float:
    value = float(text)
    if not (0 <= value < math.inf):
        raise argparse.ArgumentTypeError(f"not a number of seconds: {text}")
    return value


def _log_to_stderr(verbosity: int) -> None:
    """What the worker does, one line each; `-v 0` leaves the warnings, `-v 2` adds the requests."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log = logging.getLogger("leases.work")
    log.handlers = [handler]
    log.propagate = False
    log.setLevel(logging.INFO if verbosity else logging.WARNING)
    if verbosity < 2:
        logging.getLogger("httpx").setLevel(logging.WARNING)  # a line for each request
