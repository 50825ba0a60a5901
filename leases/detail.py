"""One node whole: what it needs, why it waits, who holds it, and how its runs ended."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from graph import clock, queries, sql
from graph.fields import iso
from graph.queries import Above, Edge
from graph.readiness import Wait
from graph.rows import NodeRow, read_chain
from graph.states import State
from leases.queries import LeaseRow, open_lease

MOST_RUNS: Final = 50
"""Runs of one node that are shown, the newest."""

MOST_CHILDREN: Final = 1_000


class AttemptRow(NamedTuple):
    """One try; instants in microseconds."""

    id: str
    number: int
    opened_at: int
    closed_at: int | None
    outcome: str
    reason: str

    def brief(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "number": self.number,
            "opened_at": iso(self.opened_at),
            "closed_at": None if self.closed_at is None else iso(self.closed_at),
            "outcome": self.outcome or None,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class RunRow:
    """One execution with its attempts, and who held the lease that opened it."""

    attempts: list[AttemptRow]

    id: str
    opened_at: int
    closed_at: int | None
    outcome: str
    summary: str
    result: Any
    lease_id: str
    holder: str
    fence: int

    @property
    def found(self) -> Any:
        """The result as a value; the database gives it as text."""
        return json.loads(self.result) if isinstance(self.result, str) else self.result

    def brief(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "lease": self.lease_id,
            "holder": self.holder,
            "fence": self.fence,
            "opened_at": iso(self.opened_at),
            "closed_at": None if self.closed_at is None else iso(self.closed_at),
            "outcome": self.outcome or None,
            "summary": self.summary,
            "result": self.found,
            "attempts": [attempt.brief() for attempt in self.attempts],
        }


@dataclass(frozen=True, slots=True)
class Detail:
    """All of a node."""

    now: int
    node: NodeRow
    rejections: int
    stale_ends: int
    held: bool
    clone: dict[str, str | None]
    needs: list[Edge]
    needed_by: list[Edge]
    left_off: dict[str, int]
    waiting_on: list[Wait]
    ancestors: list[Above]
    children: list[NodeRow]
    lease: LeaseRow | None
    runs: list[RunRow]
    upstream_reopened: list[dict[str, str]]

    def marks(self) -> list[str]:
        """What a reader should not overlook."""
        marks = {
            "stale": self.lease is not None and self.lease.stale(self.now),
            "held": self.held,
            "upstream_reopened": bool(self.upstream_reopened),
        }
        return [mark for mark, shown in marks.items() if shown]

    def brief(self) -> dict[str, Any]:
        return {
            **self.node.brief(),
            "body": self.node.body,
            "clone": self.clone,
            "rejections": self.rejections,
            "stale_ends": self.stale_ends,
            "marks": self.marks(),
            "waiting_on": [wait.brief() for wait in self.waiting_on],
            "ancestors": [each.brief() for each in self.ancestors],
            "upstream_reopened": self.upstream_reopened,
            "children": [each.brief() for each in self.children],
            "needs": [edge.brief() for edge in self.needs],
            "needed_by": [edge.brief() for edge in self.needed_by],
            "lease": self.lease.timed(self.now) if self.lease else None,
            "runs": [run.brief() for run in self.runs],
            "left_off": self.left_off,
        }


def read(node_id: str) -> Detail:
    """Everything about one node. Raises NotFound."""
    now = clock.read()
    chain = read_chain(node_id)
    link, lane = chain[0], chain[-1]
    waiting_on, ancestors = queries.above([each.node for each in chain])
    needs, needed_by = queries.needs(node_id), queries.needed_by(node_id)
    children = list(queries.children(node_id, limit=MOST_CHILDREN + 1)) if not link.node.leaf else []
    advanced = link.node.state not in (State.PENDING, State.READY)
    reopened = queries.reopened([each.node.id for each in chain]) if advanced else []
    runs = _runs(node_id, MOST_RUNS + 1)
    return Detail(
        now=now,
        node=link.node,
        rejections=link.rejections,
        stale_ends=link.stale_ends,
        held=bool(link.held),
        clone={"repo": lane.clone_repo or None, "ref": lane.clone_ref or None},
        needs=needs[: queries.MOST_EDGES],
        needed_by=needed_by[: queries.MOST_EDGES],
        left_off=_left_off(node_id, needs=needs, needed_by=needed_by, children=children, runs=runs),
        waiting_on=waiting_on,
        ancestors=ancestors,
        children=children[:MOST_CHILDREN],
        lease=open_lease(node_id),
        runs=runs[:MOST_RUNS],
        upstream_reopened=[{**wait.brief(), "edge": wait.edge_id} for wait in reopened],
    )


def _left_off(
    node_id: str,
    *,
    needs: Sequence[Edge],
    needed_by: Sequence[Edge],
    children: Sequence[NodeRow],
    runs: Sequence[RunRow],
) -> dict[str, int]:
    """How many of each list are not shown; empty, and without a statement, for almost every node."""
    counts = {
        "needs": ("graph_edge WHERE dependent_id", len(needs), queries.MOST_EDGES),
        "needed_by": ("graph_edge WHERE dependency_id", len(needed_by), queries.MOST_EDGES),
        "children": ("graph_node WHERE parent_id", len(children), MOST_CHILDREN),
        "runs": ("leases_run WHERE node_id", len(runs), MOST_RUNS),
    }
    return {
        name: int(sql.fetch(f"SELECT count(*) FROM {source} = %s", [node_id])[0][0]) - most
        for name, (source, found, most) in counts.items()
        if found > most
    }


def _runs(node_id: str, limit: int) -> list[RunRow]:
    """The newest runs of a node, newest first.

    Fences of one subject rise, and ids need not: an objective's run goes by that of the lease which moved with the
    task's that opened it.
    """
    rows = sql.fetch(
        """SELECT r.id, r.opened_at, r.closed_at, r.outcome, r.summary, r.result, l.id, l.holder, l.fence
        FROM leases_run r JOIN leases_lease l ON l.id = r.lease_id
        LEFT JOIN leases_lease beside ON beside.moves_with_id = l.id AND beside.subject_id = r.node_id
        WHERE r.node_id = %s ORDER BY coalesce(beside.fence, l.fence) DESC LIMIT %s""",
        [node_id, limit],
    )
    if not rows:
        return []
    named, params = sql.among([row[0] for row in rows])
    attempts: dict[str, list[AttemptRow]] = {}
    for run_id, *attempt in sql.fetch(
        f"""SELECT run_id, id, number, opened_at, closed_at, outcome, reason FROM leases_attempt
        WHERE run_id IN ({named}) ORDER BY run_id, number""",
        params,
    ):
        attempts.setdefault(run_id, []).append(AttemptRow(*attempt))
    return [RunRow(attempts.get(row[0], []), *row) for row in rows]
