"""What a server does is counted: SQL statements, and live parts that it renders. Its settings are `benchmarks.counted`.

Each process writes its numbers into a file of its own, which another process may read at any time.
"""

import mmap
import os
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from django.apps import AppConfig
from django.conf import settings
from django.db.backends.signals import connection_created

STATEMENTS, RENDERED = 0, 1
BYTES = 16
FOLDER = "counts"


class Counts(NamedTuple):
    statements: int
    rendered: int

    def __sub__(self, before: "Counts") -> "Counts":
        return Counts(self.statements - before.statements, self.rendered - before.rendered)


def read(var: Path) -> Counts:
    """What all processes of the server with this VAR_DIR have counted so far."""
    files = [memoryview(path.read_bytes()).cast("q") for path in (var / FOLDER).iterdir()]
    return Counts(sum(each[STATEMENTS] for each in files), sum(each[RENDERED] for each in files))


class Counting(AppConfig):
    name = "benchmarks"

    def ready(self) -> None:
        live: Any = import_module("tasksite.dashboard.live")
        folder = Path(settings.VAR_DIR) / FOLDER
        folder.mkdir(exist_ok=True)
        with open(folder / str(os.getpid()), "w+b") as file:
            file.truncate(BYTES)
            self._numbers = memoryview(mmap.mmap(file.fileno(), BYTES)).cast("q")
        self._lock = threading.Lock()
        connection_created.connect(self._opened)
        render = live.render_to_string

        def rendered(*arguments: Any, **options: Any) -> Any:
            self._add(RENDERED)
            return render(*arguments, **options)

        live.render_to_string = rendered

    def _opened(self, connection: Any, **_: Any) -> None:
        if self._executed not in connection.execute_wrappers:
            connection.execute_wrappers.append(self._executed)

    def _executed(self, execute: Callable[..., Any], *arguments: Any) -> Any:
        self._add(STATEMENTS)
        return execute(*arguments)

    def _add(self, which: int) -> None:
        with self._lock:
            self._numbers[which] += 1
