"""The hot path's statements of the graph, in the order in which a claim or a report runs them.

Written by hand because building them through the ORM costs ten times what the database needs for them.
They run unchanged on SQLite and PostgreSQL; the models stay the schema, and a test holds the two together.
"""

import json
from collections.abc import Collection, Sequence
from typing import Any, Final, cast

from django.db import connection

MANY: Final = 1_000
"""Longer lists of values are passed as one parameter where the database limits their number."""


def _cursor() -> Any:
    """A cursor whose statements PostgreSQL keeps prepared.

    Django's own puts the values into the text, which then is a new statement each time. Told to bind them, it would
    for the ORM too, whose integers psycopg then cuts to four bytes where a larger one meets a smaller column.
    A log of queries shows them with their values, which only Django's own cursor knows.
    """
    if connection.vendor != "postgresql" or connection.queries_logged:
        return connection.cursor()
    from django.db.backends.postgresql.base import ServerBindingCursor

    connection.ensure_connection()
    return connection.make_cursor(cast(Any, ServerBindingCursor)(connection.connection))


def fetch(statement: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """All rows of one statement."""
    with _cursor() as cursor:
        cursor.execute(statement, params)
        return list(cursor.fetchall())


def execute(statement: str, params: Sequence[Any] = ()) -> int:
    """Run one statement; the number of rows it changed."""
    with _cursor() as cursor:
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


def chosen(select: str) -> str:
    """`id` is among a few that a SELECT names: as an array PostgreSQL fetches each of them by its index."""
    return f"= ANY (ARRAY({select}))" if connection.vendor == "postgresql" else f"IN ({select})"


def unmet(node: str) -> str:
    """THE readiness rule, for one node's own edges: some edge is neither waived nor satisfied.

    A node is satisfied when this is false for it and for each of its ancestors (contract, section 2). The OFFSET
    keeps PostgreSQL from answering for all nodes at once, by reading both tables whole.
    """
    return f"""EXISTS (
        SELECT 1 FROM graph_edge need JOIN graph_node needed ON needed.id = need.dependency_id
        WHERE need.dependent_id = {node}.id AND NOT need.waived AND needed.state NOT IN ('done', 'partial')
        LIMIT 1 OFFSET 0)"""


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

# Nodes with their ancestors and, where asked, with all below them. Each row carries what is asked of it later: to
# join the table again under a condition makes SQLite read all of it first, for a filter over the join.
_UP: Final = """
    up(id, parent_id, objective_id) AS (
        SELECT id, parent_id, objective_id FROM graph_node WHERE id IN ({ids})
        UNION
        SELECT n.id, n.parent_id, n.objective_id FROM up JOIN graph_node n ON n.id = up.parent_id)"""
_BELOW: Final = """,
    below(id, objective_id) AS (
        SELECT id, objective_id FROM graph_node WHERE id IN ({ids})
        UNION
        SELECT n.id, n.objective_id FROM below JOIN graph_node n ON n.parent_id = below.id)"""


def reach(ids: Collection[str], *, below: bool) -> tuple[str, list[Any]]:
    """The lanes that settling or reopening these nodes may touch: their own and those of all dependents.

    Waived edges count too, so that only an import can ever add to the answer.
    """
    around = _UP + (_BELOW if below else "")
    touched = "SELECT id, objective_id FROM up" + (" UNION SELECT id, objective_id FROM below" if below else "")
    named, params = among(ids)
    lanes = """SELECT objective_id FROM touched
        UNION
        SELECT (SELECT n.objective_id FROM graph_node n WHERE n.id = e.dependent_id)
        FROM touched JOIN graph_edge e ON e.dependency_id = touched.id"""
    statement = f"""
    WITH RECURSIVE {around.format(ids=named)},
    touched(id, objective_id) AS ({touched})
    SELECT o.id FROM graph_node o WHERE o.id {chosen(lanes)} ORDER BY o.id"""
    return statement, params * (2 if below else 1)


# A node (height 0) and its ancestors up to the objective, with all that claim, settle and roll-up ask of each:
# whether its own edges wait, and what the children are that this chain does not pass through.
_BESIDE: Final = """EXISTS (SELECT 1 FROM graph_node beside
        WHERE beside.parent_id = chain.id AND beside.id <> chain.below AND beside.state {states})"""
_COUNTED: Final = ["ever_claimed", "held", "rejections", "stale_ends", "clone_repo", "clone_ref"]
_LINK: Final = [*NODE_COLUMNS, *_COUNTED]
# Each row carries all of its node: joined again afterwards, PostgreSQL would read a small table whole. Bodies are
# long, and only the node's own is asked for.
_ABOVE: Final = ", ".join("''" if name == "body" else f"n.{name}" for name in _LINK)
CHAIN: Final = f"""
    WITH RECURSIVE chain({", ".join(_LINK)}, below, height) AS (
        SELECT {", ".join(_LINK)}, id, 0 FROM graph_node WHERE id = %s
        UNION ALL
        SELECT {_ABOVE}, chain.id, height + 1 FROM chain JOIN graph_node n ON n.id = chain.parent_id)
    SELECT {", ".join(_LINK)},
        {unmet("chain")},
        {_BESIDE.format(states="IN ('pending', 'ready', 'running', 'blocked')")},
        {_BESIDE.format(states="= 'partial'")},
        {_BESIDE.format(states="IN ('pending', 'ready', 'running', 'blocked', 'done', 'partial')")}
    FROM chain ORDER BY height"""


def flip(roots: str) -> str:
    """Promote and demote below `roots` (a SELECT of ids): whatever disagrees with the readiness rule changes sides.

    `down` walks from each root to the leaves and carries whether everything so far is satisfied.
    """
    turned = """SELECT id FROM down
        WHERE (state = 'pending' AND satisfied) OR (state = 'ready' AND NOT satisfied)"""
    return f"""
    WITH RECURSIVE root(id) AS ({roots}),
    up(root, id, parent_id) AS (
        SELECT n.id, n.id, n.parent_id FROM root JOIN graph_node n ON n.id = root.id
        UNION
        SELECT up.root, n.id, n.parent_id FROM up JOIN graph_node n ON n.id = up.parent_id),
    shut(root) AS (SELECT DISTINCT root FROM up WHERE {unmet("up")}),
    down(id, state, satisfied) AS (
        SELECT n.id, n.state, shut.root IS NULL
        FROM root JOIN graph_node n ON n.id = root.id LEFT JOIN shut ON shut.root = root.id
        UNION
        SELECT n.id, n.state, down.satisfied AND NOT {unmet("n")}
        FROM down JOIN graph_node n ON n.parent_id = down.id)
    UPDATE graph_node SET state = CASE state WHEN 'pending' THEN 'ready' ELSE 'pending' END
    WHERE id {chosen(turned)}
    RETURNING id, state, leaf, plan_id, objective_id, position"""
