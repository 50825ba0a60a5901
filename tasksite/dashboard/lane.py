"""A lane's page: its tasks in the order of the pool, who holds it, its clone, its time axis and its last events."""

from dataclasses import dataclass
from typing import Any, Final

from graph import sql
from graph.errors import NotFound
from graph.queries import LIST_COLUMNS
from graph.rows import NodeRow
from leases import queries
from leases.models import Ending
from tasksite.dashboard import axis, bars, events, lanes
from tasksite.dashboard.live import Page
from tasksite.dashboard.progress import Counts

MOST_TASKS: Final = 200


@dataclass(frozen=True, slots=True)
class Clone:
    """Where the lane is worked in. `next` is the generation that the next claim gets, and with it the directory."""

    repo: str
    ref: str
    dir: str
    generation: int
    next: int


_OBJECTIVE: Final = f"""
    SELECT p.name, n.clone_repo, n.clone_ref, {LIST_COLUMNS}
    FROM graph_node n JOIN graph_plan p ON p.id = n.plan_id WHERE n.id = %s AND n.parent_id IS NULL"""
_TASKS: Final = f"""
    SELECT {LIST_COLUMNS} FROM graph_node n
    WHERE n.objective_id = %s AND n.position > %s AND (n.leaf OR n.parent_id IS NOT NULL)
    ORDER BY n.position LIMIT {MOST_TASKS + 1}"""
_CLAIM: Final = (
    "SELECT subject_id FROM leases_lease WHERE objective_id = %s AND ended_at IS NULL AND moves_with_id IS NULL"
)
_GENERATION: Final = "SELECT generation, ending FROM leases_lease WHERE subject_id = %s ORDER BY fence DESC LIMIT 1"
_LAST_END: Final = """
    SELECT ended_at FROM leases_lease WHERE subject_id = %s AND ended_at IS NOT NULL ORDER BY fence DESC LIMIT 1"""


def read(now: int, *, node_id: str, window: str = "", after: int = -1) -> dict[str, Any]:
    """`after` is the position of the last task that was shown. Raises NotFound."""
    found = sql.fetch(_OBJECTIVE, [node_id])
    if not found:
        raise NotFound(f"There is no objective {node_id}.")
    plan, repo, ref, *columns = found[0]
    objective = NodeRow(*columns)
    tasks = [NodeRow(*row) for row in sql.fetch(_TASKS, [node_id, after])]
    holding = sql.fetch(_CLAIM, [node_id])
    claim = queries.open_lease(holding[0][0]) if holding else None
    ended = sql.fetch(_LAST_END, [node_id])
    begun = [claim.acquired_at] if claim and not claim.stale(now) else []
    scale = axis.choose(now, window, begun=begun, last=ended[0][0] if ended else None)
    return {
        "lane": objective,
        "plan": plan,
        "counts": Counts(lanes.leaves([node_id])[node_id]),
        "tasks": tasks[:MOST_TASKS],
        "after": tasks[MOST_TASKS - 1].position if len(tasks) > MOST_TASKS else None,
        "first": after < 0,
        "claim": claim,
        "stale": claim is not None and claim.stale(now),
        "clone": _clone(objective, repo, ref),
        "axis": scale,
        "bars": bars.read([node_id], scale).get(node_id, []),
        "lines": events.last_of_lane(node_id),
    }


def _clone(objective: NodeRow, repo: str, ref: str) -> Clone:
    found = sql.fetch(_GENERATION, [objective.id])
    generation, ending = found[0] if found else (0, Ending.OPEN)
    unclean = ending in (Ending.REVOKED, Ending.RECOVERED)
    next_ = generation + 1 if unclean or not found else generation
    return Clone(repo, ref, f"{objective.key}-{objective.id}.{next_}", generation, next_)


PAGE: Final = Page("lane", whole="pages/lane.html", part="partials/lane.html", read=read)
