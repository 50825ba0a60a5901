"""Settle: report, reject and release end what a claim began; each is one transaction under the lane's lock.

The lease is closed by its fence first; the node's move, and with it the ripple to dependents, is one call into
`graph.transitions`: no lease can end without it.
"""

from dataclasses import dataclass
from typing import Any

from django.conf import settings

from graph import events, lanes, transitions
from graph import sql as graph_sql
from graph.actors import Caller
from graph.errors import WrongState
from graph.events import Draft
from graph.rows import Chain, NodeRow, read_chain
from graph.states import SETTLED, State
from graph.transaction import entry
from graph.transitions import Effect
from leases import rights, runs, sql
from leases.models import AttemptOutcome, Ending, RunOutcome
from leases.rights import Held


@dataclass(frozen=True, slots=True)
class Reported:
    node: NodeRow
    became_ready: list[str]


@dataclass(frozen=True, slots=True)
class OpenAttempt:
    id: str
    number: int


@dataclass(frozen=True, slots=True)
class Rejected:
    """`attempt` is the next one, or None where the limit was reached and the node is blocked."""

    node: NodeRow
    attempt: OpenAttempt | None


@dataclass(frozen=True, slots=True)
class Released:
    node: NodeRow


@entry
def report(
    *,
    node_id: str,
    lease_id: str,
    fence: int,
    caller: Caller,
    outcome: str,
    summary: str = "",
    result: Any = None,
) -> Reported:
    """The work is `done` or `partial`: the node settles, and what waited for it becomes ready."""
    now = lanes.hold_reach([node_id])
    held = rights.judge(node_id=node_id, lease_id=lease_id, fence=fence, caller=caller, now=now)
    chain = read_chain(node_id)
    run_id, attempt_id = _worked(held, chain)
    drafts = [
        runs.close_attempt(chain[0].node, run_id, attempt_id, AttemptOutcome(outcome), now),
        runs.close_run(chain[0].node, run_id, RunOutcome(outcome), now, summary=summary, result=result),
        *runs.end_leases(chain[0].node, held.id, Ending.RELEASED, now),
    ]
    events.append(drafts, actor=held.holder, now=now)
    effect = transitions.move_leaf(chain, State(outcome), by="report", actor=held.holder, now=now)
    _close_objective(chain, effect, actor=held.holder, now=now)
    return Reported(_now(chain, effect), effect.leaves(State.READY))


@entry
def reject(*, node_id: str, lease_id: str, fence: int, caller: Caller, reason: str) -> Rejected:
    """The try failed: the next attempt opens under the same lease, or at the limit the node is blocked."""
    now = lanes.hold_lane_of(node_id)
    held = rights.judge(node_id=node_id, lease_id=lease_id, fence=fence, caller=caller, now=now)
    chain = read_chain(node_id)
    run_id, attempt_id = _worked(held, chain)
    node = chain[0].node
    graph_sql.execute(sql.COUNT_REJECTION, [node_id])
    drafts = [runs.close_attempt(node, run_id, attempt_id, AttemptOutcome.REJECTED, now, reason)]
    if chain[0].rejections + 1 < settings.REJECT_LIMIT:
        number = (held.attempt_number or 0) + 1
        opened, draft = runs.open_attempt(node, run_id, number, now)
        events.append([*drafts, draft], actor=held.holder, now=now)
        return Rejected(node, OpenAttempt(opened, number))
    drafts.append(runs.close_run(node, run_id, RunOutcome.REJECTED, now))
    drafts += runs.end_leases(node, held.id, Ending.RELEASED, now, reason=reason)
    events.append(drafts, actor=held.holder, now=now)
    effect = transitions.move_leaf(chain, State.BLOCKED, by="reject", actor=held.holder, now=now, reason=reason)
    return Rejected(_now(chain, effect), None)


@entry
def release(*, node_id: str, lease_id: str, fence: int, caller: Caller, reason: str = "") -> Released:
    """The worker gives the node back unfinished; it counts towards nothing. Ends a hold by hand, too."""
    now = lanes.hold_lane_of(node_id)
    held = rights.judge(node_id=node_id, lease_id=lease_id, fence=fence, caller=caller, now=now)
    chain = read_chain(node_id)
    node = chain[0].node
    if not node.leaf:
        drafts = end_hold(node, held, Ending.RELEASED, now, reason=reason)
        events.append(drafts, actor=held.holder, now=now)
        return Released(node)
    run_id, attempt_id = _worked(held, chain)
    drafts = [
        runs.close_attempt(node, run_id, attempt_id, AttemptOutcome.RELEASED, now, reason),
        runs.close_run(node, run_id, RunOutcome.RELEASED, now),
        *runs.end_leases(node, held.id, Ending.RELEASED, now, reason=reason),
    ]
    events.append(drafts, actor=held.holder, now=now)
    effect = transitions.move_leaf(chain, State.READY, by="release", actor=held.holder, now=now, reason=reason)
    return Released(_now(chain, effect))


def end_hold(node: NodeRow, held: Held, ending: Ending, now: int, *, reason: str, stale: bool = False) -> list[Draft]:
    """A hold by hand ends: the container's state is its roll-up, as before, so nothing else moves."""
    graph_sql.execute("UPDATE graph_node SET held = (1 = 0) WHERE id = %s", [node.id])
    return runs.end_leases(node, held.id, ending, now, reason=reason, stale=stale)


def _worked(held: Held, chain: Chain) -> tuple[str, str]:
    """The run and attempt under a task's lease. A container held by hand has neither: there is nothing to settle."""
    if held.run_id is None or held.attempt_id is None or not chain[0].node.leaf:
        raise WrongState(
            f"{chain[0].node.full_key} is held by hand: it can be heartbeat and released.", state=chain[0].node.state
        )
    return held.run_id, held.attempt_id


def _close_objective(chain: Chain, effect: Effect, *, actor: str, now: int) -> None:
    """An objective that settled with this report ends its run. (A leaf objective's ended with the report.)"""
    objective = chain[-1].node
    move = effect.moves.get(objective.id)
    if not objective.leaf and move is not None and move.after in SETTLED:
        runs.close_settled([objective.id], now=now, actor=actor)


def _now(chain: Chain, effect: Effect) -> NodeRow:
    return chain[0].node._replace(state=effect.moves[chain[0].node.id].after)
