"""What an act does, or would do, to other nodes: groups with their names, long ones cut."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from graph import sql
from graph.editing import Edited
from graph.states import SETTLED, State
from graph.transitions import Move

MOST_SHOWN: Final = 12
"""Names of one group before the act."""
MOST_TOLD: Final = 5
"""Names of one group after it."""


class Named(NamedTuple):
    id: str
    full_key: str
    state: str
    """As it is after the act."""


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes of which the act does the same."""

    will: str
    did: str
    nodes: list[Named]
    left_off: int

    @property
    def count(self) -> int:
        return len(self.nodes) + self.left_off

    @property
    def told(self) -> str:
        """`3 became ready: a, b, c.`"""
        more = f" and {self.left_off:,} more" if self.left_off else ""
        return f"{self.count:,} {self.did}: {', '.join(node.full_key for node in self.nodes)}{more}."


@dataclass(frozen=True, slots=True)
class Outcome:
    edited: Edited
    groups: list[Group]

    @property
    def told(self) -> list[str]:
        return [group.told for group in self.groups]


def read(edited: Edited, *, most: int) -> Outcome:
    """With at most so many names of each group."""
    lists = [(will, did, ids) for will, did, ids in _lists(edited) if ids]
    named = _named(edited, [node_id for _, _, ids in lists for node_id in ids[:most]])
    groups = [
        Group(will, did, [named[node_id] for node_id in ids[:most] if node_id in named], max(0, len(ids) - most))
        for will, did, ids in lists
    ]
    return Outcome(edited, groups)


def _lists(edited: Edited) -> Iterator[tuple[str, str, Sequence[str]]]:
    """In the order of what a lead would want to know first. Leaves, then the containers that moved with them."""
    leaves = [move for move in edited.moves if move.leaf]
    containers = [move for move in edited.moves if not move.leaf]
    yield "will be cancelled", "cancelled", _ids(leaves, State.CANCELLED)
    yield "will be ready", "became ready", edited.became_ready
    yield "will fall back and wait", "fell back to waiting", edited.demoted
    opened = [move for move in leaves if move.before in SETTLED]
    yield "will open again and wait", "opened again, to wait", _ids(opened, State.PENDING)
    yield "will run on", "kept running", edited.running_dependents
    yield "will stay settled", "stayed settled", edited.settled_dependents
    settling = [move.id for move in containers if move.after in SETTLED]
    yield "will settle with it", "settled with it", settling
    reopening = [move.id for move in containers if move.before in SETTLED and move.after not in SETTLED]
    yield "will open again with it", "opened again with it", reopening


def _ids(moves: Sequence[Move], state: State) -> list[str]:
    return [move.id for move in moves if move.after == state]


def _named(edited: Edited, node_ids: Sequence[str]) -> dict[str, Named]:
    if not node_ids:
        return {}
    after = {move.id: move.after for move in edited.moves}
    named, params = sql.among(node_ids)
    rows = sql.fetch(f"SELECT id, full_key, state FROM graph_node WHERE id IN ({named})", params)
    return {id_: Named(id_, full_key, after.get(id_, state)) for id_, full_key, state in rows}
