"""What may start: the one readiness rule (`sql.unmet`) put to work.

`pending` and satisfied becomes `ready`, `ready` and not satisfied becomes `pending`; for every node that a change
can reach and for no other, in the transaction of that change. Only `graph.transitions` calls `flip`.
"""

from collections.abc import Collection
from typing import NamedTuple

from graph import sql, transaction


class Flipped(NamedTuple):
    """A node that changed sides, and the side it is on now."""

    id: str
    state: str
    leaf: bool
    plan_id: str
    objective_id: str
    position: int


def _flip(roots: str, params: list[str]) -> list[Flipped]:
    transaction.required()
    flipped = [Flipped(*row) for row in sql.fetch(sql.flip(roots), params)]
    return sorted(flipped, key=lambda node: (node.plan_id, node.position))


def flip(node_ids: Collection[str]) -> list[Flipped]:
    """Promote and demote these nodes and what is below them, in pool order."""
    if not node_ids:
        return []
    named, params = sql.among(node_ids)
    return _flip(f"SELECT id FROM graph_node WHERE id IN ({named})", params)


def flip_dependents(node_ids: Collection[str]) -> list[Flipped]:
    """The same for all that needs one of these nodes."""
    if not node_ids:
        return []
    named, params = sql.among(node_ids)
    return _flip(f"SELECT DISTINCT dependent_id FROM graph_edge WHERE dependency_id IN ({named})", params)


def flip_plan(plan_id: str) -> list[Flipped]:
    """The same for a whole plan, as an import needs it."""
    return _flip("SELECT id FROM graph_node WHERE plan_id = %s AND parent_id IS NULL", [plan_id])


WAITING_ON = """
    SELECT need.dependent_id, need.id, needed.id, needed.full_key, needed.title, needed.state
    FROM graph_edge need JOIN graph_node needed ON needed.id = need.dependency_id
    WHERE need.dependent_id IN ({ids}) AND NOT need.waived AND needed.state NOT IN ('done', 'partial')
    ORDER BY needed.position"""


class Wait(NamedTuple):
    """One unsatisfied edge."""

    dependent_id: str
    edge_id: str
    id: str
    full_key: str
    title: str
    state: str

    def brief(self) -> dict[str, str]:
        return {"id": self.id, "full_key": self.full_key, "title": self.title, "state": self.state}


def waits(node_ids: Collection[str]) -> list[Wait]:
    """The unsatisfied edges of these nodes' own, in the order of what they wait for."""
    if not node_ids:
        return []
    named, params = sql.among(node_ids)
    return [Wait(*row) for row in sql.fetch(WAITING_ON.format(ids=named), params)]
