"""The lead's verbs on the graph: unblock, reopen, cancel, waive, unwaive.

Each locks the lanes it may touch, judges the state it then reads, and leaves the move to `graph.transitions`.
"""

from dataclasses import dataclass

from graph import events, lanes, sql, transaction, transitions
from graph.actors import Caller
from graph.errors import NotFound, WrongState
from graph.ids import new_id
from graph.rows import Chain, NodeRow, read_chain
from graph.states import SETTLED, WAITING, State
from graph.transaction import entry
from graph.transitions import Effect, Move


@dataclass(frozen=True, slots=True)
class Edited:
    """The node as it stands now, and what the act did to others (leaves, the node itself aside)."""

    node: NodeRow
    became_ready: list[str]
    demoted: list[str]
    running_dependents: list[str]
    settled_dependents: list[str]
    now: int
    """The instant the act was judged by, in microseconds."""
    settled: tuple[str, ...]
    """All that settled by this act: the leases close the runs of the objectives among them."""
    moves: tuple[Move, ...]
    """Every other node whose state is another now, in pool order."""

    @classmethod
    def of(cls, node: NodeRow, effect: Effect, now: int) -> "Edited":
        move = effect.moves.get(node.id)
        others = (other for other in effect.changed() if other.id != node.id)
        return cls(
            node=node._replace(state=move.after) if move else node,
            became_ready=effect.leaves(State.READY, without=node.id),
            demoted=effect.leaves(State.PENDING, out_of=State.READY, without=node.id),
            running_dependents=effect.running_dependents,
            settled_dependents=effect.settled_dependents,
            now=now,
            settled=tuple(effect.settled()),
            moves=tuple(sorted(others, key=lambda other: (other.plan_id, other.position))),
        )


def wrong_state(node: NodeRow, wanted: str) -> WrongState:
    return WrongState(f"{node.full_key} is {node.state}, not {wanted}.", state=node.state, node=node.id)


@entry
def unblock(*, node_id: str, caller: Caller, reason: str) -> Edited:
    """Let a blocked leaf be claimed again; both of its counts start anew. Raises NotFound, WrongState."""
    now = lanes.hold_lane_of(node_id)
    chain = read_chain(node_id)
    if chain[0].node.state != State.BLOCKED:
        raise wrong_state(chain[0].node, "blocked")
    reset_counts([node_id])
    events.append([events.of_node("node.unblocked", chain[0].node, reason=reason)], actor=caller.name, now=now)
    effect = transitions.move_leaf(chain, State.READY, by="unblock", actor=caller.name, now=now, reason=reason)
    return Edited.of(chain[0].node, effect, now)


@entry
def reopen(*, node_id: str, caller: Caller, reason: str) -> Edited:
    """Take a leaf out of its settled state, or undo the last cancel that was called on a container.

    Settled ancestors leave theirs by roll-up, and dependents regress. Raises NotFound, WrongState.
    """
    now = lanes.hold_reach([node_id], below=True)
    node = read_chain(node_id)[0].node
    if node.state not in SETTLED:
        raise wrong_state(node, "done, partial or cancelled")
    leaves = [node_id] if node.leaf else _cancelled_with(node)
    if not leaves:
        raise WrongState(
            f"{node.full_key} settled by its tasks, not by a cancel of its own: reopen those.",
            state=node.state, node=node.id,
        )  # fmt: skip
    return reopen_leaves(leaves, node=node, by="reopen", actor=caller.name, now=now, reason=reason)


def reopen_leaves(leaves: list[str], *, node: NodeRow, by: str, actor: str, now: int, reason: str) -> Edited:
    """Reopen these settled leaves as one act on `node`, its reach held."""
    transaction.required()
    reset_counts(leaves)
    forget_cancel(leaves)
    sql.execute("UPDATE graph_node SET last_cancel = '' WHERE id = %s", [node.id])
    effect = transitions.apply(dict.fromkeys(leaves, State.READY), by=by, actor=actor, now=now, reason=reason)
    edited = Edited.of(node, effect, now)
    lists = {
        "leaves": leaves,
        "demoted": edited.demoted,
        "running_dependents": edited.running_dependents,
        "settled_dependents": edited.settled_dependents,
    }
    events.append([events.of_node("node.reopened", node, reason=reason, data=lists)], actor=actor, now=now)
    return edited


def cancel_node(*, node_id: str, caller: Caller, reason: str) -> Edited:
    """Drop a leaf, or all below a container that has not settled. Raises NotFound, WrongState.

    Inner: `leases.acts.cancel` is the entry, because an objective that settles here may have a run to close.
    """
    now = lanes.hold_reach([node_id], below=True)
    chain = read_chain(node_id)
    node = chain[0].node
    _refuse_cancel(chain)
    leaves = [node_id] if node.leaf else _open_leaves(node_id)
    act = new_id()
    cancel_leaves(leaves, act=act, pruned=False)
    if not node.leaf:
        sql.execute("UPDATE graph_node SET last_cancel = %s WHERE id = %s", [act, node_id])
    effect = transitions.apply(
        dict.fromkeys(leaves, State.CANCELLED), by="cancel", actor=caller.name, now=now, reason=reason,
        data={"cancel_act": act, "cancelled": node_id},
    )  # fmt: skip
    return Edited.of(node, effect, now)


