"""What an import may not do where somebody works or has worked: 409 plan_conflict (contract, section 7). Pure."""

from collections.abc import Iterator

from graph.difference import Difference
from graph.errors import PlanConflict
from graph.outlook import Outlook
from graph.standing import Standing
from graph.states import WAITING, State

Found = Iterator[tuple[str, str]]
"""Full keys of nodes, and why each is in the way."""


def refuse_conflicts(standing: Standing, outlook: Outlook, difference: Difference) -> None:
    """Raises PlanConflict, whose `nodes` name each node that is in the way and say why."""
    busy = _busy(standing)
    why: dict[str, str] = {}
    for found in (
        _pruned(outlook, busy),
        _rewired(difference, busy),
        _emptied(standing, outlook),
        _parted(outlook, difference),
    ):
        for key, reason in found:
            why.setdefault(key, reason)
    if why:
        raise PlanConflict(_sentence(why), nodes=[_brief(standing, key, reason) for key, reason in why.items()])


def _busy(standing: Standing) -> dict[str, str]:
    """Nodes with an open lease on or below them, or below a held container; and what to say of them.

    A leaf runs exactly while it has an open lease. The ancestors of all these are among them, too.
    """
    busy: dict[str, str] = {}
    under_hold: set[str] = set()
    for key, node in standing.nodes.items():
        if node.held or node.parent in under_hold:
            under_hold.add(key)
            busy[key] = "is held by hand" if node.held else "lies below a container that is held by hand"
        elif node.leaf and node.state is State.RUNNING:
            busy[key] = "is being worked on"
    for key in [*busy]:
        parent = standing.nodes[key].parent
        while parent is not None and parent not in busy:
            busy[parent] = "has work going on below it"
            parent = standing.nodes[parent].parent
    return busy


def _pruned(outlook: Outlook, busy: dict[str, str]) -> Found:
    for key in outlook.pruned:
        if key in busy:
            yield key, f"would be pruned and {busy[key]}"


def _rewired(difference: Difference, busy: dict[str, str]) -> Found:
    dependents = [edge.dependent for edge in difference.edges_added]
    dependents += [edge.dependent for edge in difference.edges_removed]
    for key in dependents:
        if key in busy:
            yield key, f"would get other edges and {busy[key]}"


def _emptied(standing: Standing, outlook: Outlook) -> Found:
    for key, below in outlook.children.items():
        kept = key in outlook.file and key in standing.nodes
        if kept and outlook.cancelled.issuperset(below) and not outlook.pruned.keys().isdisjoint(below):
            yield key, "is in the file, and all of its tasks would be cancelled"


def _parted(outlook: Outlook, difference: Difference) -> Found:
    for node in difference.parted:
        if node.state not in WAITING and node.full_key not in outlook.reopened:
            yield node.full_key, f"would be given tasks and is {node.state}"


def _sentence(why: dict[str, str]) -> str:
    first, *more = (f"{key} {reason}" for key, reason in why.items())
    return f"{first}{f', and {len(more)} more nodes are in the way' if more else ''}."


def _brief(standing: Standing, key: str, reason: str) -> dict[str, str]:
    node = standing.nodes[key]
    return {"id": node.id, "full_key": key, "title": node.title, "state": node.state.value, "why": reason}
