"""`manage.py revoke_token NAME`: the token gives no right from now on."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from graph.errors import Refusal
from leases.tokens import revoke_token


class Command(BaseCommand):
    help = "End a token at once. Leases that it holds run out and become stale."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")

    def handle(self, *, name: str, **_: Any) -> None:
        try:
            token = revoke_token(name=name)
        except Refusal as refusal:
            raise CommandError(refusal.detail) from None
        self.stderr.write(f"The token {token.name!r} is revoked.")
