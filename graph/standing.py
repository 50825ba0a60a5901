"""A plan as it stands in the database, read whole for a re-import or an export."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from graph import sql
from graph.plan_types import Clone
from graph.states import SETTLED, State


class StandingNode(NamedTuple):
    """A node with what an import may compare or change. Other nodes are named by full key, as files name them."""

    id: str
    objective_id: str
    full_key: str
    parent: str | None
    title: str
    body: str
    clone: Clone | None
    state: State
    leaf: bool
    held: bool
    pruned: bool
    position: int

    @property
    def settled(self) -> bool:
        return self.state in SETTLED


class StandingEdge(NamedTuple):
    id: str
    dependent: str
    dependency: str
    waived: str | None
    """Why it is waived; None where it is not."""


@dataclass
class Standing:
    """All of a plan."""

    nodes: dict[str, StandingNode]
    """By full key, each container right before all that is below it, siblings by id: as a file has them."""
    edges: list[StandingEdge]
    """By dependent; those that one import made, in the order of its file."""

    @cached_property
    def edges_of(self) -> dict[str, dict[str, StandingEdge]]:
        """The edges of each dependent, by dependency."""
        found: dict[str, dict[str, StandingEdge]] = {}
        for edge in self.edges:
            found.setdefault(edge.dependent, {})[edge.dependency] = edge
        return found


_NODES = """
    SELECT n.id, n.objective_id, n.full_key, parent.full_key, n.title, n.body, n.clone_repo, n.clone_ref,
        n.state, n.leaf, n.held, n.pruned, n.position
    FROM graph_node n LEFT JOIN graph_node parent ON parent.id = n.parent_id
    WHERE n.plan_id = %s ORDER BY n.id"""

_EDGES = """
    SELECT e.id, dependent.full_key, dependency.full_key, e.waived, e.waive_reason
    FROM graph_node dependent JOIN graph_edge e ON e.dependent_id = dependent.id
    JOIN graph_node dependency ON dependency.id = e.dependency_id
    WHERE dependent.plan_id = %s ORDER BY dependent.id, e.id"""


def read_standing(plan_id: str) -> Standing:
    """The plan as it is now; whoever goes on to change it holds its lanes."""
    nodes = {node.full_key: node for node in _nested(_node(row) for row in sql.fetch(_NODES, [plan_id]))}
    edges = [
        StandingEdge(edge_id, dependent, dependency, reason if waived else None)
        for edge_id, dependent, dependency, waived, reason in sql.fetch(_EDGES, [plan_id])
    ]
    return Standing(nodes, edges)


def _node(row: tuple[Any, ...]) -> StandingNode:
    node_id, lane, full_key, parent, title, body, repo, ref, state, leaf, held, pruned, position = row
    clone = Clone(repo, ref) if repo else None
    return StandingNode(
        node_id,
        lane,
        full_key,
        parent,
        title,
        body,
        clone,
        State(state),
        bool(leaf),
        bool(held),
        bool(pruned),
        position,
    )


def _nested(nodes: Iterable[StandingNode]) -> Iterator[StandingNode]:
    """Parents before their children. Ids rise so within one import; the next may have had a clock that was behind."""
    below: dict[str | None, list[StandingNode]] = {}
    for node in nodes:
        below.setdefault(node.parent, []).append(node)
    ahead = below.get(None, [])[::-1]
    while ahead:
        node = ahead.pop()
        yield node
        ahead += reversed(below.get(node.full_key, []))
