"""The sweep: noticing that leases ran past their expiry. It marks and tells, and heals nothing."""

from dataclasses import dataclass

from graph import events
from graph import sql as graph_sql
from graph.events import Draft
from graph.rows import NodeRow
from leases import sql
from leases.hierarchy import Open

ACTOR = "sweep"


@dataclass(frozen=True, slots=True)
class Standing:
    """The open leases of a lane, and whether the sweep has just marked any of them."""

    leases: tuple[Open, ...]
    marked: bool


def open_leases(objective: NodeRow, now: int) -> Standing:
    """Read a held lane's open leases; mark those past their expiry as expired, once each."""
    leases = tuple(Open(*row) for row in graph_sql.fetch(sql.OPEN_OF_LANE, [objective.id]))
    if not any(lease.expired_at is None and lease.expires_at <= now for lease in leases):
        return Standing(leases, marked=False)
    mark(objective, now)
    return Standing(tuple(lease._replace(expired_at=lease.expired_at or now) for lease in leases), marked=True)


def mark(objective: NodeRow, now: int) -> int:
    """Mark the lane's leases that are past their expiry, with an event each; how many there were."""
    marked = graph_sql.fetch(sql.MARK_EXPIRED, [now, objective.id, now])
    drafts = [
        Draft(
            "lease.expired", objective.plan_id, objective.id, subject_id, lease=lease_id,
            data={"fence": fence, "holder": holder},
        )
        for lease_id, subject_id, fence, holder in sorted(marked)
    ]  # fmt: skip
    events.append(drafts, actor=ACTOR, now=now)
    return len(drafts)
