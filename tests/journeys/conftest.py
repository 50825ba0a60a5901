"""People at browsers: Chromium on a server in the test's own process, whose clock the test can move."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, connections
from playwright.sync_api import Browser

from tasksite.dashboard import watch
from tests.browser import Visitor, chromium, visitor
from tests.processes import until

PASSWORD = "a long enough one"


@pytest.fixture
def _loop_beside_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """Playwright runs an event loop in the test's thread; the test itself stays synchronous."""
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    monkeypatch.setattr(watch, "STILL_S", 0.2)  # so that a stream whose reader has gone ends soon


@pytest.fixture
def browser(_loop_beside_the_database: None) -> Iterator[Browser]:
    with chromium() as running:
        yield running
        connections.close_all()  # beside a running loop Django has connections of its own, out of reach after it
    until(lambda: not watch.HUB.looks, "nobody watches any more")
    until(alone_at_the_database, "the server's threads have let go of the database")


def alone_at_the_database() -> bool:
    """A poll that was under way when the browser went still holds its connection; the tests' database is dropped."""
    if connection.vendor != "postgresql":
        return True
    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with connection.cursor() as cursor:
        cursor.execute(others)
        return bool(cursor.fetchone()[0] == 0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Moves the judged clock on, in seconds."""
    shift = [0]
    monkeypatch.setattr("graph.clock.judged", lambda micros: micros + shift[0])

    def forward(seconds: int) -> None:
        shift[0] += seconds * 1_000_000

    return forward


@pytest.fixture
def arrive(browser: Browser, live_server: Any) -> Callable[..., Visitor]:
    """Makes a lead (or, with `lead=False`, somebody who sees only) and signs them in."""

    def come(name: str = "ann", *, lead: bool = True, **context: Any) -> Visitor:
        if not User.objects.filter(username=name).exists():
            User.objects.create_user(name, password=PASSWORD, is_staff=lead)
        person = visitor(browser, live_server.url, **context)
        person.sign_in(name, PASSWORD)
        return person

    return come
