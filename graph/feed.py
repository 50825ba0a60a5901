"""Reading events in order, by readers that come again: nothing is missed and nothing seen twice.

PostgreSQL draws an event's number before its transaction commits, so the highest numbers may stand above some that
are still in flight. Each writer marks, by an advisory lock that ends with its transaction, a number below all that it
will draw (`clock.read_and_mark`). A reader stops at the lowest mark; it looks at the counter first, at the marks
next, and reads rows only then, in statements of their own. A writer whose mark it did not see draws above the counter.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from django.db import connection

from graph import sql
from graph.clock import HORIZON_CLASS
from graph.fields import iso

_DRAWN: Final = "SELECT last_value - (NOT is_called)::int FROM graph_event_seq_seq"
# A reader inside a writing transaction sees its own events: its own marks do not stop it.
_LOWEST_MARK: Final = f"""
    SELECT min(((classid::bigint & 65535) << 32) | objid::bigint) FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1 AND classid::bigint >> 16 = {HORIZON_CLASS} AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND pid IS DISTINCT FROM pg_backend_pid()"""
_LAST: Final = "SELECT max(seq) FROM graph_event"

COLUMNS: Final = ("plan", "objective", "node", "lease", "run", "attempt")
_PAGE: Final = f"""
    SELECT seq, type, at, actor, {", ".join(COLUMNS)}, reason, data FROM graph_event
    WHERE seq > %s AND seq <= %s{{where}} ORDER BY seq LIMIT %s"""


class EventRow(NamedTuple):
    """One event as it is stored; `at` in microseconds, ids '' where there is none, `data` as JSON text."""

    seq: int
    type: str
    at: int
    actor: str
    plan: str
    objective: str
    node: str
    lease: str
    run: str
    attempt: str
    reason: str
    data: str

    def brief(self) -> dict[str, Any]:
        """The event as every answer shows it (contract, section 6)."""
        ids = {name: getattr(self, name) or None for name in COLUMNS}
        return {
            "seq": self.seq, "type": self.type, "at": iso(self.at), "actor": self.actor,
            **ids, "reason": self.reason, "data": json.loads(self.data),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Page:
    """Events after a cursor. `cursor` is where to go on; `more` says that some are there already."""

    events: Sequence[EventRow]
    cursor: int
    more: bool


def horizon() -> int:
    """The highest number such that every event up to it is committed, or never will be."""
    if connection.vendor != "postgresql":
        return int(sql.fetch(_LAST)[0][0] or 0)  # one writer at a time: numbers commit in order
    drawn = int(sql.fetch(_DRAWN)[0][0])
    mark = sql.fetch(_LOWEST_MARK)[0][0]
    return drawn if mark is None else min(drawn, int(mark))


def page(*, after: int = 0, limit: int, **only: str | None) -> Page:
    """Events with numbers above `after`, oldest first; `only` narrows by type, plan or node."""
    wanted = {column: value for column, value in only.items() if value is not None}
    bound = horizon()
    if bound <= after:
        return Page((), after, more=False)
    rows = _rows(wanted, after, bound, limit + 1)
    if len(rows) > limit:
        return Page(rows[:limit], rows[limit - 1].seq, more=True)
    return Page(rows, bound, more=False)


def latest(*, limit: int, **only: str | None) -> Sequence[EventRow]:
    """The last events there are, newest first, for those who look once."""
    wanted = {column: value for column, value in only.items() if value is not None}
    where, params = _where(wanted)
    statement = _PAGE.format(where=where).replace("ORDER BY seq", "ORDER BY seq DESC")
    return [EventRow(*row) for row in sql.fetch(statement, [0, horizon(), *params, limit])]


def _rows(wanted: Mapping[str, str], after: int, bound: int, limit: int) -> Sequence[EventRow]:
    where, params = _where(wanted)
    return [EventRow(*row) for row in sql.fetch(_PAGE.format(where=where), [after, bound, *params, limit])]


def _where(wanted: Mapping[str, str]) -> tuple[str, list[str]]:
    unknown = wanted.keys() - {"type", "plan", "node"}
    if unknown:
        raise TypeError(f"events are not narrowed by {', '.join(sorted(unknown))}")
    return "".join(f" AND {column} = %s" for column in wanted), [*wanted.values()]
