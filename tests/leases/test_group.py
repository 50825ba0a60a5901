"""Process groups: what a command starts ends with it, and with the worker, whichever way that goes."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final

import psutil
import pytest

from leases import group
from leases.group import Group, StillAlive
from tests.leases.crew import ended
from tests.leases.fifo import Fifo
from tests.processes import LONG_S, until

ROOT: Final = Path(__file__).resolve().parents[2]


@pytest.fixture
def fifo(tmp_path: Path) -> Fifo:
    return Fifo(tmp_path)


class Shell:
    """Starts commands as the worker does, and leaves none behind."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bell = threading.Event()
        self.groups: list[Group] = []

    def __call__(self, command: str, *, grace_s: float = LONG_S, sink: BinaryIO | None = None) -> Group:
        started = Group(
            ["/bin/sh", "-c", command],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"]},
            bell=self.bell,
            grace_s=grace_s,
            sink=sink,
        )
        self.groups.append(started)
        return started

    def finish(self, started: Group) -> int:
        assert self.bell.wait(LONG_S)
        started.end()
        return started.code


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    shell = Shell(tmp_path)
    yield shell
    for started in shell.groups:
        started.end()


def processes(fifo: Fifo) -> list[psutil.Process]:
    """Those whose ids the command writes into the fifo, as it starts them."""
    return [psutil.Process(int(word)) for word in fifo.hear().split()]


def test_exit_status_and_the_last_words(shell: Shell) -> None:
    sink = BytesIO()
    started = shell("echo first >&2; echo last >&2; exit 3", sink=sink)
    assert shell.finish(started) == 3
    assert started.tail == sink.getvalue() == b"first\nlast\n"


def test_the_tail_is_the_end(shell: Shell) -> None:
    sink = BytesIO()
    started = shell("seq 100000 >&2", sink=sink)
    assert shell.finish(started) == 0
    assert len(started.tail) == group.TAIL_BYTES and started.tail.endswith(b"\n99999\n100000\n")
    assert sink.getvalue() == "".join(f"{n}\n" for n in range(1, 100_001)).encode()


def test_a_sink_that_is_closed_does_not_hold_the_command_up(shell: Shell) -> None:
    sink = BytesIO()
    sink.close()
    assert shell.finish(shell("seq 100000 >&2", sink=sink)) == 0


def test_standard_input_is_empty(shell: Shell) -> None:
    assert shell.finish(shell("cat > in")) == 0
    assert (shell.folder / "in").read_bytes() == b""


def test_it_is_a_group_and_a_session_of_its_own(shell: Shell, fifo: Fifo) -> None:
    started = shell("echo $$ > fifo; exec sleep 600")
    (process,) = processes(fifo)
    assert os.getpgid(process.pid) == os.getsid(process.pid) == process.pid != os.getpgid(0)
    started.end()
    assert ended(process) and started.code == -signal.SIGTERM


def test_what_it_leaves_behind_is_ended(shell: Shell, fifo: Fifo) -> None:
    started = shell("sleep 600 & one=$!; sleep 600 & echo $one $! > fifo; exit 0")
    left = processes(fifo)
    assert shell.finish(started) == 0
    assert len(left) == 2 and ended(*left)


def test_who_does_not_listen_to_term_is_killed(shell: Shell, fifo: Fifo) -> None:
    started = shell("trap '' TERM; sleep 600 & echo $$ $! > fifo; wait", grace_s=0.1)
    deaf = processes(fifo)
    started.end()
    assert ended(*deaf) and started.code == -signal.SIGKILL


def test_term_leaves_time_to_tidy_up(shell: Shell, fifo: Fifo) -> None:
    below = "sh -c 'echo $$ > fifo; exec sleep 600' &"  # a shell of its own, which the trap is not for
    started = shell(f"trap 'echo tidy > tidied; exit 7' TERM; {below} wait")
    processes(fifo)
    started.end()
    assert started.code == 7 and (shell.folder / "tidied").exists()


def test_a_stopped_command_is_killed_too(shell: Shell, fifo: Fifo) -> None:
    started = shell("echo $$ > fifo; exec sleep 600", grace_s=0.1)
    (process,) = processes(fifo)
    process.suspend()
    started.end()
    assert ended(process)


def test_what_does_not_die_is_said(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    started = shell("exit 0")
    with monkeypatch.context() as patched:
        patched.setattr(Group, "_signalled", lambda self, number: True)
        patched.setattr(group, "_living_of", lambda pgid: iter([pgid]))
        patched.setattr(group, "DYING_S", 0.0)
        patched.setattr(started, "_grace_s", 0.0)
        with pytest.raises(StillAlive):
            started.end()


def test_who_leaves_the_group_does_not_hold_the_worker_up(
    shell: Shell, fifo: Fifo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon escapes, as documented; its hold on standard error must not keep the worker waiting for ever."""
    monkeypatch.setattr(group, "LAST_WORDS_S", 0.1)
    started = shell("setsid sh -c 'echo $$ > fifo; exec sleep 600' & exit 0")
    (daemon,) = processes(fifo)
    try:
        assert shell.finish(started) == 0
        assert daemon.is_running()
    finally:
        daemon.kill()


def test_no_guard_stays(shell: Shell) -> None:
    before = psutil.Process().children()
    shell.finish(shell("exit 0"))
    assert psutil.Process().children() == before


def test_without_a_guard_nothing_starts(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Group) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(Group, "_stand_guard", fails)
    with pytest.raises(OSError, match="no more processes"):
        shell("touch started")
    assert not (shell.folder / "started").exists()


def test_exit_statuses_must_be_seen(shell: Shell) -> None:
    """With SIGCHLD ignored Python takes every child for one that ended with 0: each failure would be reported done."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with pytest.raises(RuntimeError, match="SIGCHLD"):
            shell("exit 3")
    finally:
        signal.signal(signal.SIGCHLD, before)


WORKER: Final = """
import os, sys, threading, pathlib
from leases.group import Group
command = ["/bin/sh", "-c", sys.argv[1]]
Group(command, cwd=pathlib.Path.cwd(), env=dict(os.environ), bell=threading.Event(), grace_s=0.2)
threading.Event().wait()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_worker_that_dies_takes_the_group_with_it(tmp_path: Path, fifo: Fifo, number: signal.Signals) -> None:
    """Also what runs below the command, and what is deaf to TERM."""
    command = "trap '' TERM; sleep 600 & echo $$ $! > fifo; wait"
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, command], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    try:
        all_of_it = processes(fifo)
        assert len(all_of_it) == 2
    finally:
        worker.send_signal(number)
        worker.wait()
    assert ended(*all_of_it)
    until(lambda: not [p for p in psutil.process_iter() if str(all_of_it[0].pid) in _words(p)], "the guard ends")


def _words(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []
