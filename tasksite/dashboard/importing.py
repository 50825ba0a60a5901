"""Import from a page: what a file would change is shown first, and what was shown is then written or is told anew."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from graph import reporting
from graph.actors import Caller
from graph.errors import PlanConflict, PlanInvalid, Refusal
from graph.importing import ImportResult, read_file
from leases.acts import import_plan
from tasksite.dashboard import acts
from tasksite.dashboard.excerpts import MOST, Fault, Line, excerpts
from tasksite.dashboard.uploads import Upload

LISTED: Final = 50
"""Lines of each kind that a page shows."""


@dataclass(frozen=True, slots=True)
class Listed:
    """Lines under a title, the first of `count`."""

    title: str
    sign: str
    count: int
    lines: list[str]

    @property
    def left_off(self) -> int:
        return self.count - len(self.lines)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the page says to a file."""

    upload: Upload
    prune: bool
    result: ImportResult | None = None
    moved_on: bool = False
    """It was to be written, and the difference is another by now than the one that was shown."""
    refusal: Refusal | None = None
    faults: list[Fault] = field(default_factory=list)
    """Those without a line."""
    runs: list[list[Line]] = field(default_factory=list)

    @property
    def written(self) -> bool:
        return self.result is not None and not self.result.dry_run

    @property
    def status(self) -> int:
        return 200 if self.refusal is None else acts.status_of(self.refusal)

    @property
    def refused(self) -> str:
        """What a refusal says; of a file with faults they say it themselves."""
        return "" if self.refusal is None else acts.refused(self.refusal)

    @property
    def faults_left_off(self) -> int:
        found = self.refusal.fields["faults"] if isinstance(self.refusal, PlanInvalid) else []
        return max(0, len(found) - MOST)

    @property
    def in_the_way(self) -> list[dict[str, str]]:
        return self.refusal.fields["nodes"][:LISTED] if isinstance(self.refusal, PlanConflict) else []

    @property
    def summary(self) -> str:
        return next(reporting.summary(self.result)) if self.result else ""

    @property
    def groups(self) -> list[Listed]:
        """The difference, kind by kind; what of it makes leaves ready or wait comes last."""
        if self.result is None:
            return []
        found = [
            _listed(each.title, each.sign, each.count, each.lines) for each in reporting.groups(self.result.difference)
        ]
        foretold = self.result.forecast
        found += [
            _listed(title, sign, len(keys), keys)
            for title, sign, keys in (("Becoming ready", "◎", foretold.ready), ("Waiting again", "○", foretold.demoted))
            if keys
        ]
        return found

    @property
    def warnings(self) -> Listed:
        found = self.result.difference.warnings if self.result else []
        return _listed("Warnings", "!", len(found), (str(warning) for warning in found))

    @property
    def fingerprint(self) -> str:
        return self.result.difference.fingerprint() if self.result and self.result.changed else ""


def _listed(title: str, sign: str, count: int, lines: Iterable[str]) -> Listed:
    return Listed(title, sign, count, [*islice(lines, LISTED)])


def answer(upload: Upload, caller: Caller, *, prune: bool, shown: str) -> Answer:
    """Show what the file would change, or, where that was `shown`, change it."""
    form = upload.form
    try:
        plan = read_file(upload.data, form, prune=prune)
        result = import_plan(plan=plan, caller=caller, prune=prune, dry_run=not shown, shown=shown or None)
    except PlanInvalid as refusal:
        faults: list[dict[str, Any]] = refusal.fields["faults"]
        loose = [fault for fault in faults[:MOST] if not fault["line"]]
        return Answer(upload, prune, refusal=refusal, faults=loose, runs=excerpts(upload.data, form, faults))
    except Refusal as refusal:
        return Answer(upload, prune, refusal=refusal)
    return Answer(upload, prune, result, moved_on=bool(shown) and result.dry_run)
