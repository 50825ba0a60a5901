"""`manage.py demo [--once] [--port N]`: what `make run` runs."""

import signal
import sys
import time
from argparse import ArgumentParser
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand

from tasksite import demo


class Command(BaseCommand):
    help = "Drain the plan that ships with the repository with a server and three workers, and go on serving."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="stop when drained: exit 0, or 1 where it did not")
        parser.add_argument("--port", type=int, default=0, help="0 is any free one (%(default)s)")

    def handle(self, *, once: bool, port: int, **_: Any) -> None:
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _stop)
        try:
            code = self._run(once, port)
        except (KeyboardInterrupt, demo.Stopped):
            self.say("Stopped.")
            code = 0
        sys.exit(code)

    def say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()

    def _run(self, once: bool, port: int) -> int:
        call_command("migrate", interactive=False, verbosity=0)
        here = demo.Demo.at(settings.VAR_DIR)
        name, password = demo.make_lead()
        plan = time.strftime("self-study-%Y%m%d-%H%M%S")
        here.manage("import_plan", "-", given=demo.plan_text(plan, here.repository()))
        with demo.children(here, port, plan, here.token("demo-workers")) as url:
            self.say(f"tasksite serves at {url} and {demo.WORKERS} workers drain the plan {plan}.")
            self.say(f"Sign in at {url}admin/ as {name} with the password {password}")
            finished = demo.drained(plan, self.say)
            audit = here.manage("audit", check=False)
            self.say(audit)
            finished = finished and audit == "audit: clean"
            if finished:
                self.say(f"The plan is drained. Its report is {here.report()}")
            else:
                self.say(f"The plan did not drain; the workers' logs are in {here.folder}.")
            if not once:
                self.say("Serving until Ctrl-C.")
                while True:
                    signal.pause()
        return 0 if finished else 1


def _stop(number: int, frame: FrameType | None) -> None:
    raise demo.Stopped
