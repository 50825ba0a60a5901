"""The audit itself: silent on what the services leave behind, loud on each promise that rows break."""

import threading
from typing import Any

import pytest
from django.db import DatabaseError, connection

from graph import clock, editing, sql, transaction
from graph.fields import from_micros
from graph.models import Plan
from leases import acts, recover
from leases.audit import audit
from leases.claim import Grant, claim
from leases.settle import reject, release, report
from tests.builders import LEAD, make_plan, make_worker

PLAN: dict[str, Any] = {
    "db": {"tasks": {"tables": {}, "index": {"needs": ["db/tables"]}, "more": {}}},
    "api": {"needs": ["db"], "tasks": {"schema": {}, "box": {"tasks": {"in": {}, "out": {}}}}},
    "web": {"tasks": {"mock": {}, "page": {"needs": ["api/schema"]}}},
    "solo": {"waived": ["db"]},
    "last": {"needs": ["solo"]},
}


def held(grant: Grant) -> dict[str, Any]:
    return {"node_id": grant.node.id, "lease_id": grant.lease.id, "fence": grant.lease.fence}


def live() -> dict[str, str]:
    """A plan in the middle of its life: a bit of everything."""
    ids = make_plan(PLAN)
    worker = make_worker()
    tables = claim(node_id=ids["db/tables"], caller=worker)
    reject(**held(tables), caller=worker, reason="no")
    report(**held(tables), caller=worker, outcome="partial", summary="some", result={"a": [1, None, "ü"]})
    release(**held(claim(node_id=ids["db/index"], caller=worker)), caller=worker)
    claim(node_id=ids["db/index"], caller=worker)
    recover.abandon(node_id=ids["db/index"], caller=LEAD, reason="gone")
    claim(node_id=ids["db/index"], caller=worker)
    solo = claim(node_id=ids["solo"], caller=worker)
    for _ in range(3):
        reject(**held(solo), caller=worker, reason="no")
    acts.cancel(node_id=ids["web"], caller=LEAD, reason="no")
    edge = sql.fetch("SELECT id FROM graph_edge WHERE dependent_id = %s", [ids["api"]])[0][0]
    editing.waive(edge_id=edge, caller=LEAD, reason="go")
    claim(node_id=ids["api/box"], caller=worker, hand=True)
    return ids


@pytest.mark.django_db
def test_it_finds_nothing_where_nothing_is_wrong() -> None:
    live()
    assert audit() == []


def node(key: str) -> str:
    return f"(SELECT id FROM graph_node WHERE full_key = '{key}')"


def state(key: str, to: str) -> list[str]:
    return [f"UPDATE graph_node SET state = '{to}' WHERE full_key = '{key}'"]


def lease(key: str, change: str) -> list[str]:
    return [f"UPDATE leases_lease SET {change} WHERE ended_at IS NULL AND subject_id = {node(key)}"]


YES, NO = "(1 = 1)", "(1 = 0)"
ENDED = "ended_at = 1, ending = 'released'"
CLOSED = "closed_at = 1, outcome = 'released'"
ANOTHER = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
COPY = f"""
    INSERT INTO leases_lease (id, subject_id, objective_id, moves_with_id, token_id, holder, fence, generation, ttl_s,
        acquired_at, expires_at, beat_at, progress, ending)
    SELECT '{ANOTHER}', {{subject}}, objective_id, moves_with_id, token_id, holder, {{fence}}, generation, ttl_s,
        acquired_at, expires_at, beat_at, '', '' FROM leases_lease WHERE ended_at IS NULL AND subject_id = {{like}}"""


def copied(like: str, subject: str, fence: int) -> str:
    return COPY.format(like=node(like), subject=node(subject), fence=fence)


SECOND_LEASE = copied("db/index", "db/index", 4)


def ran(key: str) -> str:
    return f"""INSERT INTO leases_run (id, node_id, lease_id, opened_at, outcome, summary)
        SELECT '{ANOTHER}', {node(key)}, id, 1, '', '' FROM leases_lease WHERE subject_id = {node("solo")}"""


