"""The first answer to a keyed request, kept so that a retry gets it again and changes nothing.

One transaction holds all of it: the key is taken, the work is done, the answer is stored. A rival with the same
key waits for that transaction and then reads the answer; a refusal undoes the taking with all else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from graph import clock, sql
from graph.actors import Caller
from graph.errors import Refusal
from graph.transaction import Again, entry
from leases.errors import IdempotencyMismatch

KEPT: Final = 24 * 3600 * 1_000_000
"""Microseconds."""

NO_CONTENT: Final = 204

# Take the key, unless an answer that is still kept stands under it. PostgreSQL waits here for a rival's end.
TAKE: Final = f"""
    INSERT INTO leases_answer (token_id, key, fingerprint, status, body, created_at)
    VALUES (%s, %s, %s, NULL, '', %s)
    ON CONFLICT (token_id, key) DO UPDATE
    SET fingerprint = excluded.fingerprint, status = NULL, body = '', created_at = excluded.created_at
    WHERE leases_answer.created_at <= excluded.created_at - {KEPT}
    RETURNING id"""
FIND: Final = "SELECT fingerprint, status, body FROM leases_answer WHERE token_id = %s AND key = %s"
STORE: Final = "UPDATE leases_answer SET status = %s, body = %s WHERE id = %s"
DROP: Final = "DELETE FROM leases_answer WHERE id = %s"


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """A status and the text of a body; `replayed` when it was made for an earlier request."""

    status: int
    body: str
    replayed: bool = False


@entry
def once(*, caller: Caller, key: str, fingerprint: str, now: int, work: Callable[[], tuple[int, str]]) -> StoredAnswer:
    """Do `work` for this key, or give the answer it had. `work` calls services, which join this transaction.

    `now` (microseconds) dates the answer; nothing but its keeping for 24 hours goes by it.
    Raises IdempotencyMismatch, and whatever refusal the work raises.
    """
    taken = sql.fetch(TAKE, [caller.token_id, key, fingerprint, now])
    if not taken:
        return _found(caller, key, fingerprint)
    answer_id = taken[0][0]
    try:
        status, body = work()
    except Refusal as refusal:
        if refusal.keeps_marks:
            sql.execute(DROP, [answer_id])  # the expiry marks are committed, the key stays free
        raise
    if status == NO_CONTENT:
        sql.execute(DROP, [answer_id])
    else:
        sql.execute(STORE, [status, body, answer_id])
    return StoredAnswer(status, body)


def look(*, caller: Caller, key: str, fingerprint: str, now: int) -> StoredAnswer | None:
    """The kept answer, if there is one already: for work that is too long to be done inside the transaction.

    A look only spares the work; `once` decides. Raises IdempotencyMismatch.
    """
    kept = FIND + " AND created_at > %s AND status IS NOT NULL"
    rows = sql.fetch(kept, [caller.token_id, key, now - KEPT])
    return _matching(rows[0], fingerprint) if rows else None


@entry
def purge() -> int:
    """Drop the answers that are kept long enough, for the periodic job; how many there were."""
    return sql.execute("DELETE FROM leases_answer WHERE created_at <= %s", [clock.read() - KEPT])


def _found(caller: Caller, key: str, fingerprint: str) -> StoredAnswer:
    rows = sql.fetch(FIND, [caller.token_id, key])
    if not rows:
        raise Again  # purged between the two statements
    return _matching(rows[0], fingerprint)


def _matching(row: tuple[str, int, str], fingerprint: str) -> StoredAnswer:
    first, status, body = row
    if first != fingerprint:
        raise IdempotencyMismatch()
    return StoredAnswer(status, body, replayed=True)
