"""`manage.py abandon PLAN KEY --reason TEXT`."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from graph.errors import Refusal
from leases import operators
from leases.recover import abandon


class Command(BaseCommand):
    help = "End the open claim of a node, live or stale."

    def add_arguments(self, parser: ArgumentParser) -> None:
        operators.add_node(parser)

    def handle(self, *, plan: str, key: str, reason: str, **_: Any) -> None:
        node_id = operators.find(plan, key)
        try:
            edited = abandon(node_id=node_id, caller=operators.operator(), reason=reason)
        except Refusal as refusal:
            raise CommandError(f"{refusal.code}: {refusal.detail}") from refusal
        self.stdout.write(operators.told(edited))
