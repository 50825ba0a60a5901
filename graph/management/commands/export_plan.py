"""A plan as a plan file, on standard output."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from graph.errors import NotFound
from graph.exporting import export_plan, to_yaml


class Command(BaseCommand):
    help = "Print a plan as a plan file (YAML). What is cancelled is left out, with a warning for each edge to it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("plan", metavar="PLAN", help="name of the plan")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            plan = export_plan(options["plan"])
        except NotFound as refusal:
            raise CommandError(refusal.detail) from None
        for warning in plan.warnings:
            self.stderr.write(f"warning: {warning}")
        self.stdout.write(to_yaml(plan), ending="")
