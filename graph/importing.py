"""Import and re-import of a plan file: read what stands, compare, refuse conflicts, write, all in one transaction.

`graph.difference` says what would change and `graph.writing` writes it. Every lane of the plan is held meanwhile,
so that no claim or report slips in between the comparison and the write. The entry is `leases.acts.import_plan`:
an objective that settles by prune may have a run to close, and the graph knows no runs.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from django.conf import settings

from graph import clock, lanes, sql, transaction
from graph.conflicts import refuse_conflicts
from graph.difference import Change, Difference, add_faults, compare
from graph.forecast import Forecast, foresee
from graph.ids import new_id
from graph.outlook import Outlook
from graph.plan_faults import Faults
from graph.plan_file import Format, read_plan
from graph.plan_types import Limits, PlanFile
from graph.progress import UNSEEN, Progress
from graph.standing import Standing, read_standing
from graph.states import State
from graph.transitions import Effect
from graph.writing import Writer

LISTED: Final = 1_000
"""Entries that an answer lists of each kind; the counts are whole."""


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What an import changed or, as a dry run, would change."""

    plan_id: str | None
    """None where a dry run would make the plan."""
    name: str
    created: bool
    dry_run: bool
    difference: Difference
    effect: Effect
    """What became of nodes' states; empty for a dry run."""
    now: int
    """The instant it was judged by, in microseconds."""
    forecast: Forecast = field(default_factory=Forecast)
    """What would become of leaves; empty where it has been done."""

    @property
    def changed(self) -> bool:
        return self.created or not self.difference.nothing

    def brief(self) -> dict[str, Any]:
        """The answer: counts of all, and the first thousand of each kind, nodes by full key."""
        lists = _lists(self.difference)
        return {
            "plan": self.plan_id,
            "name": self.name,
            "created": self.created,
            "changed": self.changed,
            "dry_run": self.dry_run,
            "counts": {kind: len(entries) for kind, entries in lists.items()},
            **{kind: entries[:LISTED] for kind, entries in lists.items()},
            "warnings": [warning.brief() for warning in self.difference.warnings[:LISTED]],
            "became_ready": self.effect.leaves(State.READY)[:LISTED],
            "demoted": self.effect.leaves(State.PENDING, out_of=State.READY)[:LISTED],
            "running_dependents": self.effect.running_dependents[:LISTED],
            "settled_dependents": self.effect.settled_dependents[:LISTED],
        }


def _lists(difference: Difference) -> dict[str, list[Any]]:
    return {
        "added": [node.full_key for node in difference.added],
        "updated": [_changed(change) for change in difference.changed],
        "edges_added": [{"node": edge.dependent, "needs": edge.dependency} for edge in difference.edges_added],
        "edges_removed": [{"node": edge.dependent, "needs": edge.dependency} for edge in difference.edges_removed],
        "reopened": [node.full_key for node in difference.reopened],
        "regressed": [node.full_key for node in difference.regressed],
        "pruned": [node.full_key for node in difference.pruned],
        "missing": [node.full_key for node in difference.missing],
        "left": [_changed(change) for change in difference.left],
    }


def _changed(change: Change) -> dict[str, Any]:
    return {"node": change.node.full_key, "fields": list(change.fields)}


def configured_limits() -> Limits:
    """What the operator's settings hold a plan file to."""
    return Limits(
        nodes=settings.PLAN_MAX_NODES,
        edges=settings.PLAN_MAX_EDGES,
        bytes=settings.PLAN_MAX_BYTES,
        title=settings.PLAN_MAX_TITLE,
        body=settings.PLAN_MAX_BODY,
        depth=settings.PLAN_MAX_DEPTH,
        local_roots=tuple(str(root) for root in settings.CLONE_LOCAL_ROOTS),
    )


def read_file(data: bytes, form: Format, *, prune: bool, progress: Progress = UNSEEN) -> PlanFile:
    """A plan file as `apply_plan` takes it, under the operator's limits. Raises PlanInvalid.

    A file with faults is held against the plan of its name, too: one answer names them all.
    """
    return read_plan(data, form, configured_limits(), progress, against=partial(_held_against_the_plan, prune=prune))


def _held_against_the_plan(plan: PlanFile, whole: bool, faults: Faults, *, prune: bool) -> None:
    with transaction.snapshot():
        found = sql.fetch("SELECT id FROM graph_plan WHERE name = %s", [plan.name])
        if found:
            add_faults(plan, whole, faults, read_standing(found[0][0]), prune=prune)


def apply_plan(
    *,
    plan: PlanFile,
    actor: str,
    dry_run: bool = False,
    prune: bool = False,
    shown: str | None = None,
    progress: Progress = UNSEEN,
) -> ImportResult:
    """Bring the plan of this name to what the file says. Raises PlanInvalid, PlanConflict.

    Where the difference is another than the one that was `shown`, by its fingerprint, this is a dry run.
    Inner. Two imports that make the same plan at once: one makes it, and the other is run again as a re-import.
    """
    transaction.required()
    found = sql.fetch("SELECT id FROM graph_plan WHERE name = %s", [plan.name])
    plan_id: str | None = found[0][0] if found else None
    if plan_id is not None:
        now = lanes.hold_plan(plan_id)
        standing = read_standing(plan_id)
    else:
        now = clock.read_and_mark()
        standing = Standing({}, [])
    outlook = Outlook.of(plan, standing, prune=prune)
    difference = compare(plan, standing, outlook)
    refuse_conflicts(standing, outlook, difference)

    created = plan_id is None
    effect = Effect()
    dry_run = dry_run or (shown is not None and shown != difference.fingerprint())
    if not dry_run and (created or not difference.nothing):
        plan_id = plan_id or _create(plan.name, now)
        writer = Writer(plan_id, plan.name, created, standing, difference, progress)
        effect = writer.write(actor=actor, now=now)
    forecast = foresee(standing, outlook, difference) if dry_run else Forecast()
    return ImportResult(plan_id, plan.name, created, dry_run, difference, effect, now, forecast)


def _create(name: str, now: int) -> str:
    plan_id = new_id()
    made = sql.execute(
        "INSERT INTO graph_plan (id, name, created_at, imported_at) VALUES (%s, %s, %s, %s)"
        " ON CONFLICT (name) DO NOTHING",
        [plan_id, name, now, now],
    )
    if not made:
        raise transaction.Again
    return plan_id
