"""Why a node does not go on: what it waits for, followed down to what waits for nothing else.

One recursive read walks from the node along what is unsatisfied. It asks one of two things of each node that it comes
to: why it `waits` (its own edges, then those of its ancestors), or, where others need its end, why it does not `end`
(a pending one waits; a container that is under way has something unsettled below it; all else is a cause itself).
"""

from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from graph import sql
from graph.rows import NodeRow
from graph.states import State
from tasksite.dashboard import attention
from tasksite.dashboard.acts import ABANDON, REOPEN, UNBLOCK, Act
from tasksite.dashboard.attention import Reason

MOST_STEPS: Final = 2_000
"""Of one walk."""
MOST_BESIDE: Final = 8
"""Obstacles of one node that are followed, those first that a lead can do most about."""
MOST_CAUSES: Final = 6
"""That are shown, each with the way to it."""
MOST_JUDGED: Final = 40
"""That are looked at, to show the worst."""
LONGEST: Final = 7
"""Steps of a way that are shown: of a longer one the first and the last."""

_ORDER: Final = """CASE {node}.state WHEN 'cancelled' THEN 0 WHEN 'blocked' THEN 1 WHEN 'running' THEN 2
            WHEN 'ready' THEN 3 ELSE 4 END, {node}.position LIMIT {most}"""
_NEXT: Final = f"""
        SELECT id FROM (
            SELECT needed.id FROM graph_edge need JOIN graph_node needed ON needed.id = need.dependency_id
            WHERE walk.asks = 'waits' AND need.dependent_id = walk.id AND NOT need.waived
                AND needed.state NOT IN ('done', 'partial')
            ORDER BY {_ORDER.format(node="needed", most=MOST_BESIDE)}) needs
        UNION ALL SELECT walk.parent_id WHERE walk.asks = 'waits' AND walk.parent_id IS NOT NULL
        UNION ALL SELECT id FROM (
            SELECT c.id FROM graph_node c
            WHERE walk.asks = 'ends' AND NOT walk.held AND c.parent_id = walk.id
                AND c.state IN ('pending', 'ready', 'running', 'blocked')
            ORDER BY {_ORDER.format(node="c", most=MOST_BESIDE)}) below"""


def _walk() -> str:
    return f"""
    WITH RECURSIVE walk(source, source_asks, how, id, parent_id, state, leaf, held, asks) AS (
        SELECT n.id, '', '', n.id, n.parent_id, n.state, n.leaf, n.held,
            CASE n.state WHEN 'pending' THEN 'waits' ELSE 'ends' END
        FROM graph_node n WHERE n.id = %s
        UNION
        SELECT walk.id, walk.asks,
            CASE WHEN n.id = walk.parent_id THEN 'in' WHEN walk.asks = 'waits' THEN 'needs' ELSE 'below' END,
            n.id, n.parent_id, n.state, n.leaf, n.held,
            CASE WHEN n.id = walk.parent_id OR n.state = 'pending' THEN 'waits' ELSE 'ends' END
        FROM walk JOIN graph_node n ON n.id {sql.chosen(_NEXT)})
    SELECT source, source_asks, how, id, asks, state, leaf, held FROM walk LIMIT {MOST_STEPS}"""


class _Seen(NamedTuple):
    source: str
    source_asks: str
    how: str
    id: str
    asks: str
    state: str
    leaf: bool
    held: bool

    @property
    def is_cause(self) -> bool:
        """Nothing else has to happen first."""
        return self.asks == "ends" and (bool(self.leaf) or bool(self.held) or self.state == State.CANCELLED)


class Fact(NamedTuple):
    """A node on the way, with the claim on it; instants in microseconds."""

    id: str
    full_key: str
    title: str
    state: str
    objective_id: str
    held: bool
    holder: str | None
    acquired_at: int | None
    expires_at: int | None
    expired_at: int | None
    fence: int | None

    def stale(self, now: int) -> bool:
        return self.expires_at is not None and (self.expired_at is not None or now >= self.expires_at)


class Taken(NamedTuple):
    """Who has a lane, and for what."""

    node_id: str
    full_key: str
    holder: str
    acquired_at: int


@dataclass(frozen=True, slots=True)
class Step:
    """`how`: the one before `needs` it, is `in` it, or is not at its end for what is `below` it; '' for a gap."""

    how: str
    fact: Fact | None


@dataclass(frozen=True, slots=True)
class Cause:
    """What it all comes down to, and the way there, itself the last step."""

    fact: Fact
    way: list[Step]
    stale: bool
    reason: Reason | None
    """Why it is blocked."""
    taken: Taken | None
    """Who has its lane, where it is ready."""

    @property
    def act(self) -> Act | None:
        """What a lead can do about it here and now."""
        if self.stale:
            return ABANDON
        return {State.BLOCKED: UNBLOCK, State.CANCELLED: REOPEN}.get(State(self.fact.state))


