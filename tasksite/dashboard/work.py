"""The ready pool and the lanes: what may start, and who works on what."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, NamedTuple

from django.db.models import Count

from graph import readiness, sql
from graph.models import Node
from graph.rows import NodeRow
from graph.states import State
from leases import queries
from leases.queries import NodeFilter
from leases.sql import POOL
from tasksite.dashboard.progress import Counts

MOST_READY: Final = 40
MOST_LANES: Final = 40


# The pool


@dataclass(frozen=True, slots=True)
class Ready:
    """A leaf that may start; `taken_by` is who is at work in its lane, '' where the lane is free."""

    node: NodeRow
    taken_by: str


def pool() -> list[Ready]:
    """The first leaves of the pool, in its order."""
    nodes = [NodeRow(*row) for row in queries.nodes(NodeFilter(state=State.READY, leaf=True), limit=MOST_READY)]
    holders = _holders({node.objective_id for node in nodes})
    return [Ready(node, holders.get(node.objective_id, "")) for node in nodes]


def _holders(objective_ids: Collection[str]) -> dict[str, str]:
    if not objective_ids:
        return {}
    named, params = sql.among(objective_ids)
    return dict(
        sql.fetch(
            f"SELECT objective_id, holder FROM leases_lease WHERE ended_at IS NULL AND objective_id IN ({named})",
            params,
        )
    )


# The lanes


class Claim(NamedTuple):
    """Who works on what in a lane; instants in microseconds."""

    node_id: str
    full_key: str
    title: str
    holder: str
    fence: int
    acquired_at: int
    expires_at: int
    progress: str
    held: bool


@dataclass(frozen=True, slots=True)
class Lane:
    """An objective that has not settled, or is being worked in."""

    id: str
    key: str
    title: str
    plan: str
    claim: Claim | None
    next: str
    """The full key of the task that a worker would get here; '' where none is ready or the lane is taken."""
    counts: Counts
    waits_for: list[str]
    """Full keys: what the objective itself waits for, where it can go on with nothing."""


@dataclass(frozen=True, slots=True)
class Lanes:
    """Lanes that are taken in front, each group in pool order."""

    shown: list[Lane]
    taken: int
    open: int

    @property
    def left_off(self) -> int:
        return max(0, self.open - len(self.shown))


_OPEN: Final = "o.parent_id IS NULL AND o.state IN ('pending', 'ready', 'running', 'blocked')"
_COUNTS: Final = f"""
    SELECT (SELECT count(*) FROM leases_lease WHERE ended_at IS NULL AND moves_with_id IS NULL),
        (SELECT count(*) FROM graph_node o WHERE {_OPEN})"""

_TAKEN: Final = """
    SELECT o.id, o.full_key, o.title, p.name, n.id, n.full_key, n.title, l.holder, l.fence, l.acquired_at,
        l.expires_at, l.progress, n.held
    FROM leases_lease l JOIN graph_node n ON n.id = l.subject_id
    JOIN graph_node o ON o.id = l.objective_id JOIN graph_plan p ON p.id = o.plan_id
    WHERE l.ended_at IS NULL AND l.moves_with_id IS NULL ORDER BY o.plan_id, o.position LIMIT %s"""

_IDLE: Final = f"""
    SELECT o.id, o.full_key, o.title, p.name, (
        SELECT n.full_key FROM graph_node n WHERE n.objective_id = o.id AND {POOL} ORDER BY n.position LIMIT 1)
    FROM graph_node o JOIN graph_plan p ON p.id = o.plan_id
    WHERE {_OPEN} AND NOT EXISTS (SELECT 1 FROM leases_lease l WHERE l.objective_id = o.id AND l.ended_at IS NULL)
    ORDER BY o.plan_id, o.position LIMIT %s"""


def lanes() -> Lanes:
    taken, open_ = sql.fetch(_COUNTS)[0]
    busy = sql.fetch(_TAKEN, [MOST_LANES])
    idle = sql.fetch(_IDLE, [MOST_LANES - len(busy)]) if len(busy) < MOST_LANES else []
    counts = _leaves([row[0] for row in (*busy, *idle)])
    waits = _waits([row[0] for row in idle if not row[4]])
    shown = [
        Lane(id_, key, title, plan, Claim(*claim), "", Counts(counts[id_]), [])
        for id_, key, title, plan, *claim in busy
    ]
    shown += [
        Lane(id_, key, title, plan, None, next_ or "", Counts(counts[id_]), waits.get(id_, []))
        for id_, key, title, plan, next_ in idle
    ]
    return Lanes(shown, int(taken), int(open_))


def _waits(objective_ids: Collection[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for wait in readiness.waits(objective_ids):
        found.setdefault(wait.dependent_id, []).append(wait.full_key)
    return found


def _leaves(objective_ids: Collection[str]) -> dict[str, dict[State, int]]:
    """Leaves by state of each of these lanes."""
    found: dict[str, dict[State, int]] = {objective_id: {} for objective_id in objective_ids}
    for objective_id, state, count in (
        Node.objects.filter(objective_id__in=objective_ids, leaf=True)
        .order_by()
        .values_list("objective_id", "state")
        .annotate(Count("id"))
    ):
        found[objective_id][State(state)] = count
    return found
