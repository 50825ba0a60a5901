"""What `serve` starts below itself: `python -m tasksite.child LIFELINE web|jobs …`.

No Django at the top: the web server's own process forks its workers, and only they load the site.
"""

import os
import sys
from typing import Any, Final

from tasksite import lifeline, stopping

DRAIN_S: Final = 10
"""Seconds that a web process gets to answer what it has begun; a stream is cut then, and its reader comes back."""


def web(host: str, port: str, processes: str, threads: str) -> None:
    from granian.constants import Interfaces
    from granian.log import LogLevels
    from granian.server import Server

    class Web(Server):  # type: ignore[valid-type, misc]
        def shutdown(self, exit_code: int = 0) -> None:
            stopping.say()
            super().shutdown(exit_code)

    Web(
        "tasksite.wsgi:application",
        address=host,
        port=int(port),
        interface=Interfaces.WSGI,
        workers=int(processes),
        blocking_threads=int(threads),  # they wait: for the site's own few threads, or at a page's stream
        blocking_threads_idle_timeout=600,
        websockets=False,
        respawn_failed_workers=True,
        workers_kill_timeout=DRAIN_S,
        log_level=LogLevels.error,
        log_dictconfig=_logging(),
    ).serve()


def _logging() -> dict[str, Any]:
    """The web server's own words, in the shape of all others and on standard error."""
    stderr = {"class": "logging.StreamHandler", "formatter": "line", "stream": "ext://sys.stderr"}
    return {
        "formatters": {"line": {"format": "%(asctime)s %(levelname)s web: %(message)s"}},
        "handlers": {"console": stderr, "access": stderr},
    }


def jobs() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tasksite.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(["manage.py", "qcluster"])


if __name__ == "__main__":
    lifeline.watch(int(sys.argv[1]))
    if sys.argv[2] == "web":
        web(*sys.argv[3:])
    else:
        jobs()