BREAKS: dict[str, tuple[list[str], int, str]] = {
    "two open leases of a subject": (
        ["DROP INDEX lease_one_open_per_subject", "DROP INDEX lease_one_open_per_lane", SECOND_LEASE],
        1, "db/index has 2 open leases",
    ),
    "two open leases of a lane": (
        ["DROP INDEX lease_one_open_per_lane", copied("db/index", "db/more", 1)],
        1, "the lane of db has 2 open leases besides the objective's",
    ),
    "a lease in another lane": (lease("db/index", f"objective_id = {node('solo')}"), 1, "in another lane"),
    "a fence left out": (lease("db/index", "fence = 7"), 2, "fences of db/index do not count up"),
    "two active runs": (
        ["DROP INDEX run_one_active_per_node",
            f"UPDATE leases_run SET closed_at = NULL, outcome = '' WHERE node_id = {node('db/index')}"],
        3, "db/index has 3 active runs",
    ),
    "two running leaves": (state("db/more", "running"), 3, "2 leaves run in the lane of db"),
    "no open attempt": (
        [f"UPDATE leases_attempt SET {CLOSED} WHERE closed_at IS NULL"], 3, "active run of leaf db/index has 0",
    ),
    "an attempt without a run": (
        [f"UPDATE leases_run SET {CLOSED} WHERE closed_at IS NULL AND node_id = {node('db/index')}"],
        3, "an open attempt has no active run",
    ),
    "a settled node with a run": (state("db/index", "done"), 3, "db/index is done and has an open run"),
    "an objective without its run": (
        [f"UPDATE leases_run SET {CLOSED} WHERE closed_at IS NULL AND node_id = {node('db')}"],
        3, "db was claimed and has no active run",
    ),
    "an objective with a run it is not due": (
        [ran("web")],
        3, "web is not claimed and has an active run",
    ),
    "a container below an objective with a run": (
        [ran("api/box")],
        3, "api/box is a container below an objective and has an active run",
    ),
    "a running leaf without a lease": (
        lease("db/index", ENDED), 4, "the leaf db/index is running and has no open lease",
    ),
    "an objective's lease that moves with nothing": (lease("db/index", ENDED), 4, "moves with one that is not open"),
    "a running leaf without its objective's lease": (
        lease("db", ENDED), 4, "no open lease of its objective beside it",
    ),
    "another holder": (lease("db", "holder = 'somebody'"), 4, "differ in holder or expiry"),
    "another expiry": (lease("db", "expires_at = expires_at + 1"), 4, "differ in holder or expiry"),
    "a hold without its flag": (
        [f"UPDATE graph_node SET held = {NO}"], 4, "the container api/box is not held and has an open lease",
    ),
    "a flag without its hold": (
        [f"UPDATE graph_node SET held = {YES} WHERE full_key = 'web'"], 4, "the container web is held and has no",
    ),
    "ready and not satisfied": (state("last", "ready"), 5, "last is ready and not satisfied"),
    "pending and satisfied": (state("db/more", "pending"), 5, "db/more is pending and satisfied"),
    "below what waits": (
        [f"UPDATE graph_edge SET waived = {NO} WHERE dependent_id = {node('api')}"], 5,
        "api/schema is ready and not satisfied",
    ),
    "a container that is not as its children": (state("db", "done"), 6, "its children make it running"),
    "a container that never ran": (state("db", "pending"), 6, "its children make it running"),
    "all cancelled": (state("web", "done"), 6, "its children make it cancelled"),
    "partial overlooked": (
        [*state("db/index", "done"), *state("db/more", "done"), *state("db", "done")],
        6, "its children make it partial",
    ),
    "waiting, not running": (
        [f"UPDATE graph_node SET ever_claimed = {NO} WHERE full_key = 'db'"], 6, "db counts as never claimed",
    ),
    "a leaf with children": ([f"UPDATE graph_node SET leaf = {YES} WHERE full_key = 'web'"], 6, "is called a leaf"),
    "a child in another lane": (
        [f"UPDATE graph_node SET objective_id = {node('db')} WHERE full_key = 'web/mock'"], 6, "in another lane",
    ),
    "a state without its event": (state("last", "blocked"), 7, "the events give another state"),
    "a title that no event gave": (
        ["UPDATE graph_node SET title = 'x' WHERE full_key = 'last'"], 7, "the events give another title",
    ),
    "a position that is not the walk's": (
        ["UPDATE graph_node SET position = 99 WHERE full_key = 'last'"], 7, "the events give another position",
    ),
    "a count that no event made": (
        ["UPDATE graph_node SET rejections = 2 WHERE full_key = 'db/more'"], 7, "the events give another rejections",
    ),
    "an edge that is gone": (
        [f"DELETE FROM graph_edge WHERE dependent_id = {node('last')}"], 7, "bring a row to edges that is not there",
    ),
    "a plan that nobody imported": (
        [f"INSERT INTO graph_plan (id, name, created_at, imported_at) VALUES ('{ANOTHER}', 'p', 1, 1)"],
        7, "no event brings this plan",
    ),
    "an event twice": (
        ["""INSERT INTO graph_event (type, at, actor, plan, objective, node, lease, run, attempt, reason, data)
            SELECT type, at, actor, plan, objective, node, lease, run, attempt, reason, data FROM graph_event
            WHERE type = 'node.partial'"""],
        7, "the node was partial, not running",
    ),
    "an event left out": (
        [f"DELETE FROM graph_event WHERE type = 'node.running' AND node = {node('db/tables')}"],
        7, "the node was ready, not running",
    ),
    "a fence that jumps": (
        ["""UPDATE graph_event SET data = '{"fence": 9, "moves_with": null, "token": "", "holder": "", "ttl_s": 5,
            "generation": 1}' WHERE type = 'lease.claimed'"""],
        2, "fence 9 follows fence 0",
    ),
    "a word nobody knows": (
        ["UPDATE graph_event SET type = 'node.lost' WHERE type = 'node.blocked'"], 7, "nothing is known of the type",
    ),
}  # fmt: skip


