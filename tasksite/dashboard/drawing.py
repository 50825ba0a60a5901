"""The graph of a plan as it is drawn: which nodes, where they stand, and what joins them; and in which states they are.

Small plans are drawn whole. Of larger ones the objectives, and what lies in those that the reader opened. Where the
boxes stand follows from the import and from what is open, so that it is worked out once and kept; states are not
part of it.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.core.cache import cache

import tasksite
from graph import queries, sql
from graph.states import State
from tasksite.dashboard.layered import DOWN, PAD, RIGHT, Box, layout

WHOLE: Final = 300
"""Nodes up to which a plan is drawn whole."""
MOST: Final = 5_000
"""Nodes that are drawn."""
MOST_EDGES: Final = 20_000
MOST_INSIDE: Final = 20_000
"""Nodes that are read to find what lies in open containers."""
TITLE: Final = 120
KEPT_S: Final = 600

WAYS: Final = {"right": RIGHT, "down": DOWN}
"""Which of them is drawn depends on the frame, and only its reader knows that."""

LEAF: Final = 0
CLOSED: Final = 1
OPEN: Final = 2

_NUMBER: Final = "SELECT count(*) FROM graph_node WHERE plan_id = %s"
_CONTAINERS: Final = "SELECT id, objective_id FROM graph_node WHERE plan_id = %s AND NOT leaf"
_WAIVED: Final = """
    SELECT max(seq) FROM graph_event WHERE type IN ('edge.waived', 'edge.unwaived') AND plan = %s"""
_NODES: Final = """
    SELECT id, parent_id, full_key, title, leaf FROM graph_node
    WHERE plan_id = %s AND (parent_id IS NULL OR objective_id IN ({lanes})) ORDER BY position LIMIT %s"""
_EDGES: Final = """
    SELECT CASE WHEN n.objective_id IN ({lanes}) THEN n.id ELSE n.objective_id END,
        CASE WHEN d.objective_id IN ({lanes}) THEN d.id ELSE d.objective_id END,
        min(CASE WHEN e.waived THEN 1 ELSE 0 END)
    FROM graph_node n JOIN graph_edge e ON e.dependent_id = n.id JOIN graph_node d ON d.id = e.dependency_id
    WHERE n.plan_id = %s GROUP BY 1, 2 ORDER BY 1, 2 LIMIT %s"""
_STATES: Final = "SELECT id, state FROM graph_node WHERE id IN ({ids})"
_COUNTS: Final = """
    SELECT objective_id, state, count(*) FROM graph_node WHERE plan_id = %s AND leaf GROUP BY objective_id, state"""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is to be drawn: a plan as it was last imported, and the containers that are open in it."""

    plan_id: str
    opened: frozenset[str]
    lanes: tuple[str, ...]
    """Those of the containers."""
    tag: str
    """The same for the same drawing."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """The answer as JSON, and which nodes it draws, in its order."""

    text: bytes
    ids: tuple[str, ...]
    closed: frozenset[str]
    """Objectives among them that are not open."""


def subject(plan_id: str, asked: Iterable[str] | None) -> Subject:
    """`asked` are the ids of the containers to open; None opens all of a small plan. Raises NotFound."""
    plan = queries.plan_row(plan_id)
    if asked is None:
        number = sql.fetch(_NUMBER, [plan_id])[0][0]
        rows = sql.fetch(_CONTAINERS, [plan_id]) if number <= WHOLE else []
    else:
        named, params = sql.among([*asked])
        rows = sql.fetch(f"{_CONTAINERS} AND id IN ({named})", [plan_id, *params]) if params else []
    opened = sorted(row[0] for row in rows)
    waived = sql.fetch(_WAIVED, [plan_id])[0][0] or 0
    said = f"{tasksite.__version__} {plan_id} {plan.imported_at} {waived} {' '.join(opened)}"
    tag = hashlib.sha256(said.encode()).hexdigest()[:32]
    return Subject(plan_id, frozenset(opened), tuple(sorted({row[1] for row in rows})), tag)


def read(about: Subject) -> Drawing:
    key = f"drawing:{about.tag}"
    found: Drawing | None = cache.get(key)
    if found is None:
        found = _drawn(about)
        cache.set(key, found, KEPT_S)
    return found


def states(about: Subject) -> dict[str, Any]:
    """The state of each node that is drawn, by number, and of each closed objective how many of its leaves settled."""
    drawing = read(about)
    order = {state.value: place for place, state in enumerate(State)}
    named, params = sql.among(drawing.ids)
    at = dict(sql.fetch(_STATES.format(ids=named), params)) if drawing.ids else {}
    counts: dict[str, list[int]] = {}
    if drawing.closed:
        for objective_id, state, count in sql.fetch(_COUNTS, [about.plan_id]):
            if objective_id in drawing.closed:
                both = counts.setdefault(objective_id, [0, 0])
                both[0] += count if state in ("done", "partial", "cancelled") else 0
                both[1] += count
    return {
        "tag": about.tag,
        "states": "".join(str(order[at[node_id]]) for node_id in drawing.ids),
        "counts": {str(place): counts[node_id] for place, node_id in enumerate(drawing.ids) if node_id in counts},
    }


Row = tuple[str, str | None, str, str, bool]


def _drawn(about: Subject) -> Drawing:
    lanes = sql.marks(len(about.lanes)) or "NULL"
    rows: list[Row] = sql.fetch(_NODES.format(lanes=lanes), [about.plan_id, *about.lanes, MOST_INSIDE])
    drawn, shows = _chosen(rows, about.opened)
    edges = _joined(
        sql.fetch(_EDGES.format(lanes=lanes), [*about.lanes, *about.lanes, about.plan_id, MOST_EDGES]), drawn, shows
    )
    number = {node_id: place for place, node_id in enumerate(drawn)}
    nodes = []
    for node_id, parent_id, full_key, title, leaf in drawn.values():
        kind = LEAF if leaf else OPEN if node_id in about.opened else CLOSED
        parent = -1 if parent_id is None else number[parent_id]
        nodes.append([node_id, parent, full_key, title[:TITLE], kind])
    tree = [(row[0], row[1]) for row in drawn.values()]
    answer = {
        "tag": about.tag,
        "names": [state.value for state in State],
        "nodes": nodes,
        "places": {name: _places(layout(tree, edges, way).values()) for name, way in WAYS.items()},
        "edges": [[number[needed], number[needs], waived] for (needs, needed), waived in edges.items()],
        "left_off": sum(row[0] not in shows for row in rows),
    }
    closed = {row[0] for row in drawn.values() if row[1] is None and not row[4] and row[0] not in about.opened}
    text = json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()
    return Drawing(text, tuple(drawn), frozenset(closed))


def _places(boxes: Iterable[Box]) -> list[list[int]]:
    """The middle of each box, and how large it is within its edge."""
    return [
        [
            round(each)
            for each in (box.x + box.width / 2, box.y + box.height / 2, box.width - 2 * PAD, box.height - 2 * PAD)
        ]
        for box in boxes
    ]


def _chosen(rows: Sequence[Row], opened: frozenset[str]) -> tuple[dict[str, Row], dict[str, str]]:
    """Which nodes are drawn, and by which of them each node is shown: itself, or the closed container around it."""
    drawn: dict[str, Row] = {}
    shows: dict[str, str] = {}
    for row in rows:
        node_id, parent_id = row[0], row[1]
        if parent_id is not None and (parent_id not in drawn or parent_id not in opened):
            if parent_id in shows:
                shows[node_id] = shows[parent_id]
        elif len(drawn) < MOST:
            drawn[node_id] = row
            shows[node_id] = node_id
    return drawn, shows


def _joined(
    edges: Sequence[tuple[Any, ...]], drawn: dict[str, Row], shows: dict[str, str]
) -> dict[tuple[str, str], int]:
    """Dependent and dependency, as they are drawn, and whether all edges between the two are waived."""
    found: dict[tuple[str, str], int] = {}
    for dependent, dependency, waived in edges:
        ends = (shows.get(dependent, ""), shows.get(dependency, ""))
        if all(ends) and ends[0] != ends[1] and not _around(*ends, drawn) and not _around(*ends[::-1], drawn):
            found[ends] = min(found.get(ends, 1), int(waived))
    return found


def _around(outer: str, inner: str, drawn: dict[str, Row]) -> bool:
    at: str | None = inner
    while at is not None:
        at = drawn[at][1]
        if at == outer:
            return True
    return False
