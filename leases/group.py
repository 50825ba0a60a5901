"""A command in a process group of its own, which ends as a whole: when it is told to, and when the worker dies.

Three ways out are closed. A process that the command leaves behind is ended with its group. A worker that is killed,
even by SIGKILL, takes the group with it: a guard, a shell of one line, waits at a pipe that closes with the worker.
And the command starts only after its guard stands.

Not caught: a process that leaves the group on purpose (`setsid`, a daemon), and a kill that hits worker, guard and
not the command. Then the lease expires, and whoever takes the lane next works in another directory.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Final

# The command waits for a line on its standard input, and then finds nothing more there.
GATE: Final = 'read -r go && exec "$@" </dev/null'
# $0 is the group, $1 the grace. A line means that all is over; the end of the input without one, that the worker died.
GUARD: Final = """trap '' HUP INT TERM
read -r over || { kill -s TERM -- "-$0" && sleep "$1" && kill -s KILL -- "-$0"; }"""

TAIL_BYTES: Final = 4096
LOOK_EVERY_S: Final = 0.02
DYING_S: Final = 10.0
LAST_WORDS_S: Final = 1.0


class StillAlive(Exception):
    """Something of the group survived SIGKILL for longer than it may: nobody can say that the work has ended."""


class Group:
    """A running command.

    Its standard output is the worker's own; what it says on standard error goes on to `sink` (the worker's own, too),
    and the end of that is kept in `tail`. `bell` is rung when the command exits; `end()` must be called in any case.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        bell: threading.Event,
        grace_s: float,
        sink: BinaryIO | None = None,
    ) -> None:
        if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
            raise RuntimeError("with SIGCHLD ignored every command would seem to end with 0")
        self.tail = b""
        self._ended = False
        self._bell = bell
        self._grace_s = grace_s
        self._sink = sink or sys.stderr.buffer
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", GATE, "sh", *argv],
            cwd=cwd,
            env=env,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            self._guard = self._stand_guard()
        except OSError:
            self._process.communicate()  # an end of input without a line: the command does not start
            raise
        self._waiter = threading.Thread(target=self._wait, daemon=True)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._waiter.start()
        self._listener.start()
        _say_go(self._process)

    @property
    def exited(self) -> bool:
        return self._process.returncode is not None

    @property
    def code(self) -> int:
        """The exit status of a command that has exited, below 0 for the signal that ended it."""
        return int(self._process.returncode)

    def end(self) -> None:
        """End what is left of the group: TERM, the grace, KILL. Returns when nothing of it runs any more."""
        if self._ended:
            return
        if not self._end_by(signal.SIGTERM, self._grace_s) and not self._end_by(signal.SIGKILL, DYING_S):
            raise StillAlive(f"process group {self._process.pid} does not die")
        self._ended = True
        _say_go(self._guard)
        self._guard.wait()
        self._waiter.join()
        self._listener.join(timeout=LAST_WORDS_S)  # who left the group may hold the pipe open for ever

    def _stand_guard(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            ["/bin/sh", "-c", GUARD, str(self._process.pid), f"{self._grace_s:g}"],
            cwd="/",
            env={"PATH": os.defpath},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _wait(self) -> None:
        self._process.wait()
        self._bell.set()

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as pipe:
            while chunk := os.read(pipe.fileno(), 65536):
                self.tail = (self.tail + chunk)[-TAIL_BYTES:]
                with contextlib.suppress(OSError, ValueError):  # nobody listens to the worker: the command goes on
                    self._sink.write(chunk)
                    self._sink.flush()

    def _end_by(self, number: signal.Signals, patience_s: float) -> bool:
        """Send the signal; whether all of the group has gone within `patience_s`."""
        if not self._signalled(number):
            return True
        until = time.monotonic() + patience_s
        while self._runs():
            if time.monotonic() >= until:
                return False
            time.sleep(LOOK_EVERY_S)
        return True

    def _runs(self) -> bool:
        """Whether anything of the group runs. A dead process that nobody has collected yet does not."""
        if not self._signalled(0):
            return False
        return sys.platform != "linux" or any(_living_of(self._process.pid))

    def _signalled(self, number: int) -> bool:
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return False
        return True


def _living_of(group: int) -> Iterator[int]:
    """The ids of the processes in the group that are not zombies (Linux)."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended while we looked
            state, _, of = stat.read_text(errors="replace").rpartition(")")[2].split()[:3]
            if int(of) == group and state not in "ZX":
                yield int(stat.parent.name)


def _say_go(process: subprocess.Popen[bytes]) -> None:
    """One line on its standard input, and the end of it."""
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # it has ended before; its exit status says so
        process.stdin.write(b"\n")
        process.stdin.close()
