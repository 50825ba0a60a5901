"""What the web server runs."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connections

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tasksite.settings")
settings.DATABASES["default"]["OPTIONS"].update(settings.WEB_DATABASE_OPTIONS)

Head = tuple[str, list[tuple[str, str]]]
Start = Callable[[str, list[tuple[str, str]]], Any]

_site: Final = get_wsgi_application()

from graph.errors import Busy  # noqa: E402  # the site's own modules, once it is set up
from tasksite import bodies  # noqa: E402
from tasksite.api import problems  # noqa: E402

_working: Final = ThreadPoolExecutor(settings.WEB_THREADS, thread_name_prefix="site")


def application(environ: dict[str, Any], start_response: Start) -> Iterable[bytes]:
    """Requests are worked on by few threads, which keep their database connections.

    The server's own threads, of which there are many, only wait: for a body, for that work, or for what a stream has
    to say.
    """
    if not bodies.take(environ, settings.PLAN_MAX_BYTES + 1):
        busy = problems.answer(Busy("Too many large files are being sent; try again."))
        start_response("503 Service Unavailable", [*busy.items()])
        return [busy.content]
    head, body = _working.submit(_answer, environ).result()
    start_response(*head)
    return body


def _answer(environ: dict[str, Any]) -> tuple[Head, Iterable[bytes]]:
    heads: list[Head] = []

    def start(status: str, headers: list[tuple[str, str]], failed: object = None, /) -> Callable[[bytes], object]:
        heads.append((status, headers))
        return lambda _: None

    response: Any = _site(environ, start)
    if getattr(response, "waits", False):
        connections.close_all()  # this thread's, which goes on to other work
        return heads[-1], response
    try:
        body = b"".join(response)
    finally:
        response.close()  # here, so that the connection is given back by the thread that holds it
    return heads[-1], [body]
