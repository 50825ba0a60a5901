"""Heartbeat: the holder of a live lease keeps it, and learns what a lead asks of it."""

from dataclasses import dataclass

from graph import lanes
from graph import sql as graph_sql
from graph.actors import Caller
from graph.transaction import entry, expect
from leases import rights, sql


@dataclass(frozen=True, slots=True)
class Beat:
    """`expires_at` in microseconds; both leases end then. `asks` names what the worker should look at."""

    expires_at: int
    expires_in_s: float
    asks: tuple[str, ...]


@entry
def heartbeat(*, node_id: str, lease_id: str, fence: int, caller: Caller, progress: str | None = None) -> Beat:
    """Move both leases to now + ttl. Fences stay, and no event is written. Refusals: `rights.judge`."""
    now = lanes.hold_lane_of(node_id)
    held = rights.judge(node_id=node_id, lease_id=lease_id, fence=fence, caller=caller, now=now)
    expires_at = now + held.ttl_s * 1_000_000
    moved = graph_sql.execute(sql.BEAT, [expires_at, now, progress, held.id, held.id, now])
    expect(moved, 1 if held.subject_id == held.objective_id else 2, "leases")
    asks = ("upstream_reopened",) if graph_sql.fetch(sql.UPSTREAM_REOPENED, [node_id]) else ()
    return Beat(expires_at, float(held.ttl_s), asks)
