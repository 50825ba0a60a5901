"""`manage.py recover [--dry-run]`: abandon every claim that is stale now, and leave live ones alone."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from leases.recover import recover_all


class Command(BaseCommand):
    help = "End the claims whose leases expired, so that their tasks can be claimed again. Exit 1 where one could not."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only say which")

    def handle(self, *, dry_run: bool, **_: Any) -> None:
        recovery = recover_all(actor="recovery", dry_run=dry_run)
        for claim in recovery.recovered:
            word = "Would recover" if dry_run else "Recovered"
            self.stdout.write(f"{word} {claim.full_key} from {claim.holder} (fence {claim.fence}).")
        for claim, why in recovery.failed:
            self.stderr.write(f"Could not recover {claim.full_key} from {claim.holder}: {why}")
        if not recovery.recovered and not recovery.failed:
            self.stdout.write("Nothing is stale.")
        if recovery.failed:
            sys.exit(1)
