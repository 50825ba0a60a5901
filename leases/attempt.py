"""One attempt: the desk, the clone, the command under watch, and how it ended."""

import math
import os
import signal
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from leases import clones
from leases.desk import Desk
from leases.grants import Grant, clock
from leases.group import Group
from leases.pulse import Pulse
from leases.verdict import DONE, PARTIAL, Reject, Release, Verdict, clean, judge

STOPPED: Final = "the worker was stopped"
TOO_LATE: Final = "no heartbeat was answered before the deadline"

# A stop that is sent to all processes at once (by a service manager, say) may reach the command before the worker.
STOP_SIGNALS: Final = frozenset({-signal.SIGTERM, -signal.SIGINT, 128 + signal.SIGTERM, 128 + signal.SIGINT})
STOP_COMES_S: Final = 0.5


class LeaseGone(Exception):
    """There is no right to go on, or to report. What has been done stays in the clone."""


class Stopped(Exception):
    """The worker is to stop. The command has been ended, and the lease still lives."""


class TimedOut(Exception):
    """The attempt took longer than it may."""


@dataclass(frozen=True, slots=True)
class Orders:
    """What a worker is told. Times in seconds."""

    command: str
    """For `/bin/sh -c`, in the clone."""
    root: Path
    """Where the clones are."""
    token: str
    """Kept from the command: no variable that holds it is passed on."""
    plan: str | None = None
    ttl_s: int | None = None
    poll_s: float = 2.0
    """Between two looks at an empty pool, and after a release; jittered."""
    grace_s: float = 5.0
    """Between TERM and KILL."""
    timeout_s: float | None = None
    """How long an attempt may take before it is ended and rejected."""


class Attempt:
    """`run` returns when nothing of the attempt runs any more, whichever way it ended."""

    def __init__(
        self,
        orders: Orders,
        grant: Grant,
        number: int,
        *,
        pulse: Pulse,
        stopping: threading.Event,
        bell: threading.Event,
    ) -> None:
        self._orders = orders
        self._grant = grant
        self._number = number
        self._pulse = pulse
        self._stopping = stopping
        self._bell = bell
        self._limit = math.inf if orders.timeout_s is None else clock() + orders.timeout_s

    def run(self) -> Verdict:
        """What to tell the server. Raises LeaseGone, and OSError for what is no fault of the task."""
        try:
            with Desk(self._grant, self._number) as desk:
                self._pulse.progress, self._pulse.asked = desk.progress, desk.asked
                place = clones.make(self._orders.root, self._grant.clone, self._git)
                argv = ["/bin/sh", "-c", self._orders.command]
                group = self._supervise(argv, place, os.environ | desk.environment())
                return judge(group.code, desk.result_file, group.tail)
        except Stopped:
            return Release(STOPPED)
        except TimedOut:
            return Reject(f"took longer than {self._orders.timeout_s:g} s")
        except clones.CloneFailed as fault:
            self._stopping.wait(self._orders.poll_s)  # the next attempt would meet the same at once
            return Reject(clean(f"clone: {fault}"))

    def _git(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        group = self._supervise(argv, cwd, env)
        if group.code != 0:
            raise clones.CloneFailed(group.tail.decode(errors="replace") or f"git ended with {group.code}")

    def _supervise(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Group:
        """Run it to its end, by itself or by ours; what it leaves running is ended, too."""
        self._time_left()  # before anything starts
        env = {name: value for name, value in env.items() if self._orders.token not in value}
        group = Group(argv, cwd=cwd, env=env, bell=self._bell, grace_s=self._orders.grace_s)
        try:
            self._watch(group)
        finally:
            group.end()
        return group

    def _watch(self, group: Group) -> None:
        """Return when the command has exited; raise when it must not go on."""
        while True:
            self._bell.clear()
            if group.exited:
                if group.code not in (DONE, PARTIAL) and self._stops(group.code):
                    raise Stopped
                return
            self._bell.wait(self._time_left())

    def _time_left(self) -> float:
        """Seconds that the command may run on, as far as is known now; raises when there are none."""
        now = clock()
        if self._pulse.lost:
            raise LeaseGone(self._pulse.lost)
        if self._stopping.is_set():
            raise Stopped
        if now >= self._pulse.deadline:
            raise LeaseGone(TOO_LATE)
        if now >= self._limit:
            raise TimedOut
        return min(self._pulse.deadline, self._limit) - now

    def _stops(self, code: int) -> bool:
        """Whether a command that failed did so because all of us are to stop: that is no fault of the task."""
        return self._stopping.wait(STOP_COMES_S if code in STOP_SIGNALS else 0.0)
