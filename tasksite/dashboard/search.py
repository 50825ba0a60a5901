"""Search from everywhere: nodes by key and title, plans and workers by name. It folds case as the API's `q` does."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from graph import ids, sql
from graph.filters import holds
from graph.queries import LIST_COLUMNS
from graph.rows import NodeRow
from leases import queries
from leases.queries import NodeFilter

MOST_NODES: Final = 20
MOST_OTHERS: Final = 5
LONGEST: Final = 200
LOOKED_THROUGH: Final = 4_000
"""Leases, the newest, whose holders are looked through."""


class PlanHit(NamedTuple):
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Hits:
    nodes: list[NodeRow]
    more: bool
    plans: list[PlanHit]
    workers: list[str]

    @property
    def none(self) -> bool:
        return not (self.nodes or self.plans or self.workers)


NOTHING: Final = Hits([], False, [], [])

# Whoever types a whole key, or pastes an id, means that very node: both are found by index, in every plan.
_EXACT: Final = f"""
    SELECT {LIST_COLUMNS} FROM graph_node n
    WHERE n.id = %s OR (n.plan_id IN (SELECT id FROM graph_plan) AND n.full_key = %s)
    ORDER BY n.plan_id DESC, n.position LIMIT {MOST_NODES}"""
_PLANS: Final = "SELECT id, name FROM graph_plan p WHERE {holds} ORDER BY imported_at DESC, id DESC LIMIT %s"
_WORKERS: Final = f"""
    SELECT holder FROM (SELECT holder FROM leases_lease ORDER BY id DESC LIMIT {LOOKED_THROUGH}) l
    WHERE {{holds}} GROUP BY holder ORDER BY holder LIMIT %s"""


def find(q: str) -> Hits:
    """Exact keys in front, then the nodes whose key begins so, then the order of the pool."""
    exact = [NodeRow(*row) for row in sql.fetch(_EXACT, [ids.parse(q) or "", q])]
    rows = [NodeRow(*row) for row in queries.nodes(NodeFilter(q=q), limit=MOST_NODES + 1)]
    known = {node.id for node in exact}
    rest = sorted((node for node in rows if node.id not in known), key=lambda node: not _begins(node, q))
    nodes = exact + rest
    return Hits(
        nodes[:MOST_NODES],
        len(nodes) > MOST_NODES,
        [PlanHit(*row) for row in _named(_PLANS, "p.name", q)],
        [str(row[0]) for row in _named(_WORKERS, "l.holder", q)],
    )


def _begins(node: NodeRow, q: str) -> bool:
    return node.key.lower().startswith(q.lower()) or node.full_key.lower().startswith(q.lower())


def _named(statement: str, column: str, q: str) -> list[tuple[str, ...]]:
    condition, folded = holds(column, q)
    return sql.fetch(statement.format(holds=condition), [folded, MOST_OTHERS])
