"""Claim: one transaction that grants a fenced lease on a node and on its objective, a run and an attempt.

The steps are those of contract section 4, in its order.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings

from graph import clock, events, lanes, readiness, transitions
from graph import sql as graph_sql
from graph.actors import Caller
from graph.errors import Invalid, NotFound, NotReady, Refusal
from graph.events import Draft, of_node
from graph.ids import new_id
from graph.rows import Chain, NodeRow, read_chain
from graph.states import SETTLED, State
from graph.transaction import Again, entry
from leases import hierarchy, pool, runs, sql, sweep
from leases.errors import AncestorIncomplete, Container, LeaseRefused
from leases.hierarchy import Open
from leases.models import Ending

TTL_RANGE = (5, 3600)
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Granted:
    """One lease as its holder learns of it; instants in microseconds."""

    id: str
    subject_id: str
    fence: int
    expires_at: int


@dataclass(frozen=True, slots=True)
class Input:
    """What one dependency came to; `outcome` is None where it has not settled, the words where no report settled it."""

    full_key: str
    outcome: str | None
    summary: str | None
    result: Any


@dataclass(frozen=True, slots=True)
class Clone:
    repo: str | None
    ref: str | None
    dir: str


@dataclass(frozen=True, slots=True)
class Grant:
    """A claim that was granted."""

    node: NodeRow
    lease: Granted
    objective_lease: Granted
    ttl_s: int
    run_id: str | None
    objective_run_id: str
    adopted: bool
    attempt_id: str | None
    inputs: tuple[Input, ...]
    clone: Clone


@entry
def claim(
    *, node_id: str, caller: Caller, ttl_s: int | None = None, holder: str | None = None, hand: bool = False
) -> Grant:
    """Claim one node by id; a container only with `hand`.

    Raises NotFound, Container, AncestorIncomplete, LeaseRefused, NotReady, Invalid.
    """
    ttl_s = _checked_ttl(ttl_s)
    now = lanes.hold_lane_of(node_id)
    chain = read_chain(node_id)
    if not chain[0].node.leaf and not hand:
        raise Container(f"{chain[0].node.full_key} is a container: it is claimed with hand, to hold its lane.")
    return _grant(chain, caller=caller, holder=holder or caller.name, ttl_s=ttl_s, now=now)


@entry
def claim_next(
    *,
    caller: Caller,
    ttl_s: int | None = None,
    holder: str | None = None,
    plan: str | None = None,
    objective: str | None = None,
    q: str | None = None,
) -> Grant | None:
    """Claim the pool's first leaf whose lane is free, or None where there is none.

    Raises transaction.Again where a rival took the lane between the look and the lock: `entry` looks again.
    """
    ttl_s = _checked_ttl(ttl_s)
    node_id = pool.hold_first_free(plan=plan, objective=objective, q=q)
    if node_id is None:
        return None
    now = clock.read_and_mark()
    try:
        return _grant(read_chain(node_id), caller=caller, holder=holder or caller.name, ttl_s=ttl_s, now=now)
    except (AncestorIncomplete, LeaseRefused, NotReady, NotFound) as rival:
        raise Again from rival


def _grant(chain: Chain, *, caller: Caller, holder: str, ttl_s: int, now: int) -> Grant:
    node, objective = chain[0].node, chain[-1].node
    standing = sweep.open_leases(objective, now)
    try:
        _refuse_incomplete(chain)
        _refuse_leased(chain, standing.leases, now)
        _refuse_not_ready(node)
    except Refusal as refusal:
        refusal.keeps_marks = standing.marked
        raise
    last_fence, lane_fence, generation, ending, objective_run = graph_sql.fetch(
        sql.LAST, [node.id, objective.id, objective.id]
    )[0]
    if generation is None:
        generation = 1
    elif ending in (Ending.REVOKED, Ending.RECOVERED):
        generation += 1
    own = Granted(new_id(), node.id, (last_fence or 0) + 1, now + ttl_s * 1_000_000)
    lane = own if node is objective else Granted(new_id(), objective.id, (lane_fence or 0) + 1, own.expires_at)
    drafts = _write_leases(chain, own, lane, caller=caller, holder=holder, generation=generation, ttl_s=ttl_s, now=now)
    grant = Grant(
        node=node._replace(state=State.RUNNING),
        lease=own,
        objective_lease=lane,
        ttl_s=ttl_s,
        run_id=new_id() if node.leaf else None,
        objective_run_id="",
        adopted=objective_run is not None,
        attempt_id=None,
        inputs=inputs([link.node.id for link in chain]),
        clone=_clone(chain, generation),
    )
    return _open_runs(chain, grant, objective_run, drafts, holder=holder, now=now)


def _open_runs(
    chain: Chain, grant: Grant, objective_run: str | None, drafts: list[Draft], *, holder: str, now: int
) -> Grant:
    """Adopt or open the objective's run, open the task's and its first attempt; move the nodes; write all events."""
    node, objective = chain[0].node, chain[-1].node
    lane_run = objective_run or (grant.run_id if node is objective and grant.run_id else new_id())
    opened = [(objective, lane_run)] if objective_run is None else []
    if objective_run is not None:
        drafts.append(of_node("run.adopted", objective, run=lane_run, lease=grant.lease.id))
    if grant.run_id and grant.run_id != lane_run:
        opened.append((node, grant.run_id))
    if opened:
        graph_sql.execute(
            sql.INSERT_RUNS.format(rows=", ".join([sql.RUN_ROW] * len(opened))),
            [value for of, run_id in opened for value in (run_id, of.id, grant.lease.id, now)],
        )
    drafts += [of_node("run.opened", of, run=run_id, lease=grant.lease.id) for of, run_id in opened]
    attempt_id = None
    if grant.run_id:
        attempt_id, draft = runs.open_attempt(node, grant.run_id, 1, now)
        drafts.append(draft)
    else:
        graph_sql.execute("UPDATE graph_node SET held = (1 = 1) WHERE id = %s", [node.id])
        drafts.append(of_node("node.held", node, lease=grant.lease.id, data={"fence": grant.lease.fence}))
    drafts += transitions.state_events(transitions.start(chain))
    events.append(drafts, actor=holder, now=now)
    return replace(grant, objective_run_id=lane_run, attempt_id=attempt_id)


def _write_leases(
    chain: Chain, own: Granted, lane: Granted, *, caller: Caller, holder: str, generation: int, ttl_s: int, now: int
) -> list[Draft]:
    objective = chain[-1].node
    taken = [(own, None, chain[0].node)] + ([(lane, own.id, objective)] if lane is not own else [])
    params: list[Any] = []
    drafts = []
    for lease, moves_with, node in taken:
        params += [lease.id, lease.subject_id, objective.id, moves_with, caller.token_id, holder, lease.fence]
        params += [generation, ttl_s, now, lease.expires_at, now]
        data = {
            "moves_with": moves_with, "token": caller.token_id, "holder": holder,
            "fence": lease.fence, "generation": generation, "ttl_s": ttl_s,
        }  # fmt: skip
        drafts.append(of_node("lease.claimed", node, lease=lease.id, data=data))
    graph_sql.execute(sql.INSERT_LEASES.format(rows=", ".join([sql.LEASE_ROW] * len(taken))), params)
    return drafts


def _refuse_incomplete(chain: Chain) -> None:
    """Step 3. The topmost ancestor that is settled or waits is named."""
    for link in reversed(chain[1:]):
        settled = link.node.state in SETTLED
        if not settled and not link.unmet:
            continue
        waiting_on = [wait.brief() for wait in readiness.waits([link.node.id])]
        why = "settled" if settled else "waiting"
        raise AncestorIncomplete(
            f"{link.node.full_key} above it is {link.node.state if settled else 'waiting'}.",
            ancestor={"id": link.node.id, "full_key": link.node.full_key, "state": link.node.state},
            why=why, waiting_on=waiting_on,
        )  # fmt: skip


def _refuse_leased(chain: Chain, leases: tuple[Open, ...], now: int) -> None:
    """Step 4: leases in the way, live or stale."""
    if not leases:
        return
    node = chain[0].node
    found = hierarchy.conflicts(
        node_id=node.id,
        ancestors={link.node.id for link in chain[1:]},
        below=set() if node.leaf else {lease.subject_id for lease in leases if _is_below(lease.subject_id, node.id)},
        leases=leases,
    )
    listed = [conflict.brief(now) for conflict in found]
    first = listed[0]
    raise LeaseRefused(
        f"{first['full_key']} ({first['relation']}) is held by {first['holder']}"
        f"{', whose lease is stale' if first['stale'] else ''}.",
        **{key: first[key] for key in ("relation", "subject", "holder", "fence", "expires_at", "stale")},
        conflicts=listed,
    )


def _is_below(subject_id: str, node_id: str) -> bool:
    return any(link.node.id == node_id for link in read_chain(subject_id)[1:])


def _refuse_not_ready(node: NodeRow) -> None:
    """Step 5."""
    if node.state == State.READY or (not node.leaf and node.state == State.RUNNING):
        return
    fields: dict[str, Any] = {"state": node.state}
    if node.state == State.PENDING:
        fields["waiting_on"] = [wait.brief() for wait in readiness.waits([node.id])]
    raise NotReady(f"{node.full_key} is {node.state}.", **fields)


def inputs(node_ids: Sequence[str], *, most: int | None = None) -> tuple[Input, ...]:
    """What a claim gives of the dependencies of a node and its ancestors; `most` bounds it for those who only look."""
    limit = "" if most is None else f" LIMIT {most}"
    rows = graph_sql.fetch(sql.INPUTS.format(ids=graph_sql.marks(len(node_ids))) + limit, node_ids)
    return tuple(
        Input(full_key, state if state in SETTLED else None, summary, _read(result))
        for full_key, state, summary, result in rows
    )


def _read(result: Any) -> Any:
    """A stored JSON value: the cursor gives it as text."""
    return None if result is None else json.loads(result)


def _clone(chain: Chain, generation: int) -> Clone:
    objective = chain[-1]
    name = f"{objective.node.key}-{objective.node.id}.{generation}"
    return Clone(objective.clone_repo or None, objective.clone_ref or None, name)


def _checked_ttl(ttl_s: int | None) -> int:
    if ttl_s is None:
        return int(settings.LEASE_TTL_S)
    low, high = TTL_RANGE
    if not low <= ttl_s <= high:
        raise Invalid({"ttl_s": [f"must be from {low} to {high} seconds"]})
    return ttl_s
