"""What an import did, or would do, in words: lines for a terminal, groups of them for a page."""

from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass

from graph.difference import Difference
from graph.importing import ImportResult
from graph.states import State


@dataclass(frozen=True, slots=True)
class Group:
    """Differences of one kind."""

    title: str
    sign: str
    count: int
    lines: Iterable[str]


def lines(result: ImportResult) -> Iterator[str]:
    """One line for each difference, and a sentence that sums them up. Of a new plan the sentence, dry runs aside."""
    if result.dry_run or not result.created:
        for group in groups(result.difference):
            for line in group.lines:
                yield f"{group.sign} {line}"
    yield from summary(result)


def summary(result: ImportResult) -> Iterator[str]:
    """The sentence, and what became of nodes."""
    counts = result.difference.counts()
    told = ", ".join(f"{what.replace('_', ' ')} {count:,}" for what, count in counts.items() if count)
    what = "created" if result.created else "updated" if result.changed else "unchanged"
    if result.dry_run:
        what = f"would be {what}" if result.changed else "would stay as it is"
    yield f"{result.name} {what}{f': {told}' if told else ''}."
    yield from _effects(result)


def groups(difference: Difference) -> Iterator[Group]:
    """The kinds of differences there are, with their lines; kinds that are empty are left out."""
    return (group for group in _groups(difference) if group.count)


def _groups(difference: Difference) -> Iterator[Group]:
    yield _group("Added", "+", difference.added, (node.full_key for node in difference.added))
    changed = (f"{change.node.full_key}: {', '.join(change.fields)}" for change in difference.changed)
    yield _group("Changed", "~", difference.changed, changed)
    waived = (" (waived)" if edge.waived is not None else "" for edge in difference.edges_added)
    needs = (
        f"{e.dependent} needs {e.dependency}{also}" for e, also in zip(difference.edges_added, waived, strict=True)
    )
    yield _group("Edges added", "+", difference.edges_added, needs)
    gone = (f"{edge.dependent} needs {edge.dependency}" for edge in difference.edges_removed)
    yield _group("Edges removed", "-", difference.edges_removed, gone)
    again = (f"{node.full_key}: reopened, is in the file again" for node in difference.reopened)
    yield _group("Reopened", ">", difference.reopened, again)
    given = (f"{node.full_key}: regresses, is given a task" for node in difference.regressed)
    yield _group("Regressed", ">", difference.regressed, given)
    yield _group("Pruned", "x", difference.pruned, (f"{node.full_key}: pruned" for node in difference.pruned))
    pruned = {node.full_key for node in difference.pruned}
    stay = [node for node in difference.missing if node.full_key not in pruned]
    yield _group("Not in the file", "=", stay, (f"{n.full_key}: not in the file, stays {n.state}" for n in stay))
    left = (f"{c.node.full_key}: {c.node.state}, so these stay: {', '.join(c.fields)}" for c in difference.left)
    yield _group("Left as they are", "=", difference.left, left)


def _group(title: str, sign: str, found: Sized, lines: Iterable[str]) -> Group:
    return Group(title, sign, len(found), lines)


def _effects(result: ImportResult) -> Iterator[str]:
    if result.dry_run:
        for what, keys in (
            ("would become ready", result.forecast.ready),
            ("would go back to pending", result.forecast.demoted),
        ):
            if keys:
                yield f"{len(keys):,} {what}."
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
