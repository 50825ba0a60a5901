"""Import of a plan file from the operator's shell."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from graph.actors import operator
from graph.errors import Refusal
from graph.importing import read_file
from graph.plan_faults import Fault
from graph.plan_file import Format, guess_format
from graph.progress import UNSEEN, Progress, Row
from graph.reporting import lines
from leases.acts import import_plan


class Bars(Progress):
    """A bar for each part of a long import, on standard error, gone when the part is done."""

    DELAY_S = 0.5
    """What takes less than this shows none."""

    def over(
        self, rows: Iterable[Row], what: str, total: int, place: Callable[[Row], int] | None = None
    ) -> Iterator[Row]:
        with tqdm(total=total, desc=what, leave=False, file=sys.stderr, delay=self.DELAY_S) as bar:
            for row in rows:
                yield row
                bar.update(1 if place is None else place(row) - bar.n)


class Command(BaseCommand):
    help = "Import a plan file, or bring a plan to what its file says. Exit status: 0 done, 1 refused, 2 wrong usage."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="YAML, or JSON if its name ends so; - is standard input")
        parser.add_argument("--dry-run", action="store_true", help="print what would change and write nothing")
        parser.add_argument("--prune", action="store_true", help="cancel what the file no longer has")
        parser.add_argument("--json", action="store_true", help="print the answer, or the refusal, as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        data = _read(options["file"])
        progress = Bars() if sys.stderr.isatty() and not options["json"] else UNSEEN
        try:
            prune = options["prune"]
            plan = read_file(data, _format(options["file"], data), prune=prune, progress=progress)
            result = import_plan(
                plan=plan, caller=operator(), dry_run=options["dry_run"], prune=prune, progress=progress
            )
        except Refusal as refusal:
            for line in _refusal(refusal, as_json=options["json"]):
                self.stderr.write(line)
            raise SystemExit(1) from None
        if options["json"]:
            self.stdout.write(json.dumps(result.brief(), ensure_ascii=False))
            return
        for warning in result.difference.warnings:
            self.stderr.write(f"warning: {warning}")
        for line in lines(result):
            self.stdout.write(line)


def _read(name: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}", returncode=2) from None


def _format(name: str, data: bytes) -> Format:
    if name == "-":
        return guess_format(data)
    return Format.JSON if name.lower().endswith(".json") else Format.YAML


def _refusal(refusal: Refusal, *, as_json: bool) -> list[str]:
    """What standard error says: one line for each fault, or all as JSON."""
    if as_json:
        return [json.dumps({"code": refusal.code, "detail": refusal.detail, **refusal.fields}, ensure_ascii=False)]
    faults = [str(Fault(**fault)) for fault in refusal.fields.get("faults", ())]
    nodes = [f"{node['full_key']} {node['why']} [{refusal.code}]" for node in refusal.fields.get("nodes", ())]
    return faults or nodes or [f"{refusal.detail} [{refusal.code}]"]
