"""Bearer tokens: 256 random bits, shown once, stored as their SHA-256, found by one indexed query."""

import hashlib
import re
import secrets
from typing import Final, NamedTuple

from django.db import IntegrityError, connection
from django.db.models import QuerySet

from graph import clock, sql
from graph.actors import Caller
from graph.errors import Invalid, NotFound
from graph.fields import from_micros
from graph.ids import new_id
from graph.transaction import entry
from leases.models import Role, Token

PREFIX: Final = "ts_"
NAME_LIMIT: Final = 100
DAYS_LIMIT: Final = 36_500
DAY: Final = 24 * 3600 * 1_000_000
"""Microseconds."""

_SHAPE: Final = re.compile(PREFIX + "[A-Za-z0-9_-]{43}")
_FIND: Final = "SELECT id, name, role, expires_at, revoked_at{clock} FROM leases_token WHERE digest = %s"


class Verified(NamedTuple):
    """The caller behind a token, and the moment (microseconds) at which the token was valid."""

    caller: Caller
    now: int


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def verify(secret: str) -> Verified | None:
    """Who shows this secret, or None where it is unknown, expired or revoked. One statement."""
    if not _SHAPE.fullmatch(secret):
        return None
    # The clock rides along where reading it would be a statement of its own.
    asks_clock = connection.vendor == "postgresql"
    rows = sql.fetch(_FIND.format(clock=f", {clock.INSTANT}" if asks_clock else ""), [digest(secret)])
    if not rows:
        return None
    token_id, name, role, expires_at, revoked_at, *read = rows[0]
    now = clock.judged(int(read[0])) if read else clock.read()
    if revoked_at is not None or (expires_at is not None and now >= expires_at):
        return None
    return Verified(Caller(name=name, role=role, token_id=token_id), now)


def authenticate(secret: str) -> Caller | None:
    """The caller alone."""
    verified = verify(secret)
    return verified.caller if verified else None


@entry
def create_token(*, name: str, role: str, days: int | None = None) -> tuple[Token, str]:
    """A new token and its secret, which nobody can read again. `days` is its life; None is without end.

    Raises Invalid: a name is printable, at most 100 characters, and borne by one token at a time.
    """
    _check(name, role, days)
    secret = PREFIX + secrets.token_urlsafe(32)
    now = clock.read()
    try:
        token = Token.objects.create(
            id=new_id(),
            name=name,
            role=role,
            digest=digest(secret),
            created_at=from_micros(now),
            expires_at=None if days is None else from_micros(now + days * DAY),
        )
    except IntegrityError:
        raise Invalid({"name": [f"there is a token {name!r} already; revoke it first"]}) from None
    return token, secret


@entry
def revoke_token(*, name: str, token_id: str | None = None) -> Token:
    """End the token of this name at once. Its leases give it no right any more, and run out. Raises NotFound.

    With `token_id` it ends that token only, and never one that has got its name since.
    """
    token = Token.objects.select_for_update().filter(name=name, revoked_at__isnull=True).first()
    if token is None or token_id not in (None, token.id):
        raise NotFound(f"There is no token {name!r} that is not revoked.")
    token.revoked_at = from_micros(clock.read())
    token.save(update_fields=["revoked_at"])
    return token


def list_tokens() -> QuerySet[Token]:
    """All tokens there ever were, oldest first."""
    return Token.objects.order_by("created_at", "id")


def _check(name: str, role: str, days: int | None) -> None:
    errors: dict[str, list[str]] = {}
    if not name.strip() or len(name) > NAME_LIMIT or not name.isprintable():
        errors["name"] = [f"must be 1 to {NAME_LIMIT} printable characters"]
    if role not in [*Role]:
        errors["role"] = [f"must be one of {', '.join(Role)}"]
    if days is not None and not 1 <= days <= DAYS_LIMIT:
        errors["days"] = [f"must be from 1 to {DAYS_LIMIT}"]
    if errors:
        raise Invalid(errors)
