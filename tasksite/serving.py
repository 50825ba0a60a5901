"""Several programs under one parent that brings them up, keeps them up and takes them down.

Each child leads a session of its own, so that a signal for one never reaches another (a SIGTERM to the whole
group of the job cluster hangs it) and whatever it leaves behind can be killed as a group. All of them hold the
lifeline (`tasksite.lifeline`), for the case that the parent itself is killed.
"""

import contextlib
import logging
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Final

from tasksite.environment import ROOT

GRACE_S: Final = 15.0
"""Seconds from the SIGTERM to the kill of what has not ended by itself."""

FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 30.0
SETTLED_S: Final = 60.0
"""A child that lived this long did not die of its start: it comes back after the first pause."""

STOPS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Spec:
    """A child: its name for the log, what `tasksite.child` is to do, and whether nothing works without it."""

    name: str
    arguments: Sequence[str]
    ready: Callable[[], bool] = field(default=lambda: True)
    """Asked until it says yes. A child that ends before it was ever ready cannot be helped by a restart."""


class Child:
    """One child, through all its lives."""

    def __init__(self, spec: Spec, lifeline: int) -> None:
        self.spec = spec
        self.was_ready = False
        self.starts_at = 0.0
        self._lifeline = lifeline
        self._pause = FIRST_PAUSE_S
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0

    @property
    def up(self) -> bool:
        return self._process is not None

    def start(self) -> None:
        self._started = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tasksite.child", str(self._lifeline), *self.spec.arguments],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            pass_fds=[self._lifeline],
            start_new_session=True,
        )

    def reap(self) -> int | None:
        """The exit code, once for each death (minus the signal that killed it); what it left behind is killed."""
        if self._process is None or self._process.poll() is None:
            return None
        code = self._process.returncode
        self.destroy()
        return code

    def back_off(self) -> float:
        """Seconds until it is started again: twice as many each time, until it lives for a while."""
        now = time.monotonic()
        if now - self._started >= SETTLED_S:
            self._pause = FIRST_PAUSE_S
        pause = self._pause
        self.starts_at = now + pause
        self._pause = min(2 * pause, LONGEST_PAUSE_S)
        return pause

    def terminate(self) -> None:
        """Ask the child alone, which takes down its own."""
        if self._process is not None:
            self._process.terminate()

    def destroy(self) -> None:
        """Kill the child and all that it started."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None


class Supervisor:
    """Runs the children until SIGTERM, SIGINT or SIGHUP; a second one kills what still drains."""

    def __init__(self, specs: Sequence[Spec], on_ready: Callable[[], None]) -> None:
        self._reading, self._writing = os.pipe()  # the lifeline: nobody else ever holds its writing end
        self._children = [Child(spec, self._reading) for spec in specs]
        self._on_ready = on_ready
        self._announced = False
        self._stops = 0
        self._failed = False

    def run(self) -> int:
        """The exit code: 0 after a stop that was asked for, 1 where a child could not be brought up."""
        with self._signals() as wake:
            try:
                while not self._stops and not self._failed:
                    self._tend()
                    self._sleep(wake, self._pause())
                self._drain(wake)
            finally:
                for child in self._children:
                    child.destroy()
        return int(self._failed)

    def _tend(self) -> None:
        for child in self._children:
            code = child.reap()
            if code is not None:
                self._mourn(child, code)
            if not child.up and not self._failed and time.monotonic() >= child.starts_at:
                child.start()
            if child.up and not child.was_ready:
                child.was_ready = child.spec.ready()
        if not self._announced and all(child.was_ready for child in self._children):
            self._announced = True
            self._on_ready()

    def _mourn(self, child: Child, code: int) -> None:
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        if child.was_ready:
            log.error("The %s %s. It starts again in %.1f s.", child.spec.name, how, child.back_off())
        else:
            log.error("The %s %s before it was ready.", child.spec.name, how)
            self._failed = True

    def _pause(self) -> float:
        """Seconds until something is due, a death or a signal aside: those wake it."""
        if not all(child.was_ready for child in self._children):
            return 0.05
        down = [child.starts_at - time.monotonic() for child in self._children if not child.up]
        return max(0.0, min(down, default=3600.0))

    def _drain(self, wake: int) -> None:
        for child in self._children:
            child.terminate()
        deadline = time.monotonic() + GRACE_S
        while self._stops < 2 and (left := deadline - time.monotonic()) > 0:
            for child in self._children:
                child.reap()
            if not any(child.up for child in self._children):
                return
            self._sleep(wake, left)
        log.warning("Killing what has not ended: %s.", ", ".join(c.spec.name for c in self._children if c.up))

    @staticmethod
    def _sleep(wake: int, seconds: float) -> None:
        if select.select([wake], [], [], seconds)[0]:
            os.read(wake, 4096)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[int]:
        """Signals end the sleep; yields the descriptor that says so."""
        wake, waker = os.pipe()
        for end in (wake, waker):
            os.set_blocking(end, False)
        heard = [number for number in STOPS if signal.getsignal(number) is not signal.SIG_IGN]  # nohup stays nohup
        before = {number: signal.signal(number, self._stop) for number in heard}
        before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        try:
            yield wake
        finally:
            signal.set_wakeup_fd(-1)
            for number, handler in before.items():
                signal.signal(number, handler)
            for end in (wake, waker, self._reading, self._writing):
                os.close(end)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stops += 1
