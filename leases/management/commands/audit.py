"""`manage.py audit [--json]`: hold the promises against the tables. Exit 1 if any is broken."""

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand

from leases.audit import audit


class Command(BaseCommand):
    help = "Check what always holds, on a live database; print each violation with its rows."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *, as_json: bool, **_: Any) -> None:
        found = audit()
        if as_json:
            self.stdout.write(json.dumps([asdict(each) for each in found], indent=2, default=str))
        else:
            for each in found:
                self.stdout.write(f"promise {each.promise}: {each.sentence}")
                for row in each.rows:
                    self.stdout.write("  " + ", ".join(f"{name}={value}" for name, value in row.items()))
            self.stdout.write(f"{len(found)} violations" if found else "audit: clean")
        if found:
            sys.exit(1)
