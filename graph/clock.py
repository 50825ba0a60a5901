"""The one clock that time is judged by: the database host's. Instants are microseconds since 1970 UTC."""

import time
from typing import Final

from django.db import connection

from graph import sql

HORIZON_CLASS: Final = 0x7473
"""Upper 16 bits of the advisory locks below: tells them from any other program's on the same database."""

INSTANT: Final = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
"""The reading itself, on PostgreSQL; `judged` is owed to whoever reads it."""

_CLOCK: Final = f"SELECT {INSTANT}"
# The lock says: a transaction is under way whose events will come after this number.
_CLOCK_AND_HORIZON: Final = f"""
    SELECT {INSTANT},
        pg_advisory_xact_lock_shared(({HORIZON_CLASS}::bigint << 48) + last_value - (NOT is_called)::int)
    FROM graph_event_seq_seq"""


def judged(micros: int) -> int:
    """What every service goes by. Tests put another clock here."""
    return micros


def read() -> int:
    """Now, for those who only look."""
    if connection.vendor == "postgresql":
        return judged(int(sql.fetch(_CLOCK)[0][0]))
    return judged(time.time_ns() // 1000)


def read_and_mark() -> int:
    """Now, for a transaction that holds its lanes and is about to append events.

    PostgreSQL draws an event's number before the commit, so a reader that follows the numbers could step over
    one that is still in flight. The mark tells it where to stop (`graph.feed`). SQLite has one writer at a time.
    """
    if connection.vendor == "postgresql":
        return judged(int(sql.fetch(_CLOCK_AND_HORIZON)[0][0]))
    return judged(time.time_ns() // 1000)
