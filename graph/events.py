"""Appending events: one row per change, in the transaction that makes it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from graph import bulk, sql, transaction
from graph.fields import json_text
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

FEW: Final = 100
"""Events that go into one INSERT; more are written in bulk."""

COLUMNS: Final = ("type", "at", "actor", "plan", "objective", "node", "lease", "run", "attempt", "reason", "data")
_INSERT: Final = f"INSERT INTO graph_event ({', '.join(COLUMNS)}) VALUES "
_ROW: Final = f"({sql.marks(len(COLUMNS))})"


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
    if transaction.rehearsing():
        return
    if len(drafts) > FEW:
        stream(drafts, actor=actor, now=now)
    elif drafts:
        sql.execute(
            _INSERT + ", ".join([_ROW] * len(drafts)),
            [value for draft in drafts for value in row(draft, actor=actor, now=now)],
        )


def stream(drafts: Iterable[Draft], *, actor: str, now: int) -> None:
    """The same for any number of events, which need not be in memory all at once."""
    transaction.required()
    if transaction.rehearsing():
        return
    bulk.insert("graph_event", COLUMNS, (tuple(row(draft, actor=actor, now=now)) for draft in drafts))


def row(draft: Draft, *, actor: str, now: int) -> Iterator[Any]:
    """The values of one event, in the order of the columns."""
    yield from (draft.type, now, actor, *draft[1:8])
    yield json_text(draft.data)
