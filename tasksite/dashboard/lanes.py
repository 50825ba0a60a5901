"""The lanes: who works on what, and what was done there lately, side by side on one time axis."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from django.db.models import Count

from graph import readiness, sql
from graph.models import Node
from graph.readiness import Wait
from graph.states import State
from leases.sql import POOL
from tasksite.dashboard import axis, bars
from tasksite.dashboard.axis import Axis
from tasksite.dashboard.bars import Bar
from tasksite.dashboard.progress import Counts

MOST_LANES: Final = 40
LOOKED_BACK: Final = 400
"""Of so many of the last claims, their lanes count as lately worked in."""


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
    """An objective that has not settled, or was lately worked in."""

    id: str
    key: str
    title: str
    plan: str
    state: str
    claim: Claim | None
    next_id: str
    next: str
    """The full key of the task that a worker would get here; '' where none is ready or the lane is taken."""
    counts: Counts
    waits_for: list[Wait]
    """What the objective itself waits for, where it can go on with nothing."""
    bars: list[Bar]


@dataclass(frozen=True, slots=True)
class Lanes:
    """Lanes at work, now or in the window, in front, each group in pool order."""

    shown: list[Lane]
    taken: int
    open: int
    axis: Axis

    @property
    def left_off(self) -> int:
        return max(0, self.open - sum(lane.state in _UNSETTLED for lane in self.shown))


_UNSETTLED: Final = ("pending", "ready", "running", "blocked")
_OPEN: Final = f"o.parent_id IS NULL AND o.state IN {_UNSETTLED}"
_COUNTS: Final = f"""
    SELECT (SELECT count(*) FROM leases_lease WHERE ended_at IS NULL AND moves_with_id IS NULL),
        (SELECT count(*) FROM graph_node o WHERE {_OPEN})"""

_LANE: Final = "o.plan_id, o.position, o.id, o.full_key, o.title, p.name, o.state"

_TAKEN: Final = f"""
    SELECT {_LANE}, n.id, n.full_key, n.title, l.holder, l.fence, l.acquired_at, l.expires_at, l.progress, n.held
    FROM leases_lease l JOIN graph_node n ON n.id = l.subject_id
    JOIN graph_node o ON o.id = l.objective_id JOIN graph_plan p ON p.id = o.plan_id
    WHERE l.ended_at IS NULL AND l.moves_with_id IS NULL ORDER BY o.plan_id, o.position LIMIT %s"""

_NEXT: Final = f"""
    (SELECT n.id FROM graph_node n WHERE n.objective_id = o.id AND {POOL} ORDER BY n.position LIMIT 1) AS next_id"""
_FREE: Final = "NOT EXISTS (SELECT 1 FROM leases_lease l WHERE l.objective_id = o.id AND l.ended_at IS NULL)"

_LATELY: Final = f"""
    SELECT {_LANE}, {_NEXT}, max(late.ended_at) AS last_end
    FROM (SELECT objective_id, ended_at FROM leases_lease
        WHERE moves_with_id IS NULL ORDER BY id DESC LIMIT {LOOKED_BACK}) late
    JOIN graph_node o ON o.id = late.objective_id JOIN graph_plan p ON p.id = o.plan_id
    WHERE {_FREE} GROUP BY o.id, p.name ORDER BY last_end DESC LIMIT %s"""

_IDLE: Final = f"""
    SELECT {_LANE}, {_NEXT} FROM graph_node o JOIN graph_plan p ON p.id = o.plan_id
    WHERE {_OPEN} AND {_FREE} AND o.id NOT IN ({{known}}) ORDER BY o.plan_id, o.position LIMIT %s"""


class _Found(NamedTuple):
    """A lane as its statement gives it."""

    plan_id: str
    position: int
    id: str
    key: str
    title: str
    plan: str
    state: str
    claim: Claim | None
    next_id: str | None


def read(now: int, window: str = "") -> Lanes:
    """`window` is the name of one of the axis's windows, or '': it is chosen so that current work is seen."""
    taken, open_ = sql.fetch(_COUNTS)[0]
    busy = [_Found._make((*row[:7], Claim(*row[7:]), None)) for row in sql.fetch(_TAKEN, [MOST_LANES])]
    late = sql.fetch(_LATELY, [MOST_LANES])
    begun = [found.claim.acquired_at for found in busy if found.claim and found.claim.expires_at > now]
    scale = axis.choose(now, window, begun=begun, last=late[0][-1] if late else None)
    lately = [_Found._make((*row[:7], None, row[7])) for row in late if row[-1] > scale.start]
    front = sorted((busy + lately)[:MOST_LANES], key=lambda found: found[:2])
    return Lanes(_whole(front + _idle(front), scale), int(taken), int(open_), scale)


def _idle(front: Sequence[_Found]) -> list[_Found]:
    if len(front) >= MOST_LANES:
        return []
    statement = _IDLE.format(known=sql.marks(len(front)) or "''")
    rows = sql.fetch(statement, [*(found.id for found in front), MOST_LANES - len(front)])
    return [_Found._make((*row[:7], None, row[7])) for row in rows]


def _whole(lanes: Sequence[_Found], scale: Axis) -> list[Lane]:
    ids = [found.id for found in lanes]
    counts, drawn = leaves(ids), bars.read(ids, scale)
    keys = _keys([found.next_id for found in lanes if found.next_id])
    stuck = [found.id for found in lanes if not found.claim and not found.next_id and found.state in _UNSETTLED]
    waits: dict[str, list[Wait]] = {}
    for wait in readiness.waits(stuck):
        waits.setdefault(wait.dependent_id, []).append(wait)
    return [
        Lane(
            found.id, found.key, found.title, found.plan, found.state, found.claim,
            found.next_id or "", keys.get(found.next_id or "", ""), Counts(counts[found.id]),
            waits.get(found.id, []), drawn.get(found.id, []),
        )
        for found in lanes
    ]  # fmt: skip


def _keys(node_ids: Collection[str]) -> dict[str, str]:
    return dict(Node.objects.filter(id__in=node_ids).values_list("id", "full_key")) if node_ids else {}


def leaves(objective_ids: Collection[str]) -> dict[str, dict[State, int]]:
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


def parsed_window(text: str) -> str | None:
    """The window that a query asks for: '' where it asks for none, None where there is no such window."""
    return text if text == "" or text in axis.WINDOWS else None
