"""Callers of the API, people at the pages, and a clock that can be moved."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from leases.models import Role
from tests.doors.api import Api


@pytest.fixture
def worker(db: None) -> Api:
    return Api.as_role(Role.WORKER)


@pytest.fixture
def lead(db: None) -> Api:
    return Api.as_role(Role.LEAD)


@pytest.fixture
def ann(client: Client, db: None) -> Client:
    """The browser of a lead."""
    client.force_login(User.objects.create_user("ann", password="pw", is_staff=True))
    return client


@pytest.fixture
def sam(db: None) -> Client:
    """The browser of one who sees and does not act."""
    client = Client()
    client.force_login(User.objects.create_user("sam", password="pw"))
    return client


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Moves the judged clock on, in seconds."""
    shift = [0]
    monkeypatch.setattr("graph.clock.judged", lambda micros: micros + shift[0])

    def forward(seconds: int) -> None:
        shift[0] += seconds * 1_000_000

    return forward
