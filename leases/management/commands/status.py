"""`manage.py status [--json]`: counts by state, live and stale claims, and what each stale one needs."""

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand

from graph.fields import iso
from leases.queries import LeaseRow, Status, act, status


class Command(BaseCommand):
    help = "Show how things stand: nodes by state, live and stale claims, and the act that each stale one needs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="the same as GET /api/v1/status/ answers")

    def handle(self, *, json: bool, **_: Any) -> None:
        found = status()
        if json:
            self.stdout.write(_as_json(found))
            return
        for line in _lines(found):
            self.stdout.write(line)


def _as_json(found: Status) -> str:
    return json.dumps(found.brief(), indent=2)


def _lines(found: Status) -> Iterator[str]:
    for title, counts in (("leaves", found.leaves), ("containers", found.containers)):
        yield f"{title:<11}" + "  ".join(f"{state} {number}" for state, number in counts.items())
    yield f"live claims: {len(found.live)}"
    yield from (f"  {_claim(lease, found.now)}" for lease in found.live)
    yield f"stale claims: {len(found.stale)}"
    for lease in found.stale:
        yield f"  {_claim(lease, found.now)}"
        yield f"    {act(lease)['command']}"


def _claim(lease: LeaseRow, now: int) -> str:
    left = (lease.expires_at - now) / 1e6
    ends = f"expires {iso(lease.expires_at)}, in {left:.0f} s" if left > 0 else f"expired {iso(lease.expires_at)}"
    age = (now - lease.acquired_at) / 1e6
    return f"{lease.plan_name} {lease.full_key}  held by {lease.holder}  fence {lease.fence}  {ends}  age {age:.0f} s"