@dataclass(frozen=True, slots=True)
class Why:
    causes: list[Cause]
    left_off: int
    cut: bool
    """Whether the walk may have passed some by."""


def read(node: NodeRow, now: int) -> Why:
    """For a node that waits, or a container with something unsettled below it; the worst causes in front."""
    rows = [_Seen(*row) for row in sql.fetch(_walk(), [node.id])]
    first, ways = _ways(rows)
    found = sorted((row for row in ways.values() if row.is_cause), key=lambda row: _urgency(row.state))
    facts = _facts({row.id for row in found[:MOST_JUDGED]})
    shown = sorted(found[:MOST_JUDGED], key=lambda row: not facts[row.id].stale(now))[:MOST_CAUSES]
    paths = [_path((row.id, row.asks), first, ways) for row in shown]
    facts |= _facts({row.id for path in paths for row in path if row} - facts.keys())
    beside = Counter((row.source, row.source_asks, row.how) for row in rows)
    return Why(
        _causes([facts[row.id] for row in shown], _shown(paths, facts), now),
        left_off=len(found) - len(shown),
        cut=len(rows) >= MOST_STEPS or MOST_BESIDE in beside.values(),
    )


def _shown(paths: Sequence[Sequence[_Seen | None]], facts: Mapping[str, Fact]) -> list[list[Step]]:
    return [[Step(row.how, facts[row.id]) if row else Step("", None) for row in path] for path in paths]


def _causes(facts: Sequence[Fact], ways: Sequence[list[Step]], now: int) -> list[Cause]:
    reasons = attention.reasons([fact.id for fact in facts if fact.state == State.BLOCKED])
    lanes = taken({fact.objective_id for fact in facts if fact.state == State.READY})
    return [
        Cause(
            fact,
            way,
            stale=fact.stale(now),
            reason=next(iter(reasons.get(fact.id, [])), None),
            taken=lanes.get(fact.objective_id) if fact.state == State.READY else None,
        )
        for fact, way in zip(facts, ways, strict=True)
    ]


_URGENCY: Final = (State.CANCELLED, State.BLOCKED, State.RUNNING, State.READY)


def _urgency(state: str) -> int:
    return _URGENCY.index(State(state)) if state in _URGENCY else len(_URGENCY)


_Key = tuple[str, str]


def _ways(rows: Sequence[_Seen]) -> tuple[_Key, Mapping[_Key, _Seen]]:
    """Where the walk began, and for each node that it reached the row by which it is reached in the fewest steps."""
    onward: dict[_Key, list[_Seen]] = {}
    first = ("", "")
    for row in rows:
        if row.how:
            onward.setdefault((row.source, row.source_asks), []).append(row)
        else:
            first = (row.id, row.asks)
    ways: dict[_Key, _Seen] = {}
    waiting = deque([first])
    while waiting:
        for row in onward.get(waiting.popleft(), ()):
            key = (row.id, row.asks)
            if key not in ways and key != first:
                ways[key] = row
                waiting.append(key)
    return first, ways


def _path(key: _Key, first: _Key, ways: Mapping[_Key, _Seen]) -> list[_Seen | None]:
    """The rows from the first to this one, None for what is left out between."""
    path: list[_Seen | None] = []
    while key != first:
        row = ways[key]
        path.append(row)
        key = (row.source, row.source_asks)
    path.reverse()
    if len(path) <= LONGEST:
        return path
    return [*path[: LONGEST // 2], None, *path[-(LONGEST // 2) :]]


def _facts(node_ids: Collection[str]) -> dict[str, Fact]:
    if not node_ids:
        return {}
    named, params = sql.among(node_ids)
    rows = sql.fetch(
        f"""SELECT n.id, n.full_key, n.title, n.state, n.objective_id, n.held, l.holder, l.acquired_at, l.expires_at,
            l.expired_at, l.fence
        FROM graph_node n LEFT JOIN leases_lease l
            ON l.subject_id = n.id AND l.ended_at IS NULL AND l.moves_with_id IS NULL
        WHERE n.id IN ({named})""",
        params,
    )
    return {row[0]: Fact(*row) for row in rows}


def taken(objective_ids: Collection[str]) -> dict[str, Taken]:
    """Who is at work in these lanes, by objective."""
    if not objective_ids:
        return {}
    named, params = sql.among(objective_ids)
    rows = sql.fetch(
        f"""SELECT l.objective_id, n.id, n.full_key, l.holder, l.acquired_at
        FROM leases_lease l JOIN graph_node n ON n.id = l.subject_id
        WHERE l.objective_id IN ({named}) AND l.ended_at IS NULL AND l.moves_with_id IS NULL""",
        params,
    )
    return {row[0]: Taken(*row[1:]) for row in rows}
