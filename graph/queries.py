"""Reads of the graph: plans with their counts, and what a node needs and waits for."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from unicodedata import normalize

from graph import ids, readiness, sql
from graph.errors import NotFound
from graph.fields import iso
from graph.readiness import Wait
from graph.rows import NodeRow
from graph.states import State

MOST_EDGES: Final = 1_000
"""Edges of one node that are listed to each side; more are counted."""

LIST_COLUMNS: Final = sql.columns("n").replace("n.body", "''")
"""A node as lists show it: bodies are long, and lists have no use for them."""


# Plans


@dataclass(frozen=True, slots=True)
class PlanRow:
    """A plan; instants in microseconds, counts by state."""

    id: str
    name: str
    created_at: int
    imported_at: int
    leaves: dict[str, int] = field(default_factory=dict)
    containers: dict[str, int] = field(default_factory=dict)

    def brief(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "created_at": iso(self.created_at),
            "imported_at": iso(self.imported_at),
            "counts": self.leaves,
            "containers": self.containers,
        }


_PLAN: Final = "SELECT id, name, created_at, imported_at FROM graph_plan"
_COUNTS: Final = """
    SELECT plan_id, leaf, state, count(*) FROM graph_node WHERE plan_id IN ({ids}) GROUP BY plan_id, leaf, state"""


def plans(*, after: str = "", limit: int) -> list[PlanRow]:
    """Plans in the order of their ids, each with its counts."""
    return _counted(sql.fetch(f"{_PLAN} WHERE id > %s ORDER BY id LIMIT %s", [after, limit]))


def plan(plan_id: str) -> PlanRow:
    """One plan with its counts. Raises NotFound."""
    return _counted([_found(plan_id)])[0]


def plan_row(plan_id: str) -> PlanRow:
    """The plan without its counts, which cost more than the rest. Raises NotFound."""
    return PlanRow(*_found(plan_id))


def plan_name(plan_id: str) -> str:
    """Its name alone. Raises NotFound."""
    return plan_row(plan_id).name


def _found(plan_id: str) -> tuple[Any, ...]:
    rows = sql.fetch(f"{_PLAN} WHERE id = %s", [plan_id])
    if not rows:
        raise NotFound(f"There is no plan {plan_id}.")
    return rows[0]


def plan_id(name_or_id: str) -> str | None:
    """The id of the plan that is meant, if there is one; an id goes before a name."""
    found, name = ids.parse(name_or_id) or "", normalize("NFC", name_or_id)
    rows = sql.fetch("SELECT id FROM graph_plan WHERE id = %s OR name = %s", [found, name])
    return max((row[0] for row in rows), key=lambda each: each == found, default=None)


def no_counts() -> dict[str, int]:
    """Every state, with nothing in it."""
    return {state.value: 0 for state in State}


def counts() -> tuple[dict[str, int], dict[str, int]]:
    """Leaves and containers by state, over all plans."""
    leaves, containers = no_counts(), no_counts()
    for leaf, state, number in sql.fetch("SELECT leaf, state, count(*) FROM graph_node GROUP BY leaf, state"):
        (leaves if leaf else containers)[state] += number
    return leaves, containers


def _counted(rows: Sequence[tuple[Any, ...]]) -> list[PlanRow]:
    found = [
        PlanRow(id_, name, created_at, imported_at, no_counts(), no_counts())
        for id_, name, created_at, imported_at in rows
    ]
    by_id = {each.id: each for each in found}
    if by_id:
        named, params = sql.among(by_id)
        for plan_id, leaf, state, number in sql.fetch(_COUNTS.format(ids=named), params):
            (by_id[plan_id].leaves if leaf else by_id[plan_id].containers)[state] = number
    return found


# The graph of a plan


class Arrow(NamedTuple):
    """An edge between two nodes of one plan."""

    id: str
    dependent_id: str
    dependency_id: str
    waived: bool

    def brief(self) -> dict[str, Any]:
        return {
            "id": self.id, "dependent": self.dependent_id, "dependency": self.dependency_id, "waived": bool(self.waived)
        }  # fmt: skip


def graph_nodes(plan_id: str, *, after: int = -1, limit: int) -> list[NodeRow]:
    """Nodes of a plan in the order of the walk, from behind a position; without their bodies."""
    rows = sql.fetch(
        f"""SELECT {LIST_COLUMNS} FROM graph_node n
        WHERE n.plan_id = %s AND n.position > %s ORDER BY n.position LIMIT %s""",
        [plan_id, after, limit],
    )
    return [NodeRow(*row) for row in rows]


def graph_edges(plan_id: str, *, first: int, last: int) -> list[Arrow]:
    """The edges whose dependents stand at these positions of the walk, in its order."""
    rows = sql.fetch(
        """SELECT e.id, e.dependent_id, e.dependency_id, e.waived
        FROM graph_node n JOIN graph_edge e ON e.dependent_id = n.id
        WHERE n.plan_id = %s AND n.position BETWEEN %s AND %s ORDER BY n.position, e.id""",
        [plan_id, first, last],
    )
    return [Arrow(*row) for row in rows]


# One node


class Edge(NamedTuple):
    """An edge as seen from one end, with the node at the other."""

    id: str
    waived: bool
    waive_reason: str
    reopened: bool
    node_id: str
    full_key: str
    title: str
    state: str

    def brief(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "waived": bool(self.waived),
            "waive_reason": self.waive_reason,
            "node": {"id": self.node_id, "full_key": self.full_key, "title": self.title, "state": self.state},
        }


_EDGES: Final = """
    SELECT e.id, e.waived, e.waive_reason, e.reopened, n.id, n.full_key, n.title, n.state
    FROM graph_edge e JOIN graph_node n ON n.id = e.{far}_id WHERE e.{near}_id = %s ORDER BY n.position LIMIT %s"""


@dataclass(frozen=True, slots=True)
class Above:
    """An ancestor, and the unsatisfied edges of its own."""

    node: NodeRow
    waiting_on: list[Wait]

    def brief(self) -> dict[str, Any]:
        return {
            "id": self.node.id,
            "full_key": self.node.full_key,
            "title": self.node.title,
            "state": self.node.state,
            "waiting_on": [wait.brief() for wait in self.waiting_on],
        }


def needs(node_id: str) -> list[Edge]:
    """The edges by which this node needs others, at most one more than are listed."""
    return [
        Edge(*row) for row in sql.fetch(_EDGES.format(far="dependency", near="dependent"), [node_id, MOST_EDGES + 1])
    ]


def needed_by(node_id: str) -> list[Edge]:
    """The edges by which others need this node, at most one more than are listed."""
    return [
        Edge(*row) for row in sql.fetch(_EDGES.format(far="dependent", near="dependency"), [node_id, MOST_EDGES + 1])
    ]


def above(chain: Collection[NodeRow]) -> tuple[list[Wait], list[Above]]:
    """Why a node waits: its own unsatisfied edges, and its ancestors, topmost first, with theirs.

    `chain` is the node and its ancestors, as `rows.read_chain` gives them.
    """
    node, *ancestors = chain
    waiting: dict[str, list[Wait]] = {}
    for wait in readiness.waits([each.id for each in chain]):
        waiting.setdefault(wait.dependent_id, []).append(wait)
    return waiting.get(node.id, []), [Above(each, waiting.get(each.id, [])) for each in reversed(ancestors)]


def reopened(node_ids: Collection[str]) -> list[Wait]:
    """Of these nodes' own edges, those whose dependency was reopened after the node had begun, and is not done again.

    A node bears the mark *upstream reopened* for those of its own and of its ancestors.
    """
    named, params = sql.among(node_ids)
    rows = sql.fetch(
        f"""SELECT e.dependent_id, e.id, d.id, d.full_key, d.title, d.state
        FROM graph_edge e JOIN graph_node d ON d.id = e.dependency_id
        WHERE e.dependent_id IN ({named}) AND e.reopened AND NOT e.waived AND d.state NOT IN ('done', 'partial')
        ORDER BY d.position""",
        params,
    )
    return [Wait(*row) for row in rows]


def children(node_id: str, *, limit: int) -> Iterator[NodeRow]:
    """What is directly below a container, in the order of the walk, without bodies."""
    rows = sql.fetch(
        f"SELECT {LIST_COLUMNS} FROM graph_node n WHERE n.parent_id = %s ORDER BY n.position LIMIT %s", [node_id, limit]
    )
    return (NodeRow(*row) for row in rows)


def find_node(plan_name: str, full_key: str) -> str:
    """The id of a node by its plan's name (or id) and its full key. Raises NotFound."""
    rows = sql.fetch(
        "SELECT id FROM graph_node WHERE plan_id = %s AND full_key = %s", [plan_id(plan_name) or "", full_key]
    )
    if not rows:
        raise NotFound(f"There is no node {full_key} in a plan {plan_name}.")
    return str(rows[0][0])


def existing(node_id: str) -> str:
    """The id, if there is such a node. Raises NotFound."""
    if not sql.fetch("SELECT 1 FROM graph_node WHERE id = %s", [node_id]):
        raise NotFound(f"There is no node {node_id}.")
    return node_id
