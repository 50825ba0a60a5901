"""`manage.py list_tokens`: every token there ever was, without its secret, which nobody has."""

from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand

from graph import clock
from graph.fields import from_micros
from leases.models import Token
from leases.tokens import list_tokens


class Command(BaseCommand):
    help = "List the tokens of the API: name, role, when made, and whether they are valid."

    def handle(self, **_: Any) -> None:
        now = from_micros(clock.read())
        lines = [("NAME", "ROLE", "MADE", "STATE")]
        lines += [(token.name, token.role, _day(token.created_at), _state(token, now)) for token in list_tokens()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            self.stdout.write("  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip())


def _day(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M")


def _state(token: Token, now: datetime) -> str:
    if token.revoked_at is not None:
        return f"revoked {_day(token.revoked_at)}"
    if token.expires_at is None:
        return "valid"
    return f"expired {_day(token.expires_at)}" if now >= token.expires_at else f"valid until {_day(token.expires_at)}"
