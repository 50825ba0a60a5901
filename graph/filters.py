"""Narrowing a list of nodes: one reading of `plan`, `objective` and `q` for the pool, lists, pages and claim."""

import string
from typing import Any, Final
from unicodedata import normalize

from django.db import connection

from graph import ids

_FOLD: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def narrowed(*, plan: str | None = None, objective: str | None = None, q: str | None = None) -> tuple[str, list[Any]]:
    """Conditions on the node `n` (each starts with AND), and their parameters.

    `plan` is an id or a name, `objective` an id. `q` looks in full keys and titles and folds ASCII case alone, so
    that both databases find the same. What is looked for is brought to NFC, as all that is stored.
    """
    where, params = "", []
    if plan is not None:
        where += """ AND n.plan_id = coalesce(
            (SELECT id FROM graph_plan WHERE id = %s), (SELECT id FROM graph_plan WHERE name = %s))"""
        params += [ids.parse(plan) or "", normalize("NFC", plan)]
    if objective is not None:
        where += " AND n.objective_id = %s"
        params.append(ids.parse(objective) or "")
    if q:
        key, folded = holds("n.full_key", q)
        where += f" AND ({key} OR {holds('n.title', q)[0]})"
        params += [folded] * 2
    return where, params


def holds(column: str, q: str) -> tuple[str, str]:
    """The condition that a column's text has `q` in it, whatever the case of ASCII letters, and its parameter."""
    return _holds(column), normalize("NFC", q).translate(_FOLD)


def _holds(column: str) -> str:
    if connection.vendor == "postgresql":
        return f"""strpos(lower({column} COLLATE "C"), %s) > 0"""
    return f"instr(lower({column}), %s) > 0"
