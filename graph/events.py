"""Appending events: one row per change, in the transaction that makes it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from graph import sql, transaction
from graph.rows import NodeRow

STATE_EVENTS: Final = frozenset(
    f"node.{state}" for state in ("ready", "pending", "running", "done", "partial", "blocked", "cancelled")
)
TYPES: Final = STATE_EVENTS | {
    "plan.imported", "node.added", "node.changed",
    "node.abandoned", "node.recovered", "node.unblocked", "node.reopened", "node.held",
    "edge.added", "edge.removed", "edge.waived", "edge.unwaived",
    "lease.claimed", "lease.expired", "lease.released", "lease.revoked",
    "run.opened", "run.adopted", "run.closed", "attempt.opened", "attempt.closed",
}  # fmt: skip
"""Every type there is (contract, section 6)."""

CHUNK: Final = 1_000
"""Rows in one INSERT: below the number of parameters that either database takes."""

_COLUMNS: Final = "type, at, actor, plan, objective, node, lease, run, attempt, reason, data"


class Draft(NamedTuple):
    """An event before it has a number, a time and an actor."""

    type: str
    plan: str = ""
    objective: str = ""
    node: str = ""
    lease: str = ""
    run: str = ""
    attempt: str = ""
    reason: str = ""
    data: Mapping[str, Any] = {}


def of_node(type: str, node: NodeRow, *, reason: str = "", **ids: Any) -> Draft:
    """An event about one node; `ids` are lease, run, attempt and data."""
    return Draft(type, node.plan_id, node.objective_id, node.id, reason=reason, **ids)


def append(drafts: Sequence[Draft], *, actor: str, now: int) -> None:
    """Write the events, numbered in the order given. Runs inside an entry service that holds its lanes."""
    transaction.required()
    for start in range(0, len(drafts), CHUNK):
        chunk = drafts[start : start + CHUNK]
        values = ", ".join(["(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"] * len(chunk))
        sql.execute(
            f"INSERT INTO graph_event ({_COLUMNS}) VALUES {values}",
            [value for draft in chunk for value in row(draft, actor=actor, now=now)],
        )


def row(draft: Draft, *, actor: str, now: int) -> Iterator[Any]:
    """The values of one event, in the order of the columns."""
    yield from (draft.type, now, actor, *draft[1:8])
    yield json.dumps(draft.data, ensure_ascii=False, separators=(",", ":"))
