"""`manage.py create_token NAME --role worker|lead [--days N]`: the token, alone, on standard output."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from graph.errors import Refusal
from leases.models import Role
from leases.tokens import create_token


class Command(BaseCommand):
    help = "Make a token for the API and print it. It is shown this once: only its hash is kept."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the default holder of what is claimed with it")
        parser.add_argument("--role", required=True, choices=[role.value for role in Role])
        parser.add_argument("--days", type=int, help="its life; without end where it is not given")

    def handle(self, *, name: str, role: str, days: int | None, **_: Any) -> None:
        try:
            _token, secret = create_token(name=name, role=role, days=days)
        except Refusal as refusal:
            raise CommandError(refusal.detail) from None
        self.stdout.write(secret)
