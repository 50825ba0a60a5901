"""`manage.py serve`: web server and job cluster, up and down together."""

import argparse
import sys
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection, connections
from django.db.migrations.executor import MigrationExecutor

from leases.recover import recover_all
from tasksite import listening
from tasksite.serving import Spec, Supervisor


def _number(least: int, most: int) -> Any:
    def read(text: str) -> int:
        if not (text.isdigit() and least <= int(text) <= most):
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} to {most}")
        return int(text)

    return read


class Command(BaseCommand):
    help = "Runs the web server and the job cluster under one parent until SIGTERM or Ctrl-C."
    requires_system_checks: list[str] = []  # noqa: RUF012  # run below, with those that ask the database

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen at (%(default)s)")
        parser.add_argument(
            "--port", type=_number(0, 65535), default=8000, help="port to listen at; 0 finds one (%(default)s)"
        )
        parser.add_argument(
            "--web-processes",
            type=_number(1, 64),
            default=settings.WEB_PROCESSES,
            help="web processes (the setting WEB_PROCESSES: %(default)s)",
        )
        parser.add_argument("--migrate", action="store_true", help="bring the database up to date first")

    def handle(self, *, host: str, port: int, web_processes: int, migrate: bool, **options: Any) -> None:
        try:
            with listening.held(host, port) as (address, found):
                self._prepare(migrate)
                code = self._run(address, found, web_processes)
        except listening.AddressTaken as error:
            raise CommandError(str(error)) from error
        sys.exit(code)

    def _prepare(self, migrate: bool) -> None:
        """The database is as the code needs it, and nothing is stale."""
        if migrate:
            call_command("migrate", interactive=False, verbosity=0)
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            raise CommandError("The database is not up to date: give --migrate, or run manage.py migrate first.")
        self.check(databases=["default"])
        recovery = recover_all(actor="startup recovery")
        for claim in recovery.recovered:
            self.stdout.write(f"Recovered {claim.full_key} from {claim.holder} (fence {claim.fence}).")
        for claim, why in recovery.failed:
            self.stderr.write(f"Could not recover {claim.full_key} from {claim.holder}: {why}")
        connections.close_all()

    def _run(self, address: str, port: int, web_processes: int) -> int:
        where = listening.url(address, port)
        web = Spec(
            "web server",
            ["web", address, str(port), str(web_processes), str(settings.WEB_THREADS + settings.WATCHERS)],
            ready=lambda: listening.answers(address, port),
        )
        jobs = Spec("job cluster", ["jobs"])

        def announce() -> None:
            self.stdout.write(f"tasksite is ready at {where} (Ctrl-C stops it)")
            self.stdout.flush()

        return Supervisor([web, jobs], announce).run()
