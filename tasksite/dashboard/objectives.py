"""The table of a plan: its objectives, what lies in one of them, or what a search finds."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from graph import sql
from graph.filters import narrowed
from graph.queries import LIST_COLUMNS
from graph.rows import NodeRow
from graph.states import State
from tasksite.dashboard.progress import Counts

MOST: Final = 100
"""Objectives of a page."""
MOST_TASKS: Final = 120
"""Nodes that are listed below objectives."""
DEEPEST: Final = 5

_OBJECTIVES: Final = f"""
    SELECT {LIST_COLUMNS} FROM graph_node n
    WHERE n.plan_id = %s AND n.parent_id IS NULL AND n.position > %s ORDER BY n.position LIMIT %s"""
_NUMBER: Final = "SELECT count(*) FROM graph_node WHERE plan_id = %s AND parent_id IS NULL AND position > %s"
_INSIDE: Final = f"""
    SELECT {LIST_COLUMNS} FROM graph_node n WHERE n.objective_id = %s AND n.plan_id = %s ORDER BY n.position LIMIT %s"""
_FOUND: Final = f"""
    SELECT {LIST_COLUMNS} FROM graph_node n WHERE n.plan_id = %s{{where}} ORDER BY n.position LIMIT %s"""
_THESE: Final = f"SELECT {LIST_COLUMNS} FROM graph_node n WHERE n.id IN ({{ids}}) ORDER BY n.position"
_COUNTS: Final = """
    SELECT objective_id, state, count(*) FROM graph_node
    WHERE objective_id IN ({ids}) AND leaf GROUP BY objective_id, state"""


@dataclass(frozen=True, slots=True)
class Row:
    """An objective with its leaves by state, and those of its nodes that are listed below it."""

    node: NodeRow
    counts: Counts
    tasks: list[tuple[int, NodeRow]] = field(default_factory=list)
    """With how deep each lies, from 1."""


@dataclass(frozen=True, slots=True)
class Table:
    rows: list[Row]
    left_off: int = 0
    """Objectives that come after these."""
    after: int | None = None
    """The position behind which they start."""
    cut: bool = False
    """More nodes were found than are listed."""


def read(plan_id: str, *, q: str = "", state: str = "", opened: str = "", after: int = -1) -> Table:
    """Objectives in the order of the walk. With `q` or `state`, those that hold what is sought, and that below."""
    if q or state:
        return _found(plan_id, q, state)
    nodes = [NodeRow(*row) for row in sql.fetch(_OBJECTIVES, [plan_id, after, MOST])]
    inside = _inside(plan_id, opened) if any(node.id == opened for node in nodes) else []
    last = nodes[-1].position if len(nodes) == MOST else None
    left_off = int(sql.fetch(_NUMBER, [plan_id, last])[0][0]) if last is not None else 0
    return Table(_rows(nodes, inside[:MOST_TASKS]), left_off, last, len(inside) > MOST_TASKS)


def _found(plan_id: str, q: str, state: str) -> Table:
    """A state is that of leaves: those of containers follow from them."""
    where, params = narrowed(q=q)
    if state:
        where, params = f"{where} AND n.leaf AND n.state = %s", [*params, state]
    found = [NodeRow(*row) for row in sql.fetch(_FOUND.format(where=where), [plan_id, *params, MOST_TASKS + 1])]
    listed = found[:MOST_TASKS]
    lanes = [*{node.objective_id: None for node in listed}]
    named, ids = sql.among(lanes)
    nodes = [NodeRow(*row) for row in sql.fetch(_THESE.format(ids=named), ids)] if lanes else []
    return Table(_rows(nodes, [node for node in listed if node.parent_id is not None]), cut=len(found) > MOST_TASKS)


def _inside(plan_id: str, objective_id: str) -> list[NodeRow]:
    rows = sql.fetch(_INSIDE, [objective_id, plan_id, MOST_TASKS + 2])
    return [node for node in (NodeRow(*row) for row in rows) if node.parent_id is not None]


def _rows(nodes: list[NodeRow], tasks: Iterable[NodeRow]) -> list[Row]:
    counts = _counts([node.id for node in nodes])
    rows = {node.id: Row(node, Counts(counts.get(node.id, {}))) for node in nodes}
    depths: dict[str, int] = {}
    for task in tasks:
        depths[task.id] = min(depths.get(task.parent_id or "", 0) + 1, DEEPEST)
        rows[task.objective_id].tasks.append((depths[task.id], task))
    return [*rows.values()]


def _counts(objective_ids: Collection[str]) -> dict[str, dict[State, int]]:
    """Leaves by state of each of these objectives."""
    found: dict[str, dict[State, int]] = {}
    if objective_ids:
        named, params = sql.among(objective_ids)
        for objective_id, state, count in sql.fetch(_COUNTS.format(ids=named), params):
            found.setdefault(objective_id, {})[State(state)] = count
    return found
