"""Checked at every start of the server: the database is set as the settings say.

Options in the wrong place are ignored without a word, and a lock error shows only under load.
"""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

SYNCHRONOUS = {"NORMAL": 1, "FULL": 2}


@register(Tags.database)
def database_is_set(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    found: list[CheckMessage] = []
    for alias in databases or []:
        connection = connections[alias]
        found += _sqlite(connection) if connection.vendor == "sqlite" else _postgresql(connection)
    return found


def _sqlite(connection: BaseDatabaseWrapper) -> list[CheckMessage]:
    expected = {
        "journal_mode": "wal",
        "synchronous": SYNCHRONOUS[settings.SQLITE_SYNCHRONOUS],
        "busy_timeout": settings.LOCK_TIMEOUT_S * 1000,
        "foreign_keys": 1,
    }
    found: list[CheckMessage] = []
    with connection.cursor() as cursor:
        for pragma, value in expected.items():
            cursor.execute(f"PRAGMA {pragma}")
            actual = cursor.fetchone()[0]
            if actual != value:
                found.append(_error(f"SQLite's {pragma} is {actual!r} and must be {value!r}", "E001"))
    if getattr(connection, "transaction_mode", None) != "IMMEDIATE":
        found.append(_error("SQLite's transactions must begin IMMEDIATE", "E002"))
    return found


def _postgresql(connection: BaseDatabaseWrapper) -> list[CheckMessage]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('transaction_isolation'), current_setting('server_encoding')")
        isolation, encoding = cursor.fetchone()
    found: list[CheckMessage] = []
    if isolation != "read committed":
        found.append(_error(f"PostgreSQL's default isolation is {isolation} and must be read committed", "E003"))
    if encoding != "UTF8":
        found.append(_error(f"PostgreSQL's database is encoded in {encoding} and must be in UTF8", "E004"))
    return found


def _error(message: str, number: str) -> Error:
    return Error(message + ".", id=f"tasksite.{number}")
