"""The tokens of the API as leads see them: who may call, until when, and what each holds now."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from django import forms

from graph import sql
from leases.models import Role
from leases.tokens import DAYS_LIMIT, NAME_LIMIT

ROLES: Final = [(role.value, role.value) for role in Role]
MOST: Final = 100
"""Tokens of one page."""


class TokenForm(forms.Form):
    """What a token is made of. Whether it may be is for the service to say."""

    name = forms.CharField(
        max_length=NAME_LIMIT,
        help_text="Of the worker, say; events show it.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    role = forms.ChoiceField(choices=ROLES, initial=Role.WORKER.value)
    days = forms.IntegerField(
        required=False, min_value=1, max_value=DAYS_LIMIT, help_text="Its life; empty is without end."
    )


@dataclass(frozen=True, slots=True)
class TokenRow:
    """Instants in microseconds; `holds` are open claims."""

    id: str
    name: str
    role: str
    created_at: int
    expires_at: int | None
    revoked_at: int | None
    expired: bool
    holds: int

    @property
    def valid(self) -> bool:
        return self.revoked_at is None and not self.expired


_COLUMNS: Final = "SELECT id, name, role, created_at, expires_at, revoked_at FROM leases_token"


def listed(now: int, *, before: str = "") -> tuple[list[TokenRow], str]:
    """The newest first, made before the one of this id; and the id to go on from, '' where these are the last."""
    where, params = ("WHERE id < %s ", [before]) if before else ("", [])
    rows = sql.fetch(f"{_COLUMNS} {where}ORDER BY id DESC LIMIT %s", [*params, MOST + 1])
    shown = _rows(rows[:MOST], now)
    return shown, shown[-1].id if len(rows) > MOST else ""


def found(token_id: str, now: int) -> TokenRow | None:
    rows = _rows(sql.fetch(f"{_COLUMNS} WHERE id = %s", [token_id]), now)
    return rows[0] if rows else None


def _rows(rows: Collection[tuple[Any, ...]], now: int) -> list[TokenRow]:
    holds = _holds([row[0] for row in rows])
    return [
        TokenRow(id_, name, role, created, expires, revoked, expires is not None and now >= expires, holds[id_])
        for id_, name, role, created, expires, revoked in rows
    ]


def _holds(token_ids: Collection[str]) -> Counter[str]:
    """Open claims by token; the lane's lease that moves with a task's is the same claim."""
    if not token_ids:
        return Counter()
    named, params = sql.among(token_ids)
    rows = sql.fetch(
        f"""SELECT token_id, count(*) FROM leases_lease
        WHERE ended_at IS NULL AND moves_with_id IS NULL AND token_id IN ({named}) GROUP BY token_id""",
        params,
    )
    return Counter(dict(rows))
