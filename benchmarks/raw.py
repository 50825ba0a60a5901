"""The fixed side of `benchmarks.drain`: the rows of a claim and of a report, in raw SQL, one statement a trip."""

import json
import sqlite3
import time
from collections.abc import Callable, Sequence
from typing import Any

from graph.ids import new_id
from tasksite.environment import Environment

LEASE = (
    "INSERT INTO leases_lease (id, subject_id, objective_id, moves_with_id, token_id, holder, fence, generation, ttl_s,"
    " acquired_at, expires_at, beat_at, progress, ending)"
    " VALUES (%s, %s, %s, %s, %s, 'raw', %s, 1, 60, 1, 2, 1, '', '')"
)
RUN = "INSERT INTO leases_run (id, node_id, lease_id, opened_at, outcome, summary) VALUES (%s, %s, %s, 1, '', '')"
EVENTS = "INSERT INTO graph_event (type, at, actor, plan, objective, node, lease, run, attempt, reason, data) VALUES "
EVENT = "(%s, 1, 'raw', %s, %s, %s, %s, %s, %s, '', %s)"
FREE = """SELECT n.id, n.objective_id, n.plan_id FROM graph_node n JOIN graph_node o ON o.id = n.objective_id
    WHERE n.state = 'ready' AND n.leaf AND NOT EXISTS (
        SELECT 1 FROM leases_lease t WHERE t.objective_id = n.objective_id AND t.ended_at IS NULL)
    ORDER BY n.plan_id, n.position LIMIT 1"""

Run = Callable[..., list[Any]]


def drain(barrier: Any, done: Any, url: str) -> None:
    begin, run, commit, lock = _sqlite(url) if url.startswith("sqlite") else _postgresql(url)
    token = run("SELECT id FROM leases_token")[0][0]
    barrier.wait()
    pairs = empty = 0
    while empty < 5:
        begin()
        found = run(FREE + lock)
        if not found or run("SELECT 1 FROM leases_lease WHERE objective_id = %s AND ended_at IS NULL", found[0][1]):
            commit()
            empty += not found
            time.sleep(0.005)
            continue
        empty = 0
        claimed = _claim(run, token, *found[0])
        commit()
        begin()
        _report(run, lock, *claimed)
        commit()
        pairs += 1
    done.put(pairs)


def _claim(run: Run, token: str, node: str, lane: str, plan: str) -> tuple[str, str, str, str, str, str]:
    lease, moving, work, attempt = (new_id() for _ in range(4))
    fence = (run("SELECT max(fence) FROM leases_lease WHERE subject_id = %s", lane)[0][0] or 0) + 1
    running = run("SELECT id FROM leases_run WHERE node_id = %s AND closed_at IS NULL", lane)
    run(LEASE, lease, node, lane, None, token, 1)
    run(LEASE, moving, lane, lane, lease, token, fence)
    opened = [(work, node)] if running else [(new_id(), lane), (work, node)]
    for run_id, subject in opened:
        run(
            RUN,
            run_id, subject, lease,
        )  # fmt: skip
    run(
        "INSERT INTO leases_attempt (id, run_id, number, opened_at, outcome, reason) VALUES (%s, %s, 1, 1, '', '')",
        attempt, work,
    )  # fmt: skip
    run("UPDATE graph_node SET state = 'running', ever_claimed = (1 = 1) WHERE id IN (%s, %s)", node, lane)
    types = ["lease.claimed", "lease.claimed", "run.adopted", "run.opened", "attempt.opened", "node.running"]
    _events(run, types, plan, lane, node, lease, work, attempt)
    return node, lane, plan, lease, work, attempt


def _report(run: Run, lock: str, node: str, lane: str, plan: str, lease: str, work: str, attempt: str) -> None:
    if lock:
        run("SELECT id FROM graph_node WHERE id = %s FOR NO KEY UPDATE", lane)
    run("SELECT fence, ended_at FROM leases_lease WHERE id = %s", lease)
    run("UPDATE leases_attempt SET closed_at = 2, outcome = 'done' WHERE id = %s", attempt)
    run("UPDATE leases_run SET closed_at = 2, outcome = 'done' WHERE id = %s", work)
    run("UPDATE leases_lease SET ended_at = 2, ending = 'released' WHERE id = %s OR moves_with_id = %s", lease, lease)
    run("UPDATE graph_node SET state = 'done' WHERE id = %s", node)
    run(
        """UPDATE graph_node SET state = 'ready' WHERE state = 'pending' AND id IN (
            SELECT dependent_id FROM graph_edge WHERE dependency_id = %s)""",
        node,
    )
    types = ["attempt.closed", "run.closed", "lease.released", "lease.released", "node.done", "node.ready"]
    _events(run, types, plan, lane, node, lease, work, attempt)


def _events(run: Run, types: Sequence[str], plan: str, lane: str, node: str, lease: str, work: str, att: str) -> None:
    data = json.dumps({"from": "ready", "to": "running", "by": "claim"})
    values = [value for type_ in types for value in (type_, plan, lane, node, lease, work, att, data)]
    run(EVENTS + ", ".join([EVENT] * len(types)), *values)


def _sqlite(url: str) -> tuple[Callable[[], object], Run, Callable[[], object], str]:
    database = Environment.load({"DATABASE_URL": url}).DATABASE_URL
    assert database is not None
    connection = sqlite3.connect(database.name, timeout=20, isolation_level=None)
    for pragma in (
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "cache_size=-32000",
        "temp_store=MEMORY",
        "foreign_keys=ON",
    ):
        connection.execute(f"PRAGMA {pragma}")

    def run(statement: str, *values: Any) -> list[Any]:
        return connection.execute(statement.replace("%s", "?"), values).fetchall()

    return lambda: run("BEGIN IMMEDIATE"), run, lambda: run("COMMIT"), ""


def _postgresql(url: str) -> tuple[Callable[[], object], Run, Callable[[], object], str]:
    import psycopg

    connection = psycopg.connect(url, autocommit=True)

    def run(statement: str, *values: Any) -> list[Any]:
        cursor = connection.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []

    return lambda: run("BEGIN"), run, lambda: run("COMMIT"), " FOR NO KEY UPDATE OF o SKIP LOCKED"
