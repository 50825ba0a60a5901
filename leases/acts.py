"""Acts of a lead by which an objective may settle outside a report: its run closes in the same transaction."""

from graph import editing, importing
from graph.actors import Caller
from graph.editing import Edited
from graph.importing import ImportResult
from graph.plan_types import PlanFile
from graph.progress import UNSEEN, Progress
from graph.transaction import entry
from leases import runs


@entry
def cancel(*, node_id: str, caller: Caller, reason: str) -> Edited:
    """Drop a leaf, or all below a container that has not settled. Raises NotFound, WrongState."""
    edited = editing.cancel_node(node_id=node_id, caller=caller, reason=reason)
    runs.close_settled(edited.settled, now=edited.now, actor=caller.name)
    return edited


@entry
def import_plan(
    *,
    plan: PlanFile,
    caller: Caller,
    dry_run: bool = False,
    prune: bool = False,
    shown: str | None = None,
    progress: Progress = UNSEEN,
) -> ImportResult:
    """Bring the plan of this name to what the file says. Raises PlanInvalid, PlanConflict.

    `prune` cancels what the file no longer has; `dry_run` answers what would change and writes nothing, and so does
    an import whose difference has another fingerprint than the one that was `shown`.
    """
    result = importing.apply_plan(
        plan=plan, actor=caller.name, dry_run=dry_run, prune=prune, shown=shown, progress=progress
    )
    runs.close_settled(result.effect.settled(), now=result.now, actor=caller.name)
    return result
