"""A worker under test: against a scripted peer, in a thread of its own where the test has to act meanwhile."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from leases.attempt import Orders
from leases.client import Client
from leases.worker import Worker
from tests.leases.fifo import Fifo
from tests.leases.peer import TOKEN, Peer
from tests.processes import LONG_S, until


class Bench:
    """A worker's server, clones and client, and a pipe between test and command."""

    def __init__(self, peer: Peer, folder: Path) -> None:
        self.peer = peer
        self.root = folder / "clones"
        self.fifo = Fifo(folder)
        self.client = Client(peer.url, TOKEN)

    def worker(self, command: str, **orders: Any) -> Worker:
        """The command may use `$FIFO`."""
        wishes: dict[str, Any] = {"poll_s": 0.01, "grace_s": LONG_S} | orders
        command = f"FIFO='{self.fifo}'; {command}"
        return Worker(self.client, Orders(command=command, root=self.root, token=TOKEN, **wishes))

    def once(self, command: str, **orders: Any) -> bool:
        return self.worker(command, **orders).run(once=True)

    @contextmanager
    def running(self, worker: Worker, *, once: bool = True) -> Iterator["Future[bool]"]:
        """What `run` will answer; the worker is stopped in any case."""
        with ThreadPoolExecutor(1) as pool:
            ending = pool.submit(worker.run, once=once)
            try:
                yield ending
            finally:
                worker.stop()

    def told(self) -> list[tuple[str, dict[str, Any]]]:
        """What the server was told in the end: verbs and bodies, without what holds the lease."""
        settling = ("report", "reject", "release")
        calls = {heard.key: heard for heard in self.peer.heard if heard.verb in settling}  # a retry is one call
        return [
            (call.verb, {name: value for name, value in call.body.items() if name not in ("lease", "fence")})
            for call in calls.values()
        ]


def runs(process: psutil.Process) -> bool:
    """Whether it does anything still: a dead one that nobody has collected does not.

    Looks only: to wait for a child of ours would take its exit status away from the worker.
    """
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def ended(*processes: psutil.Process) -> bool:
    """Whether they all end."""
    until(lambda: not any(map(runs, processes)), f"{processes} end")
    return True
