"""Abandon and recovery: the two acts that end a claim whose worker does not. Nothing heals by itself."""

import logging
from dataclasses import dataclass

from django.conf import settings

from graph import clock, events, lanes, transitions
from graph import sql as graph_sql
from graph.actors import Caller
from graph.editing import Edited, wrong_state
from graph.events import of_node
from graph.rows import Chain, read_chain
from graph.states import State
from graph.transaction import entry
from leases import rights, runs, sql, sweep
from leases.errors import StaleFence
from leases.models import AttemptOutcome, Ending, RunOutcome
from leases.rights import Held
from leases.settle import end_hold

log = logging.getLogger(__name__)

# Open leases past their expiry, each with its node; companions move with the lease they were taken with. One that was
# marked gives no right any more, also where the clock has been set back since.
STALE = """
    SELECT l.id, l.subject_id, n.full_key, l.holder, l.fence FROM leases_lease l
    JOIN graph_node n ON n.id = l.subject_id
    WHERE l.ended_at IS NULL AND l.moves_with_id IS NULL AND (l.expires_at <= %s OR l.expired_at IS NOT NULL)
    ORDER BY l.expires_at, l.id"""

UNMARKED_LANES = """
    SELECT DISTINCT objective_id FROM leases_lease
    WHERE ended_at IS NULL AND expired_at IS NULL AND expires_at <= %s ORDER BY objective_id"""


@dataclass(frozen=True, slots=True)
class Stale:
    """A claim past its expiry."""

    lease_id: str
    node_id: str
    full_key: str
    holder: str
    fence: int


@dataclass(frozen=True, slots=True)
class Recovery:
    """What a recovery did: the claims it ended, and those it could not, with why."""

    recovered: tuple[Stale, ...]
    failed: tuple[tuple[Stale, str], ...]


@entry
def abandon(*, node_id: str, caller: Caller, reason: str, fence: int | None = None) -> Edited:
    """End an open claim, live or stale, by a lead's word. Raises NotFound, WrongState, StaleFence.

    With `fence` it ends that claim only: a second click never kills the claim after it.
    """
    now = lanes.hold_lane_of(node_id)
    chain = read_chain(node_id)
    node = chain[0].node
    held = rights.open_on(node_id)
    if held is None or held.moves_with_id is not None:
        raise wrong_state(node, "being worked on under a lease of its own")
    if fence is not None and fence != held.current_fence:
        raise StaleFence(
            f"The current fence is {held.current_fence}.", fence=held.current_fence, current_fence=held.current_fence
        )
    effect = _end(chain, held, Ending.REVOKED, stale=held.stale(now), actor=caller.name, now=now, reason=reason)
    return Edited.of(node, effect, now)


def recover_all(*, actor: str, dry_run: bool = False) -> Recovery:
    """Abandon every claim that is stale now; live ones are left alone. Run twice or side by side, it does no more.

    Each is a transaction of its own: one that fails is reported, logged, and does not stop the rest.
    """
    stale = [Stale(*row) for row in graph_sql.fetch(STALE, [clock.read()])]
    if dry_run:
        return Recovery(tuple(stale), ())
    recovered, failed = [], []
    for claim in stale:
        try:
            if recover_one(claim=claim, actor=actor):
                recovered.append(claim)
        except Exception as error:
            log.exception("%s could not be recovered", claim.full_key)
            failed.append((claim, f"{type(error).__name__}: {error}"))
    return Recovery(tuple(recovered), tuple(failed))


@entry
def recover_one(*, claim: Stale, actor: str) -> bool:
    """Recover one claim if, its lane held, it is still open and still stale."""
    now = lanes.hold_lane_of(claim.node_id)
    chain = read_chain(claim.node_id)
    held = rights.open_on(claim.node_id)
    if held is None or held.id != claim.lease_id or held.fence != claim.fence or not held.stale(now):
        return False
    reason = f"the lease of {held.holder} expired"
    _end(chain, held, Ending.RECOVERED, stale=True, actor=actor, now=now, reason=reason)
    return True


def mark_expired() -> int:
    """Report each expiry once, for the periodic job; how many were new. Rights ended at the expiry, not here.

    Each lane is a transaction of its own: one that fails is logged and does not stop the rest.
    """
    lanes_due = [row[0] for row in graph_sql.fetch(UNMARKED_LANES, [clock.read()])]
    marked = 0
    for objective_id in lanes_due:
        try:
            marked += _mark_lane(objective_id)
        except Exception:
            log.exception("the expired leases of lane %s could not be marked", objective_id)
    return marked


@entry
def _mark_lane(objective_id: str) -> int:
    now = lanes.hold_lane_of(objective_id)
    return sweep.mark(read_chain(objective_id)[0].node, now)


def _end(
    chain: Chain, held: Held, ending: Ending, *, stale: bool, actor: str, now: int, reason: str
) -> transitions.Effect:
    node = chain[0].node
    if stale:
        sweep.mark(chain[-1].node, now)
    act = "node.recovered" if ending == Ending.RECOVERED else "node.abandoned"
    data = {"fence": held.fence, "holder": held.holder, "stale": stale}
    drafts = [of_node(act, node, lease=held.id, run=held.run_id or "", reason=reason, data=data)]
    only_stale = ending == Ending.RECOVERED
    if held.run_id is None or held.attempt_id is None or not node.leaf:
        drafts += end_hold(node, held, ending, now, reason=reason, stale=only_stale)
        events.append(drafts, actor=actor, now=now)
        return transitions.Effect()
    drafts += [
        runs.close_attempt(node, held.run_id, held.attempt_id, AttemptOutcome.CANCELLED, now, reason),
        runs.close_run(node, held.run_id, RunOutcome.ABANDONED, now),
        *runs.end_leases(node, held.id, ending, now, reason=reason, stale=only_stale),
    ]
    events.append(drafts, actor=actor, now=now)
    blocks = False
    if stale:
        graph_sql.execute(sql.COUNT_STALE_END, [node.id])
        blocks = 0 < settings.STALE_LIMIT <= chain[0].stale_ends + 1
    by = "recovery" if ending == Ending.RECOVERED else "abandon"
    to = State.BLOCKED if blocks else State.READY
    return transitions.move_leaf(chain, to, by=by, actor=actor, now=now, reason=reason)
