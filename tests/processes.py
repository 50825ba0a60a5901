"""Real servers for tests: started as an operator starts them, on the database of the running test."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from urllib.parse import quote

import psutil
from django.db import connection

from tasksite.environment import NAMES, ROOT

LONG_S = 60.0
"""A wait for what is sure to come soon: ends the test where it does not."""


def database_url() -> str:
    """Where the running test's own database is. Only tests that commit (`transaction=True`) share it."""
    settings = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:////{str(settings['NAME']).lstrip('/')}"
    user, password, port = (quote(str(settings[part]), safe="") for part in ("USER", "PASSWORD", "PORT"))
    account = f"{user}:{password}" if password else user
    return f"postgresql://{account}@/{settings['NAME']}?host={settings['HOST']}" + (f"&port={port}" if port else "")


def environment(folder: Path, **settings: str) -> dict[str, str]:
    """The environment of a program that works on the running test's database and keeps its files in `folder`."""
    inherited = {name: value for name, value in os.environ.items() if name not in NAMES}
    ours = {"DJANGO_SETTINGS_MODULE": "tasksite.settings", "DATABASE_URL": database_url(), "VAR_DIR": str(folder)}
    return {**inherited, "PYTHONUNBUFFERED": "1", **ours, **settings}


def manage(*arguments: str) -> list[str]:
    return [sys.executable, str(ROOT / "manage.py"), *arguments]


def until(holds: Callable[[], bool], what: str) -> None:
    """Looks again and again until `holds` does."""
    deadline = time.monotonic() + LONG_S
    while not holds():
        assert time.monotonic() < deadline, f"waited {LONG_S:.0f} s in vain: {what}"
        time.sleep(0.02)


def family(pid: int) -> list[psutil.Process]:
    """All processes below this one."""
    found: list[psutil.Process] = psutil.Process(pid).children(recursive=True)
    return found


def gone(processes: list[psutil.Process]) -> bool:
    """Whether they all end."""
    _, alive = psutil.wait_procs(processes, timeout=LONG_S)
    return not alive


@dataclass
class Server:
    process: "subprocess.Popen[str]"
    url: str
    lines: list[str]
    """What it has said so far, on both streams."""

    @property
    def port(self) -> int:
        return int(self.url.rstrip("/").rpartition(":")[2])

    def children(self, role: str) -> list[psutil.Process]:
        """Its direct children of a role: web or jobs."""
        below = psutil.Process(self.process.pid).children()
        return [child for child in below if role in child.cmdline()]


@contextmanager
def serve(folder: Path, *arguments: str, **settings: str) -> Iterator[Server]:
    """`manage.py serve` on a free port, ready; ended with all that is below it."""
    process = subprocess.Popen(
        [
            "env",
            "--default-signal",
            *manage("serve", "--port", "0", *arguments),
        ],  # also where the tests run under nohup
        env=environment(folder, **settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    lines: list[str] = []
    ready: Queue[str] = Queue()
    reader = threading.Thread(target=_read, args=(process, lines, ready), daemon=True)
    reader.start()
    try:
        try:
            url = ready.get(timeout=LONG_S)
        except Empty:
            url = ""
        assert url, "it did not come up:\n" + "".join(lines)
        yield Server(process, url, lines)
    finally:
        below = family(process.pid) if process.poll() is None else []
        process.terminate()
        process.wait(LONG_S)
        reader.join(LONG_S)
        assert gone(below)


def _read(process: "subprocess.Popen[str]", lines: list[str], ready: "Queue[str]") -> None:
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            lines.append(line)
            if line.startswith("tasksite is ready at "):
                ready.put(line.split()[4])
    ready.put("")