@pytest.mark.django_db
@pytest.mark.parametrize("break_", BREAKS)
def test_it_finds_what_is_wrong(break_: str) -> None:
    statements, promise, sentence = BREAKS[break_]
    live()
    if connection.vendor == "postgresql":
        sql.execute("SET CONSTRAINTS ALL IMMEDIATE")
    for statement in statements:
        sql.execute(statement)
    found = [violation for violation in audit() if violation.promise == promise and sentence in violation.sentence]
    assert found, "\n".join(f"{violation.promise}: {violation.sentence}" for violation in audit())
    assert all(violation.rows for violation in found)


@pytest.mark.django_db(transaction=True)
def test_it_reads_one_moment_of_a_live_database_and_holds_up_nobody() -> None:
    ids = make_plan(PLAN)
    worker = make_worker()
    answers: list[object] = []

    def rival() -> None:
        try:
            answers.append(claim(node_id=ids["db/tables"], caller=worker))
        finally:
            connection.close()

    with transaction.snapshot():
        before = sql.fetch("SELECT count(*) FROM graph_event")
        writer = threading.Thread(target=rival)
        writer.start()
        writer.join()
        assert isinstance(answers[0], Grant)
        assert sql.fetch("SELECT count(*) FROM graph_event") == before
        assert sql.fetch("SELECT count(*) FROM leases_lease") == [(0,)]
    assert sql.fetch("SELECT count(*) FROM leases_lease") == [(2,)]
    assert audit() == []


@pytest.mark.django_db(transaction=True)
def test_a_snapshot_refuses_to_write_and_the_connection_can_be_used_after_it() -> None:
    now = from_micros(clock.read())
    plan = Plan(id=ANOTHER, name="p", created_at=now, imported_at=now)
    with pytest.raises(DatabaseError), transaction.snapshot():
        plan.save(force_insert=True)
    with transaction.snapshot():
        assert sql.fetch("SELECT count(*) FROM graph_plan") == [(0,)]
    plan.save(force_insert=True)
    assert Plan.objects.count() == 1
