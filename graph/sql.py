"""The hot path's statements of the graph, in the order in which a claim or a report runs them.

Written by hand because building them through the ORM costs ten times what the database needs for them.
They run unchanged on SQLite and PostgreSQL; the models stay the schema, and a test holds the two together.
"""

import json
from collections.abc import Collection, Sequence
from typing import Any, Final

from django.db import connection

MANY: Final = 1_000
"""Longer lists of values are passed as one parameter where the database limits their number."""


def fetch(statement: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """All rows of one statement."""
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return list(cursor.fetchall())


def execute(statement: str, params: Sequence[Any] = ()) -> int:
    """Run one statement; the number of rows it changed."""
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return int(cursor.rowcount)


def marks(count: int) -> str:
    """`count` placeholders: `%s, %s, %s`."""
    return ", ".join(["%s"] * count)


def among(values: Collection[str]) -> tuple[str, list[Any]]:
    """What stands inside `IN (…)` for these values, and its parameters: any number of them.

    SQLite takes 32,766 parameters in a statement, so that a longer list goes in as one JSON text.
    """
    if len(values) <= MANY or connection.vendor == "postgresql":
        return marks(len(values)), [*values]
    return "SELECT value FROM json_each(%s)", [json.dumps([*values])]


def unmet(node: str) -> str:
    """THE readiness rule, for one node's own edges: some edge is neither waived nor satisfied.

    A node is satisfied when this is false for it and for each of its ancestors (contract, section 2).
    """
    return f"""EXISTS (
        SELECT 1 FROM graph_edge need JOIN graph_node needed ON needed.id = need.dependency_id
        WHERE need.dependent_id = {node}.id AND NOT need.waived AND needed.state NOT IN ('done', 'partial'))"""


NODE_COLUMNS: Final = [
    "id",
    "key",
    "full_key",
    "title",
    "body",
    "state",
    "plan_id",
    "objective_id",
    "parent_id",
    "leaf",
    "position",
]
"""Those of rows.NodeRow, in its order."""


def columns(alias: str) -> str:
    return ", ".join(f"{alias}.{name}" for name in NODE_COLUMNS)


# Hold one lane: its objective's row. Compatible with foreign key checks, in conflict with itself.
LOCK_LANE: Final = """
    SELECT id FROM graph_node WHERE id = (SELECT objective_id FROM graph_node WHERE id = %s) FOR NO KEY UPDATE"""

# A node, its ancestors and, where asked, all below it.
_AROUND: Final = """
    up(id) AS (
        SELECT id FROM graph_node WHERE id IN ({ids})
        UNION SELECT n.parent_id FROM up JOIN graph_node n ON n.id = up.id WHERE n.parent_id IS NOT NULL)"""
_BELOW: Final = """,
    below(id) AS (
        SELECT id FROM graph_node WHERE id IN ({ids})
        UNION SELECT n.id FROM below JOIN graph_node n ON n.parent_id = below.id)"""


def reach(ids: Collection[str], *, below: bool) -> tuple[str, list[Any]]:
    """The lanes that settling or reopening these nodes may touch: their own and those of all dependents.

    Waived edges count too, so that only an import can ever add to the answer.
    """
    around = _AROUND + (_BELOW if below else "")
    touched = "SELECT id FROM up" + (" UNION SELECT id FROM below" if below else "")
    named, params = among(ids)
    statement = f"""
    WITH RECURSIVE {around.format(ids=named)},
    touched(id) AS ({touched}),
    lanes(id) AS (
        SELECT n.objective_id FROM touched JOIN graph_node n ON n.id = touched.id
        UNION
        SELECT n.objective_id FROM touched
        JOIN graph_edge e ON e.dependency_id = touched.id JOIN graph_node n ON n.id = e.dependent_id)
    SELECT o.id FROM graph_node o WHERE o.id IN (SELECT id FROM lanes) ORDER BY o.id"""
    return statement, params * (2 if below else 1)


# A node (height 0) and its ancestors up to the objective, with all that claim, settle and roll-up ask of each:
# whether its own edges wait, and what the children are that this chain does not pass through.
_BESIDE: Final = """EXISTS (SELECT 1 FROM graph_node beside
        WHERE beside.parent_id = n.id AND beside.id <> chain.below AND beside.state {states})"""
CHAIN: Final = f"""
    WITH RECURSIVE chain(id, below, height) AS (
        SELECT id, id, 0 FROM graph_node WHERE id = %s
        UNION ALL
        SELECT n.parent_id, n.id, height + 1 FROM chain JOIN graph_node n ON n.id = chain.id
        WHERE n.parent_id IS NOT NULL)
    SELECT {columns("n")},
        n.ever_claimed, n.held, n.rejections, n.stale_ends, n.clone_repo, n.clone_ref,
        {unmet("n")},
        {_BESIDE.format(states="IN ('pending', 'ready', 'running', 'blocked')")},
        {_BESIDE.format(states="= 'partial'")},
        {_BESIDE.format(states="IN ('pending', 'ready', 'running', 'blocked', 'done', 'partial')")}
    FROM chain JOIN graph_node n ON n.id = chain.id ORDER BY chain.height"""


def flip(roots: str) -> str:
    """Promote and demote below `roots` (a SELECT of ids): whatever disagrees with the readiness rule changes sides.

    `down` walks from each root to the leaves and carries whether everything so far is satisfied.
    """
    return f"""
    WITH RECURSIVE root(id) AS ({roots}),
    up(root, id) AS (
        SELECT id, id FROM root
        UNION
        SELECT up.root, n.parent_id FROM up JOIN graph_node n ON n.id = up.id WHERE n.parent_id IS NOT NULL),
    shut(root) AS (SELECT up.root FROM up JOIN graph_node n ON n.id = up.id WHERE {unmet("n")}),
    down(id, satisfied) AS (
        SELECT id, id NOT IN (SELECT root FROM shut) FROM root
        UNION
        SELECT n.id, down.satisfied AND NOT {unmet("n")} FROM down JOIN graph_node n ON n.parent_id = down.id)
    UPDATE graph_node SET state = CASE state WHEN 'pending' THEN 'ready' ELSE 'pending' END
    WHERE id IN (
        SELECT n.id FROM down JOIN graph_node n ON n.id = down.id
        WHERE (n.state = 'pending' AND down.satisfied) OR (n.state = 'ready' AND NOT down.satisfied))
    RETURNING id, state, leaf, plan_id, objective_id, position"""
