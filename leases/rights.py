"""Does this lease still give a right? The checks of contract section 5, in its order, for every settling verb."""

from dataclasses import dataclass

from graph import sql as graph_sql
from graph.actors import Caller
from graph.errors import NotFound, WrongState
from graph.fields import iso
from leases import sql
from leases.errors import LeaseClosed, LeaseExpired, NotHolder, StaleFence


@dataclass(frozen=True, slots=True)
class Held:
    """An open lease with what runs under it."""

    id: str
    subject_id: str
    objective_id: str
    token_id: str
    holder: str
    fence: int
    ttl_s: int
    expires_at: int
    expired_at: int | None
    ended_at: int | None
    moves_with_id: str | None
    current_fence: int
    run_id: str | None
    attempt_id: str | None
    attempt_number: int | None

    def stale(self, now: int) -> bool:
        """It gives no right: a lease that was once marked stays so, whatever the clock says later."""
        return self.expired_at is not None or now >= self.expires_at


def judge(*, node_id: str, lease_id: str, fence: int, caller: Caller, now: int) -> Held:
    """The lease, if all four agree: its id on this node, the token, the fence, and the time.

    Raises NotFound, NotHolder, StaleFence, LeaseClosed, LeaseExpired, WrongState.
    """
    rows = graph_sql.fetch(sql.HELD.format(by="id"), [lease_id])
    if not rows or rows[0][1] != node_id:
        raise NotFound(f"There is no lease {lease_id} of this node.")
    held = Held(*rows[0])
    if caller.token_id is None or held.token_id != caller.token_id:
        raise NotHolder("This lease was granted to another token.")
    if fence != held.current_fence or held.fence != held.current_fence:
        raise StaleFence(
            f"The current fence is {held.current_fence}.", fence=held.current_fence, current_fence=held.current_fence
        )
    if held.ended_at is not None:
        raise LeaseClosed("The lease has ended.", ended_at=iso(held.ended_at))
    if held.stale(now):
        raise LeaseExpired("The lease has expired.", expires_at=iso(held.expires_at))
    if held.moves_with_id is not None:
        raise WrongState("This lease moves with that of the task it was taken for; use that one.", state="running")
    return held


def open_on(node_id: str) -> Held | None:
    """The open lease whose subject is this node, if there is one."""
    rows = graph_sql.fetch(sql.HELD.format(by="subject_id") + " AND l.ended_at IS NULL", [node_id])
    return Held(*rows[0]) if rows else None
