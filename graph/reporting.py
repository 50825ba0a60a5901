"""What an import did, or would do, as lines for a terminal."""

from collections.abc import Iterator

from graph.difference import Difference
from graph.importing import ImportResult
from graph.states import State


def lines(result: ImportResult) -> Iterator[str]:
    """One line for each difference, and a sentence that sums them up. Of a new plan the sentence, dry runs aside."""
    if result.dry_run or not result.created:
        yield from _differences(result.difference)
    counts = result.difference.counts()
    told = ", ".join(f"{what.replace('_', ' ')} {count:,}" for what, count in counts.items() if count)
    what = "created" if result.created else "updated" if result.changed else "unchanged"
    if result.dry_run:
        what = f"would be {what}" if result.changed else "would stay as it is"
    yield f"{result.name} {what}{f': {told}' if told else ''}."
    yield from _effects(result)


def _differences(difference: Difference) -> Iterator[str]:
    for added in difference.added:
        yield f"+ {added.full_key}"
    for change in difference.changed:
        yield f"~ {change.node.full_key}: {', '.join(change.fields)}"
    for new in difference.edges_added:
        yield f"+ {new.dependent} needs {new.dependency}{' (waived)' if new.waived is not None else ''}"
    for edge in difference.edges_removed:
        yield f"- {edge.dependent} needs {edge.dependency}"
    for node in difference.reopened:
        yield f"> {node.full_key}: reopened, is in the file again"
    for node in difference.regressed:
        yield f"> {node.full_key}: regresses, is given a task"
    for node in difference.pruned:
        yield f"x {node.full_key}: pruned"
    pruned = {node.full_key for node in difference.pruned}
    for node in difference.missing:
        if node.full_key not in pruned:
            yield f"= {node.full_key}: not in the file, stays {node.state}"
    for change in difference.left:
        yield f"= {change.node.full_key}: {change.node.state}, so these stay: {', '.join(change.fields)}"


def _effects(result: ImportResult) -> Iterator[str]:
    if result.dry_run:
        yield "Dry run: nothing was written."
        return
    effect = result.effect
    for what, node_ids in (
        ("became ready", effect.leaves(State.READY)),
        ("went back to pending", effect.leaves(State.PENDING, out_of=State.READY)),
        ("are running on what was reopened", effect.running_dependents),
        ("had settled on what was reopened", effect.settled_dependents),
    ):
        if node_ids:
            yield f"{len(node_ids):,} {what}."
