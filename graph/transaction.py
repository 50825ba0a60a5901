"""Entry services: the only places where a transaction begins.

A verb decorated with `entry` runs in one durable transaction. What it calls runs inside and says so with
`required()`. A refusal undoes everything, except that one with `keeps_marks` lets what stands commit first.
"""

import functools
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, ParamSpec, TypeVar

from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connection
from django.db.transaction import Atomic, TransactionManagementError

from graph.errors import Busy, Refusal

P = ParamSpec("P")
R = TypeVar("R")

TRIES: Final = 8
"""Of a transaction that the database itself undoes."""
PATIENCE_S: Final = 20.0
"""Seconds that a service runs again where a rival was ahead: each time one of them got on, so it is no fault."""
_PASSING: Final = frozenset({"40P01", "40001"})
"""PostgreSQL's deadlock and serialization failure: rolled back for certain, safe to run again."""


class Again(Exception):
    """The ground moved between reading what to lock and holding it: roll back and run the service again."""


class LostRace(RuntimeError):
    """A row was not as the lane's holder had read it: somebody writes without holding the lane."""


class _Entry(Atomic):
    """The transaction of one entry service, told apart from any other atomic block."""


class _Rehearsal(_Entry):
    """One that is rolled back, whatever comes of it."""


def inside() -> bool:
    return any(isinstance(block, _Entry) for block in connection.atomic_blocks)


def rehearsing() -> bool:
    """Whether all that is written now is undone: no number may be drawn that others would find missing."""
    return any(isinstance(block, _Rehearsal) for block in connection.atomic_blocks)


def required() -> None:
    """Inner functions call this: outside an entry service their locks would hold nothing."""
    if not inside():
        raise TransactionManagementError("this runs inside an entry service only")


def expect(changed: int, wanted: int, what: str) -> None:
    """Compare and set: the row count says whether the state that was judged still stood. Raises LostRace."""
    if changed != wanted:
        raise LostRace(f"{changed} {what} changed where {wanted} should have")


def entry(service: Callable[P, R]) -> Callable[P, R]:
    """Make `service` an entry service. Inside another one it joins that transaction.

    Raises Busy where the database stays locked or cannot be reached. A commit whose answer was lost is
    Busy too, and may have happened: only a retry with an Idempotency-Key can tell.
    """

    @functools.wraps(service)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        if inside():
            return service(*args, **kwargs)
        return _tried(lambda: _once(lambda: service(*args, **kwargs)))

    return run


def rehearse(service: Callable[[], R]) -> R:
    """What an entry service would answer now: it runs as it is, in a transaction of its own that is rolled back.

    Its locks are those of the real one and end with this call. No event is appended: numbers that PostgreSQL has
    drawn stay drawn, and a reader that follows them would take the gap for a change. Raises what the service raises.
    """
    if inside():
        raise TransactionManagementError("a rehearsal is a transaction of its own")
    return _tried(lambda: _undone(service))


def _tried(once: Callable[[], R]) -> R:
    """Run it again for as long as only the ground moved. Raises Busy."""
    undone, until = 0, time.monotonic() + PATIENCE_S
    while undone < TRIES and time.monotonic() < until:
        try:
            return once()
        except Again:
            pass
        except (OperationalError, InterfaceError) as error:
            if getattr(error.__cause__, "sqlstate", None) not in _PASSING:
                raise Busy() from error
            undone += 1
        time.sleep(random.uniform(0, 0.004) * (1 << undone))
    raise Busy()


def _undone(service: Callable[[], R]) -> R:
    with _Rehearsal(DEFAULT_DB_ALIAS, savepoint=True, durable=True):
        answer = service()
        connection.set_rollback(True)
    return answer


def _once(service: Callable[[], R]) -> R:
    with _Entry(DEFAULT_DB_ALIAS, savepoint=True, durable=True):
        try:
            return service()
        except Refusal as refusal:
            if not refusal.keeps_marks:
                raise
            kept = refusal
    raise kept


@contextmanager
def snapshot() -> Iterator[None]:
    """Everything read inside shows one moment; it waits for no writer and holds none up. Nothing may be written.

    Inside a transaction that is under way it is that transaction's view.
    """
    if connection.in_atomic_block:
        yield
        return
    postgresql = connection.vendor == "postgresql"
    begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" if postgresql else "BEGIN DEFERRED"
    with connection.cursor() as cursor:
        cursor.execute(begin)
    try:
        if not postgresql:
            _query_only(True)
        yield
    except BaseException:
        connection.close()  # whatever state it is in, the transaction ends with it
        raise
    with connection.cursor() as cursor:
        cursor.execute("ROLLBACK")
    if not postgresql:
        _query_only(False)


def _query_only(on: bool) -> None:
    """SQLite has no read-only transaction; this refuses writes on the whole connection."""
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA query_only = {int(on)}")
