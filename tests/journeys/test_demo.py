"""`manage.py demo`, as `make run` runs it: drained, a report, a clean audit, no process left, however it ends."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tasksite import demo
from tasksite.environment import NAMES
from tests.processes import LONG_S, family, gone, manage


def environment(folder: Path) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name not in NAMES}
    return {**inherited, "DJANGO_SETTINGS_MODULE": "tasksite.settings", "VAR_DIR": str(folder)}


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """The demo as a child that hears signals; whatever happens, it and all below it end."""
    process = subprocess.Popen(
        ["env", "--default-signal", *manage("demo", *arguments)],
        env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
    )  # fmt: skip
    try:
        yield process
    finally:
        process.terminate()
        process.wait(LONG_S)
        assert process.stdout is not None
        process.stdout.close()


def read_to(process: "subprocess.Popen[str]", words: str) -> str:
    """What it says, up to the line that holds these words."""
    said = ""
    assert process.stdout is not None
    for line in process.stdout:
        said += line
        if words in line:
            return said
    raise AssertionError(f"it ended without {words!r}:\n{said}")


def left(folder: Path) -> list[int]:
    return [process.pid for process in psutil.process_iter() if str(folder) in " ".join(_words(process))]


def _words(process: psutil.Process) -> list[str]:
    try:
        words: list[str] = process.cmdline()
    except psutil.Error:
        return []
    return words


@pytest.mark.slow
def test_it_drains_reports_and_leaves_nothing_behind_also_in_a_folder_with_a_space(tmp_path: Path) -> None:
    folder = tmp_path / "with a space"
    done = subprocess.run(
        manage("demo", "--once"),
        env=environment(folder), capture_output=True, encoding="utf-8", timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    drained(folder, done.stdout)
    assert left(folder) == []
    # A second run is as good as the first. It serves on when drained, until a signal.
    (folder / "demo" / "REPORT.md").unlink()
    with started(folder) as process:
        drained(folder, read_to(process, "until Ctrl-C"))
        below = family(process.pid)
        process.send_signal(signal.SIGINT)
        assert process.wait(LONG_S) == 0
    assert below and gone(below) and left(folder) == []


def drained(folder: Path, said: str) -> None:
    assert said.count("  done ") == 7
    assert "audit: clean" in said
    report = (folder / "demo" / "REPORT.md").read_text(encoding="utf-8")
    assert "survey/lines" in report and "checks/walk" in report


@pytest.mark.slow
def test_signals_in_the_midst_of_it_leave_nothing_behind_and_once_has_not_drained(tmp_path: Path) -> None:
    with started(tmp_path, "--once") as process:
        read_to(process, "workers drain")
        below = family(process.pid)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
            process.send_signal(number)
        assert process.wait(LONG_S) == 1
        assert not [child for child in below if child.is_running()], "it ended before its children"
    assert left(tmp_path) == []


@pytest.mark.slow
def test_a_server_that_dies_ends_it(tmp_path: Path) -> None:
    with started(tmp_path) as process:
        read_to(process, "until Ctrl-C")
        below = family(process.pid)
        next(child for child in below if "serve" in child.cmdline()).kill()
        assert "The server ended with -9" in read_to(process, "The server ended")
        assert process.wait(LONG_S) == 1
    assert gone(below) and left(tmp_path) == []


def test_two_at_once_in_one_folder_are_refused(tmp_path: Path) -> None:
    first, second = (demo.Demo.at(tmp_path) for _ in range(2))
    with first.alone(), pytest.raises(demo.Failed, match="Another demo is at work"), second.alone():
        raise AssertionError("both were let in")


def test_a_tree_without_git_is_made_into_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tmp_path / "tree"
    (tree / "graph").mkdir(parents=True)
    (tree / "graph" / "a.py").write_text("one = 1\n")
    monkeypatch.setattr(demo, "ROOT", tree)
    here = demo.Demo.at(tree / "kept")  # below the tree, under a name that is not left out by itself
    with here.alone():
        bare = here.repository()
        assert here.git("--git-dir", str(bare), "ls-tree", "-r", "--name-only", "HEAD") == "graph/a.py"


def test_a_port_that_is_taken_is_passed_by(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(demo, "PORT", taken.getsockname()[1])
        assert demo.free_port() == 0
