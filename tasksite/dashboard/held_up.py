"""Objectives that wait on something stuck, directly or down a chain: on a task that is blocked or stale, or cancelled.

Nothing moves there until a lead acts on what is stuck, however far away it is. The walk begins at what is stuck, of
which there is little, and follows it upward to the containers that cannot settle and on to all that needs them; one
step goes one edge further along all ways at once, in two statements. Both the ways and the nodes are bounded.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from graph import sql

MOST_SHOWN: Final = 20
MOST_STUCK: Final = 100
MOST_NODES: Final = 2_000
MOST_EDGES: Final = 12
"""Edges between what is stuck and what waits; who waits behind more of them waits behind somebody shown, too."""
CANCELLED_LOOKED_AT: Final = 500


class Stuck(NamedTuple):
    """What somebody has to act on; `why` is blocked, stale or cancelled."""

    id: str
    full_key: str
    objective_id: str
    why: str


@dataclass(slots=True)
class HeldUp:
    """An objective some of whose tasks can start only after somebody has acted elsewhere."""

    id: str
    full_key: str
    title: str
    state: str
    tasks: int = 0
    causes: list[Stuck] = field(default_factory=list)
    """The nearest in front."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """`more` objectives are not shown; `cut` says that the walk ended at its bounds."""

    objectives: list[HeldUp]
    more: int = 0
    cut: bool = False


# A cancelled node is stuck when something still needs it: only a lead can waive, or reopen it.
_STUCK: Final = f"""
    SELECT * FROM (SELECT n.id, n.full_key, n.objective_id, 'blocked' AS why FROM graph_node n
        WHERE n.state = 'blocked' ORDER BY n.plan_id, n.position LIMIT {MOST_STUCK}) blocked
    UNION ALL
    SELECT * FROM (SELECT n.id, n.full_key, n.objective_id, 'stale' AS why
        FROM leases_lease l JOIN graph_node n ON n.id = l.subject_id
        WHERE l.ended_at IS NULL AND l.expires_at <= %s AND l.moves_with_id IS NULL LIMIT {MOST_STUCK}) stale
    UNION ALL
    SELECT * FROM (SELECT id, full_key, objective_id, 'cancelled' AS why
        FROM (SELECT id, full_key, objective_id FROM graph_node
            WHERE state = 'cancelled' ORDER BY plan_id DESC, position DESC LIMIT {CANCELLED_LOOKED_AT}) dropped
        WHERE EXISTS (
            SELECT 1 FROM graph_edge e JOIN graph_node w ON w.id = e.dependent_id
            WHERE e.dependency_id = dropped.id AND NOT e.waived AND w.state = 'pending' LIMIT 1 OFFSET 0)
        LIMIT {MOST_STUCK}) cancelled"""

# A lane whose claim is stale stands still: nothing else starts in it.
_OF_LANES: Final = f"""
    SELECT id, objective_id FROM graph_node
    WHERE objective_id IN ({{ids}}) AND leaf AND state IN ('pending', 'ready') LIMIT {MOST_NODES}"""

# From nodes that will not be done, and the containers that therefore will not be, to all that needs one of them; then
# to what is below that. What has settled or runs waits for nothing any more. States are carried along and judged a
# step later: under a condition on the joined table SQLite would read all of it first.
_NEEDING: Final = """
    WITH RECURSIVE up(root, id, parent_id, state) AS (
        SELECT id, id, parent_id, state FROM graph_node WHERE id IN ({ids})
        UNION
        SELECT up.root, n.id, n.parent_id, n.state FROM up JOIN graph_node n ON n.id = up.parent_id
        WHERE up.state NOT IN ('done', 'partial', 'cancelled'))
    SELECT up.root, e.dependent_id FROM up JOIN graph_edge e ON e.dependency_id = up.id
    WHERE up.state NOT IN ('done', 'partial') AND NOT e.waived LIMIT {limit}"""
_BELOW: Final = """
    WITH RECURSIVE down(root, id, objective_id, leaf, state) AS (
        SELECT id, id, objective_id, leaf, state FROM graph_node WHERE id IN ({ids})
        UNION
        SELECT down.root, n.id, n.objective_id, n.leaf, n.state FROM down JOIN graph_node n ON n.parent_id = down.id
        WHERE down.state = 'pending')
    SELECT root, id, objective_id, leaf FROM down WHERE state = 'pending' LIMIT {limit}"""

_OBJECTIVES: Final = "SELECT id, full_key, title, state FROM graph_node WHERE id IN ({ids}) ORDER BY plan_id, position"


def read(now: int) -> Waiting:
    """In pool order. Where nothing is stuck this is one statement."""
    stuck = {row[0]: Stuck(*row) for row in sql.fetch(_STUCK, [now])}
    causes, leaves, cut = _walk(stuck)
    if not causes:
        return Waiting([])
    objectives = {row[0]: HeldUp(*row) for row in _named(set(leaves.values()))}
    for node_id, objective_id in leaves.items():
        found, cause = objectives[objective_id], causes[node_id]
        if cause.objective_id == objective_id:
            continue  # the lane itself is stuck: that is said where it is shown
        found.tasks += 1
        if cause not in found.causes:
            found.causes.append(cause)
    held_up = [found for found in objectives.values() if found.tasks]
    return Waiting(held_up[:MOST_SHOWN], max(0, len(held_up) - MOST_SHOWN), cut)


def _walk(stuck: dict[str, Stuck]) -> tuple[dict[str, Stuck], dict[str, str], bool]:
    """What each waiting node waits for in the end, and the lanes of those that are leaves, the nearest in front."""
    causes: dict[str, Stuck] = {}
    leaves: dict[str, str] = {}
    edge = _still(stuck) | stuck
    for _ in range(MOST_EDGES):
        needing = {dependent: edge[root] for root, dependent in reversed(_further(_NEEDING, edge))}
        fresh = {dependent: cause for dependent, cause in needing.items() if dependent not in causes}
        edge = {}
        for root, node_id, objective_id, leaf in _further(_BELOW, fresh):
            if node_id not in causes:
                causes[node_id] = edge[node_id] = fresh[root]
                if leaf:
                    leaves[node_id] = objective_id
        if not edge or len(causes) > MOST_NODES:
            break
    return causes, leaves, bool(edge)


def _still(stuck: dict[str, Stuck]) -> dict[str, Stuck]:
    """What cannot start because the claim on its lane is stale."""
    stale = {each.objective_id: each for each in stuck.values() if each.why == "stale"}
    if not stale:
        return {}
    named, params = sql.among(stale)
    return {node_id: stale[lane] for node_id, lane in sql.fetch(_OF_LANES.format(ids=named), params)}


def _further(statement: str, ids: Collection[str]) -> list[tuple[Any, ...]]:
    if not ids:
        return []
    named, params = sql.among(ids)
    return sql.fetch(statement.format(ids=named, limit=MOST_NODES + 1), params)


def _named(objective_ids: Collection[str]) -> list[tuple[str, str, str, str]]:
    if not objective_ids:
        return []
    named, params = sql.among(objective_ids)
    return [(row[0], row[1], row[2], row[3]) for row in sql.fetch(_OBJECTIVES.format(ids=named), params)]
