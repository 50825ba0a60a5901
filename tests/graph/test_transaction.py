"""The entry services' patience: with rivals who are ahead, and with a database that undoes what they did."""

import pytest
from django.db import OperationalError, connection

from graph import transaction
from graph.errors import Busy
from graph.transaction import Again, entry
from leases.claim import claim
from tests.builders import make_plan, make_worker

pytestmark = pytest.mark.django_db(transaction=True)


class Undone(Exception):
    sqlstate = "40P01"


class Service:
    """Fails as often as it is told to, then answers."""

    def __init__(self, times: int, failure: Exception) -> None:
        self.times, self.failure, self.calls = times, failure, 0
        self.run = entry(self._run)

    def _run(self) -> str:
        self.calls += 1
        if self.calls > self.times:
            return "done"
        raise self.failure


def deadlock() -> OperationalError:
    error = OperationalError("deadlock detected")
    error.__cause__ = Undone()
    return error


def test_rivals_who_are_ahead_however_often_are_no_fault() -> None:
    assert Service(10 * transaction.TRIES, Again()).run() == "done"


def test_patience_with_rivals_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction, "PATIENCE_S", 0.02)
    with pytest.raises(Busy):
        Service(1_000_000, Again()).run()


def test_what_the_database_undid_is_tried_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graph.transaction.time.sleep", lambda seconds: None)
    assert Service(transaction.TRIES - 1, deadlock()).run() == "done"
    service = Service(transaction.TRIES, deadlock())
    with pytest.raises(Busy):
        service.run()
    assert service.calls == transaction.TRIES


def test_a_database_that_is_locked_or_gone_is_busy_at_once() -> None:
    service = Service(1, OperationalError("database is locked"))
    with pytest.raises(Busy):
        service.run()
    assert service.calls == 1


@pytest.mark.usefixtures("on_postgresql")
def test_a_lane_that_somebody_keeps_is_waited_for_and_then_busy() -> None:
    ids = make_plan({"a": {}})
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("20s",)
        cursor.execute("SET lock_timeout = '50ms'")
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT id FROM graph_node FOR UPDATE")
            with pytest.raises(Busy):
                claim(node_id=ids["a"], caller=make_worker())
    finally:
        other.close()
    claim(node_id=ids["a"], caller=make_worker("later"))
