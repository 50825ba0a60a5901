"""Which open leases of a lane refuse a claim, and as what. Pure."""

from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from graph.fields import iso

RELATIONS: Final = ("self", "parent", "sibling", "descendant")
"""First match wins: the node, an ancestor, another node of the lane, below the node."""


class Open(NamedTuple):
    """An open lease of the lane."""

    id: str
    subject_id: str
    full_key: str
    holder: str
    fence: int
    expires_at: int
    expired_at: int | None
    moves_with_id: str | None

    def stale(self, now: int) -> bool:
        return now >= self.expires_at or self.expired_at is not None


class Conflict(NamedTuple):
    relation: str
    lease: Open

    def brief(self, now: int) -> dict[str, Any]:
        return {
            "relation": self.relation,
            "subject": self.lease.subject_id,
            "full_key": self.lease.full_key,
            "holder": self.lease.holder,
            "fence": self.lease.fence,
            "expires_at": iso(self.lease.expires_at),
            "stale": self.lease.stale(now),
        }


def conflicts(
    *, node_id: str, ancestors: Collection[str], below: Collection[str], leases: Sequence[Open]
) -> list[Conflict]:
    """Every lease in the way, in the order of the relations. Stale ones count like live ones.

    An objective's lease that moves with a task's is the same claim: it is named once, by the task. (As an ancestor
    of all it would else be found first each time, and hide who really is in the way.)
    """
    found = [
        Conflict(_relation(lease.subject_id, node_id, ancestors, below), lease)
        for lease in leases
        if lease.moves_with_id is None
    ]
    return sorted(found, key=lambda each: (RELATIONS.index(each.relation), each.lease.id))


def _relation(subject_id: str, node_id: str, ancestors: Collection[str], below: Collection[str]) -> str:
    if subject_id == node_id:
        return "self"
    if subject_id in ancestors:
        return "parent"
    return "descendant" if subject_id in below else "sibling"
