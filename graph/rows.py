"""Rows as the hot path reads them."""

from typing import Any, NamedTuple

from graph import sql
from graph.errors import NotFound


class NodeRow(NamedTuple):
    """A node, with the columns of `sql.NODE_COLUMNS`."""

    id: str
    key: str
    full_key: str
    title: str
    body: str
    state: str
    plan_id: str
    objective_id: str
    parent_id: str | None
    leaf: bool
    position: int

    def brief(self) -> dict[str, Any]:
        """What every answer says of a node at least (contract, section 6)."""
        return {
            "id": self.id,
            "key": self.key,
            "full_key": self.full_key,
            "title": self.title,
            "kind": "objective" if self.parent_id is None else "task",
            "state": self.state,
            "plan": self.plan_id,
            "objective": self.objective_id,
            "parent": self.parent_id,
            "leaf": bool(self.leaf),
            "position": self.position,
        }


class Link(NamedTuple):
    """One node of a chain from a node up to its objective, with what the verbs ask of it."""

    node: NodeRow
    ever_claimed: bool
    held: bool
    rejections: int
    stale_ends: int
    clone_repo: str
    clone_ref: str
    unmet: bool
    unsettled_beside: bool
    partial_beside: bool
    lasting_beside: bool


Chain = tuple[Link, ...]
"""The node first, its objective last."""


def read_chain(node_id: str) -> Chain:
    """Raises NotFound where no such node is."""
    width = len(NodeRow._fields)
    chain = tuple(Link(NodeRow(*row[:width]), *row[width:]) for row in sql.fetch(sql.CHAIN, [node_id]))
    if not chain:
        raise NotFound(f"There is no node {node_id}.")
    return chain
