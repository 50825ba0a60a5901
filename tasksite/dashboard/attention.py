"""What needs a lead: claims that went stale, and tasks that are blocked, with their last reasons."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from graph import sql
from graph.rows import NodeRow
from graph.states import State
from leases import queries
from leases.queries import LeaseRow, NodeFilter

MOST_STALE: Final = 10
MOST_BLOCKED: Final = 20
MOST_REASONS: Final = 3

_BLOCKED: Final = NodeFilter(state=State.BLOCKED, leaf=True)
_OWN: Final = "ended_at IS NULL AND moves_with_id IS NULL"


class Reason(NamedTuple):
    """Why an attempt ended; `at` in microseconds."""

    outcome: str
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class StaleClaims:
    """For the banner, the longest stale first.

    A claim counts once: the objective's lease that moves with a task's is left out.
    """

    claims: list[LeaseRow]
    count: int

    @property
    def left_off(self) -> int:
        return self.count - len(self.claims)


@dataclass(frozen=True, slots=True)
class Blocked:
    node: NodeRow
    reasons: list[Reason]
    """The newest first."""

    @property
    def since(self) -> int | None:
        return self.reasons[0].at if self.reasons else None


def stale(now: int, *, most: int = MOST_STALE) -> StaleClaims:
    count = sql.fetch(f"SELECT count(*) FROM leases_lease WHERE {_OWN} AND expires_at <= %s", [now])[0][0]
    if not count:
        return StaleClaims([], 0)
    # Companions are among the rows: at most one beside each claim.
    rows = queries.leases(now=now, live=False, limit=2 * most)
    claims = [row for row in rows if row.moves_with_id is None][:most]
    return StaleClaims(claims, max(int(count), len(claims)))


def count_blocked() -> int:
    return queries.count(_BLOCKED)


def blocked(*, most: int = MOST_BLOCKED) -> list[Blocked]:
    """In pool order."""
    rows = queries.nodes(_BLOCKED, limit=most)
    nodes = [NodeRow(*row) for row in rows]
    last = reasons([node.id for node in nodes])
    return [Blocked(node, last.get(node.id, [])) for node in nodes]


def reasons(node_ids: Sequence[str]) -> dict[str, list[Reason]]:
    """Why the last attempts at these nodes ended, newest first: by fence and number, because ids need not rise."""
    if not node_ids:
        return {}
    rows = sql.fetch(
        f"""SELECT node_id, outcome, reason, closed_at FROM (
            SELECT r.node_id, a.outcome, a.reason, a.closed_at,
                row_number() OVER (PARTITION BY r.node_id ORDER BY l.fence DESC, a.number DESC) AS place
            FROM leases_run r JOIN leases_lease l ON l.id = r.lease_id JOIN leases_attempt a ON a.run_id = r.id
            WHERE r.node_id IN ({sql.marks(len(node_ids))}) AND a.closed_at IS NOT NULL) last
        WHERE place <= {MOST_REASONS} ORDER BY node_id, place""",
        node_ids,
    )
    found: dict[str, list[Reason]] = {}
    for node_id, *reason in rows:
        found.setdefault(node_id, []).append(Reason(*reason))
    return found