def cancel_leaves(leaves: list[str], *, act: str, pruned: bool) -> None:
    """Note which act cancels these leaves, so that it can be undone; the move itself is `transitions.apply`."""
    named, params = sql.among(leaves)
    flag = "(1 = 1)" if pruned else "(1 = 0)"
    sql.execute(f"UPDATE graph_node SET cancel_act = %s, pruned = {flag} WHERE id IN ({named})", [act, *params])


def forget_cancel(leaves: list[str]) -> None:
    """No act has these leaves cancelled any more."""
    named, params = sql.among(leaves)
    sql.execute(f"UPDATE graph_node SET cancel_act = '', pruned = (1 = 0) WHERE id IN ({named})", params)


def reset_counts(leaves: list[str]) -> None:
    """Rejections and stale ends are counted from here on."""
    named, params = sql.among(leaves)
    sql.execute(f"UPDATE graph_node SET rejections = 0, stale_ends = 0 WHERE id IN ({named})", params)


@entry
def waive(*, edge_id: str, caller: Caller, reason: str) -> Edited:
    """Let the dependent go on as if the edge were not there. Raises NotFound, WrongState."""
    return _lay(edge_id, waived=True, caller=caller, reason=reason)


@entry
def unwaive(*, edge_id: str, caller: Caller, reason: str) -> Edited:
    """Let the edge count again. Raises NotFound, WrongState."""
    return _lay(edge_id, waived=False, caller=caller, reason=reason)


def _lay(edge_id: str, *, waived: bool, caller: Caller, reason: str) -> Edited:
    ends = sql.fetch("SELECT dependent_id, dependency_id FROM graph_edge WHERE id = %s", [edge_id])
    if not ends:
        raise NotFound(f"There is no edge {edge_id}.")
    dependent_id, dependency_id = ends[0]
    now = lanes.hold_lanes_of([dependent_id, dependency_id])
    rows = sql.fetch("SELECT waived FROM graph_edge WHERE id = %s", [edge_id])
    if not rows:
        raise NotFound(f"There is no edge {edge_id}.")
    if bool(rows[0][0]) == waived:
        raise WrongState(f"The edge is {'' if waived else 'not '}waived already.", waived=waived)
    truth = "(1 = 1)" if waived else "(1 = 0)"
    sql.execute(
        f"UPDATE graph_edge SET waived = {truth}, waive_reason = %s WHERE id = %s", [reason if waived else "", edge_id]
    )
    node = read_chain(dependent_id)[0].node
    data = {"edge": edge_id, "dependency": dependency_id}
    type_ = "edge.waived" if waived else "edge.unwaived"
    events.append([events.of_node(type_, node, reason=reason, data=data)], actor=caller.name, now=now)
    effect = transitions.apply({}, by=type_, actor=caller.name, now=now, refresh=[dependent_id])
    effect.running_dependents, effect.settled_dependents = transitions.beyond_waiting(
        "SELECT id FROM graph_node WHERE id = %s", [dependent_id]
    )
    return Edited.of(node, effect, now)


def _refuse_cancel(chain: Chain) -> None:
    node = chain[0].node
    if node.leaf and node.state not in WAITING | {State.BLOCKED}:
        raise wrong_state(node, "pending, ready or blocked")
    if node.state in SETTLED:
        raise wrong_state(node, "open")
    for link in chain:
        if link.held:
            raise WrongState(f"{link.node.full_key} is held by hand.", state=node.state, node=link.node.id)
    if not node.leaf and (busy := _busy_below(node.id)):
        raise WrongState(f"{busy[0][1]} below it is being worked on.", state=node.state, node=busy[0][0])


_COLUMNS = "id, full_key, position, leaf, state, held, cancel_act"
_BELOW = f"""
    WITH RECURSIVE below({_COLUMNS}) AS (
        SELECT {_COLUMNS} FROM graph_node WHERE parent_id = %s
        UNION ALL
        SELECT {", ".join(f"n.{name}" for name in _COLUMNS.split(", "))}
        FROM below JOIN graph_node n ON n.parent_id = below.id)
    SELECT id, full_key FROM below"""


def _busy_below(node_id: str) -> list[tuple[str, str]]:
    where = " WHERE held OR (leaf AND state = 'running') ORDER BY position LIMIT 1"
    return sql.fetch(_BELOW + where, [node_id])


def _open_leaves(node_id: str) -> list[str]:
    where = " WHERE leaf AND state IN ('pending', 'ready', 'blocked') ORDER BY position"
    return [row[0] for row in sql.fetch(_BELOW + where, [node_id])]


def _cancelled_with(node: NodeRow) -> list[str]:
    act = sql.fetch("SELECT last_cancel FROM graph_node WHERE id = %s AND last_cancel <> ''", [node.id])
    if not act:
        return []
    where = " WHERE leaf AND state = 'cancelled' AND cancel_act = %s ORDER BY position"
    return [row[0] for row in sql.fetch(_BELOW + where, [node.id, act[0][0]])]
