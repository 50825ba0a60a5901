"""The ready pool: what may start."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from graph import sql
from graph.rows import NodeRow
from graph.states import State
from leases import queries
from leases.queries import NodeFilter

MOST_READY: Final = 40


@dataclass(frozen=True, slots=True)
class Ready:
    """A leaf that may start; `taken_by` is who is at work in its lane, '' where the lane is free."""

    node: NodeRow
    taken_by: str


def pool() -> list[Ready]:
    """The first leaves of the pool, in its order."""
    nodes = [NodeRow(*row) for row in queries.nodes(NodeFilter(state=State.READY, leaf=True), limit=MOST_READY)]
    holders = _holders({node.objective_id for node in nodes})
    return [Ready(node, holders.get(node.objective_id, "")) for node in nodes]


def _holders(objective_ids: Collection[str]) -> dict[str, str]:
    if not objective_ids:
        return {}
    named, params = sql.among(objective_ids)
    return dict(
        sql.fetch(
            f"SELECT objective_id, holder FROM leases_lease WHERE ended_at IS NULL AND objective_id IN ({named})",
            params,
        )
    )
