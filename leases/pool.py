"""The pool as claim-next sees it: ready leaves in order, of lanes that nobody has taken."""

from django.db import connection

from graph import lanes, transaction
from graph import sql as graph_sql
from graph.filters import narrowed
from leases import sql

LOCK = lanes.LOCK + " OF o"


def hold_first_free(*, plan: str | None, objective: str | None, q: str | None) -> str | None:
    """Lock the lane of the first free ready leaf and return the leaf's id, or None where there is none.

    On PostgreSQL lanes that a rival is just claiming are stepped over. Only where nothing else is left, wait for
    one: its holder may be about to settle, not to claim. What was read before the lock is judged again after it.
    """
    transaction.required()
    where, params = narrowed(plan=plan, objective=objective, q=q)
    statement = sql.FIRST_FREE.format(where=where)
    tries = [LOCK + " SKIP LOCKED", LOCK] if connection.vendor == "postgresql" else [""]
    for lock in tries:
        found = graph_sql.fetch(statement + lock, params)
        if found:
            return str(found[0][0])
    return None
