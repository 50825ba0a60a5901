"""The probes and the figures, as an operator's machines ask for them."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import DatabaseError, connection
from django.test import Client

from graph import clock
from graph.fields import from_micros
from graph.ids import new_id
from graph.models import Node, Plan
from graph.states import State
from leases.models import Lease, Token

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


def figures(client: Client) -> dict[str, float]:
    """The figures of /metrics, by name and labels as they are written there."""
    text = client.get("/metrics").content.decode()
    rows = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in rows}


def add_plan() -> Plan:
    return Plan.objects.create(id=new_id(), name="p", created_at=LONG_AGO, imported_at=LONG_AGO)


def add_leaf(plan: Plan, key: str, state: State) -> Node:
    own = new_id()
    return Node.objects.create(
        id=own, plan=plan, objective_id=own, key=key, full_key=key, title=key, state=state, leaf=True, position=0
    )


def add_lease(subject: Node, token: Token, expires_at: datetime, moves_with: Lease | None = None) -> Lease:
    return Lease.objects.create(
        id=new_id(),
        subject=subject,
        objective=subject,
        moves_with=moves_with,
        token=token,
        holder="w",
        fence=1,
        generation=1,
        ttl_s=60,
        acquired_at=LONG_AGO,
        expires_at=expires_at,
        beat_at=LONG_AGO,
    )


def test_healthz_asks_no_database(client: Client) -> None:
    """pytest-django refuses every query in a test without its mark."""
    answer = client.get("/healthz")
    assert (answer.status_code, answer.content) == (200, b"ok\n")
    assert "no-store" in answer.headers["Cache-Control"]


@pytest.mark.django_db
def test_readyz(client: Client) -> None:
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"ready": True})


@pytest.mark.django_db
def test_readyz_tells_of_missing_migrations(client: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'leases'")
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {"ready": False, "reason": "the database is not migrated"}


@pytest.mark.django_db
def test_readyz_tells_of_a_database_that_is_away(client: Client) -> None:
    def away(*_: object) -> None:
        raise DatabaseError("gone")

    with connection.execute_wrapper(away):
        answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {"ready": False, "reason": "the database does not answer"}


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_the_probes_only_answer(path: str) -> None:
    assert Client(enforce_csrf_checks=True).post(path).status_code == 405


@pytest.mark.django_db
def test_the_figures_of_nothing(client: Client) -> None:
    found = figures(client)
    assert found["tasksite_ready_leaves"] == found["tasksite_live_leases"] == found["tasksite_stale_leases"] == 0
    assert found['tasksite_nodes{kind="leaf",state="done"}'] == 0
    assert found["tasksite_oldest_stale_lease_seconds"] == 0


@pytest.mark.django_db
def test_the_figures(client: Client) -> None:
    plan = add_plan()
    token = Token.objects.create(id=new_id(), name="w", role="worker", digest="0" * 64, created_at=LONG_AGO)
    add_leaf(plan, "a", State.READY)
    live, stale = add_leaf(plan, "b", State.RUNNING), add_leaf(plan, "c", State.RUNNING)
    now = from_micros(clock.read())
    add_lease(live, token, now + timedelta(hours=1))
    primary = add_lease(stale, token, now - timedelta(minutes=5))
    companion = add_leaf(plan, "d", State.RUNNING)
    add_lease(companion, token, now - timedelta(minutes=5), moves_with=primary)

    found = figures(client)
    assert found["tasksite_ready_leaves"] == 1
    assert found['tasksite_nodes{kind="leaf",state="running"}'] == 3
    assert found["tasksite_live_leases"] == 1
    assert found["tasksite_stale_leases"] == 1
    assert 300 <= found["tasksite_oldest_stale_lease_seconds"] < 360


@pytest.mark.django_db
def test_every_answer_carries_the_policy(client: Client) -> None:
    for path in ("/healthz", "/admin/login/", "/no-such-page"):
        headers = client.get(path).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Referrer-Policy"] == "same-origin"
