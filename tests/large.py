"""A database as it is after months: many nodes, half of them settled, with all their history. Written directly."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection, transaction

from graph.ids import new_id, rising
from leases.models import Token

TASKS = 19
"""Tasks of each objective: a chain inside a container, the rest beside it."""


@transaction.atomic
def fill(nodes: int, token: Token) -> str:
    """Write about `nodes` nodes, three edges to each, and a lease, run, attempt and three events to each settled one.

    Returns the id of the plan. Half of the lanes have settled; in the others the first task is ready.
    """
    plan_id = new_id()
    _insert("graph_plan", "id name created_at imported_at", [(plan_id, f"large-{nodes}", 1, 1)])
    lanes = nodes // (TASKS + 1)
    ids = [*rising(lanes * (TASKS + 1))]
    table, edges, history = [], [], _History(plan_id, token.id)
    for lane in range(lanes):
        first = lane * (TASKS + 1)
        objective = ids[first]
        settled = lane < lanes // 2
        for place in range(TASKS + 1):
            node_id = ids[first + place]
            ready = place <= 1
            state = "done" if settled else ("ready" if ready else "pending")
            key = f"lane-{lane}" if place == 0 else f"task-{place}"
            full = f"lane-{lane}" + (f"/{key}" if place else "")
            parent = objective if place else None
            position = first + place
            table.append((node_id, plan_id, objective, parent, key, full, f"Title of {full}", "", state, place > 0,
                          position, settled, False, 0, 0, "", "", False, "", ""))  # fmt: skip
            needed = {ids[first + place - 1]} if place > 1 else set()
            if place and lane and settled:
                needed |= {ids[first + place - TASKS - 1]}
            if place > 2:
                needed |= {ids[first + 1]}
            edges += [(node_id, dependency) for dependency in sorted(needed)]
            if settled and place:
                history.add(node_id, objective, place)
    _insert(
        "graph_node",
        "id plan_id objective_id parent_id key full_key title body state leaf position ever_claimed held rejections "
        "stale_ends cancel_act last_cancel pruned clone_repo clone_ref",
        table,
    )
    _insert(
        "graph_edge",
        "id dependent_id dependency_id waived waive_reason reopened",
        [(edge_id, *ends, False, "", False) for edge_id, ends in zip(rising(len(edges)), edges, strict=True)],
    )
    history.write()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return plan_id


class _History:
    def __init__(self, plan_id: str, token_id: str) -> None:
        self.plan_id, self.token_id = plan_id, token_id
        self.leases: list[Sequence[Any]] = []
        self.runs: list[Sequence[Any]] = []
        self.attempts: list[Sequence[Any]] = []
        self.events: list[Sequence[Any]] = []

    def add(self, node_id: str, objective_id: str, fence: int) -> None:
        lease_id, moving_id, run_id, attempt_id = rising(4)
        for row_id, subject, moves_with, number in [
            (lease_id, node_id, None, 1), (moving_id, objective_id, lease_id, fence)
        ]:  # fmt: skip
            self.leases.append((row_id, subject, objective_id, moves_with, self.token_id, "worker", number, 1, 60,
                                1, 2, 1, "", None, 2, "released"))  # fmt: skip
        self.runs.append((run_id, node_id, lease_id, 1, 2, "done", "it is done", json.dumps({"n": 1})))
        self.attempts.append((attempt_id, run_id, 1, 1, 2, "done", ""))
        for type_ in ("lease.claimed", "node.running", "node.done"):
            self.events.append((type_, 1, "worker", self.plan_id, objective_id, node_id, lease_id, run_id, "", "",
                                json.dumps({"from": "ready"})))  # fmt: skip

    def write(self) -> None:
        _insert(
            "leases_lease",
            "id subject_id objective_id moves_with_id token_id holder fence generation ttl_s acquired_at expires_at "
            "beat_at progress expired_at ended_at ending",
            self.leases,
        )
        _insert("leases_run", "id node_id lease_id opened_at closed_at outcome summary result", self.runs)
        _insert("leases_attempt", "id run_id number opened_at closed_at outcome reason", self.attempts)
        _insert("graph_event", "type at actor plan objective node lease run attempt reason data", self.events)


def _insert(table: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
    named = columns.split()
    if connection.vendor == "postgresql":
        connection.ensure_connection()
        with connection.cursor() as cursor, cursor.cursor.copy(f"COPY {table} ({', '.join(named)}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        return
    with connection.cursor() as cursor:
        places = ", ".join(["%s"] * len(named))
        cursor.executemany(f"INSERT INTO {table} ({', '.join(named)}) VALUES ({places})", list(rows))
