"""What a database would do for a statement, and whether it reads a whole table for it."""

import re
from collections.abc import Sequence

from django.db import connection

BIG = ("graph_node", "graph_edge", "graph_event", "leases_lease", "leases_run", "leases_attempt")

_PLANNED = re.compile(r"\s*(SELECT|WITH|UPDATE|INSERT|DELETE)\b")
_POSTGRESQL = re.compile(r"Seq Scan on (\w+)")
_SQLITE = re.compile(r"^SCAN (\w+)(?! USING)(?:$| VIRTUAL)")


def whole_reads(statements: Sequence[str]) -> list[str]:
    """Each statement that reads a big table without an index, with its plan."""
    found = []
    for statement in statements:
        if not _PLANNED.match(statement):
            continue
        lines = explain(statement)
        if any(reads_whole(line, statement) for line in lines):
            found.append(statement + "\n" + "\n".join(lines))
    return found


def explain(statement: str) -> list[str]:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("EXPLAIN " + statement.replace("%", "%%"), [])
            return [row[0] for row in cursor.fetchall()]
        cursor.execute("EXPLAIN QUERY PLAN " + statement.replace("%", "%%"), [])
        return [row[3] for row in cursor.fetchall()]


def reads_whole(line: str, statement: str) -> bool:
    if connection.vendor == "postgresql":
        found = _POSTGRESQL.search(line)
        return found is not None and found[1] in BIG
    if line.startswith("BLOOM FILTER ON"):  # filled by reading the whole table
        return _table(line.split()[3], statement) in BIG
    scanned = _SQLITE.match(line)
    return scanned is not None and _table(scanned[1], statement) in BIG


def _table(alias: str, statement: str) -> str:
    """SQLite's plan names aliases: the table that the statement gives this one to."""
    named = re.search(rf"(?:FROM|JOIN|,)\s+(\w+)\s+(?:AS\s+)?{alias}\b", statement)
    return named[1] if named and alias not in BIG else alias
