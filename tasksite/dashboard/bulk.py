"""One verb on many rows for one reason: each is a transaction of its own, and is judged by itself."""

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from graph import ids
from graph.actors import Caller
from graph.editing import Edited
from graph.errors import Busy, Refusal
from graph.models import Node
from leases.queries import LeaseRow
from tasksite.dashboard import attention
from tasksite.dashboard.acts import Act
from tasksite.dashboard.attention import Reason

MOST: Final = 100
"""Rows of one request."""

log = logging.getLogger(__name__)


# Doing it


class Target(NamedTuple):
    """A row as somebody saw it; `fence` is that of the claim which stood there, for an act on a claim."""

    id: str
    name: str
    fence: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was done, and for each other row, by name, why it was not."""

    done: list[Edited] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)

    @property
    def level(self) -> str:
        if not self.refused:
            return "success"
        return "warning" if self.done else "error"

    @property
    def states(self) -> list[tuple[str, list[str]]]:
        """What became of the nodes: full keys by the state that each has now."""
        found: dict[str, list[str]] = {}
        for edited in self.done:
            found.setdefault(edited.node.state, []).append(edited.node.full_key)
        return [*found.items()]

    @property
    def became_ready(self) -> int:
        """Others, that waited for these."""
        return len({node_id for edited in self.done for node_id in edited.became_ready})


def perform(act: Act, targets: Iterable[Target], caller: Caller, reason: str) -> Outcome:
    """Where one is refused or fails, the rest go on; a database that stays busy is not asked again for each."""
    outcome = Outcome()
    busy = ""
    for target in targets:
        if busy:
            outcome.refused.append((target.name, busy))
            continue
        try:
            outcome.done.append(act.perform(target.id, caller, reason, target.fence))
        except Refusal as refusal:
            outcome.refused.append((target.name, refusal.detail))
            busy = refusal.detail if isinstance(refusal, Busy) else ""
        except Exception:
            log.exception("%s of %s failed", act.name, target.id)
            outcome.refused.append((target.name, "Something went wrong here; the log of the server has it."))
    return outcome


# Choosing


@dataclass(frozen=True, slots=True)
class Choice:
    """A row to tick, with the stale claim that stands on it or the reason why it is blocked."""

    node_id: str
    full_key: str
    title: str
    claim: LeaseRow | None = None
    why: Reason | None = None

    @property
    def value(self) -> str:
        """What the form sends for it: the claim that was shown is meant, and none after it."""
        return self.node_id if self.claim is None else f"{self.node_id}:{self.claim.fence}"


@dataclass(frozen=True, slots=True)
class Choices:
    shown: list[Choice]
    count: int

    @property
    def left_off(self) -> int:
        return max(0, self.count - len(self.shown))


def stale_claims(now: int) -> Choices:
    """The longest stale first."""
    stale = attention.stale(now, most=MOST)
    return Choices([Choice(row.subject_id, row.full_key, row.title, claim=row) for row in stale.claims], stale.count)


def blocked_tasks(now: int) -> Choices:
    """In pool order."""
    rows = attention.blocked(most=MOST)
    shown = [
        Choice(row.node.id, row.node.full_key, row.node.title, why=row.reasons[0] if row.reasons else None)
        for row in rows
    ]
    return Choices(shown, len(rows) if len(rows) < MOST else attention.count_blocked())


def chosen(values: Sequence[str], *, fenced: bool) -> list[Target] | None:
    """The targets that a form sent; None where one of them cannot be read."""
    found: dict[str, int | None] = {}
    for value in values:
        node, colon, fence = value.partition(":")
        node_id = ids.parse(node)
        if node_id is None or bool(colon) != fenced or (fenced and not is_fence(fence)):
            return None
        found[node_id] = int(fence) if fenced else None
    names = _names(found)
    return [Target(node_id, names.get(node_id, node_id), fence) for node_id, fence in found.items()]


def is_fence(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19 and int(text) > 0


def _names(node_ids: Collection[str]) -> dict[str, str]:
    return dict(Node.objects.filter(id__in=node_ids).values_list("id", "full_key"))
