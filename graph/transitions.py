"""The only writer of a node's state.

Every move goes through here and does, in this order: the nodes named, roll-up of the containers above them, then
readiness of all that this reaches (`graph.readiness`), then one event for each node whose state is another than
before. `move_leaf` is the hot path, told everything by one read chain; `apply` is for all else.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graph import events, readiness, sql, transaction
from graph.rows import Chain, Link
from graph.states import SATISFYING, SETTLED, WAITING, State


@dataclass(slots=True)
class Move:
    """One node's change of state."""

    id: str
    plan_id: str
    objective_id: str
    leaf: bool
    position: int
    before: str
    after: str
    by: str


@dataclass(slots=True)
class Effect:
    """What a transaction did to the graph: each node once, with its net change."""

    moves: dict[str, Move] = field(default_factory=dict)
    running_dependents: list[str] = field(default_factory=list)
    settled_dependents: list[str] = field(default_factory=list)

    def add(self, move: Move) -> None:
        known = self.moves.get(move.id)
        if known is None:
            self.moves[move.id] = move
        else:
            known.after = move.after
            known.by = move.by if known.by in ("promotion", "demotion") else known.by

    def changed(self) -> list[Move]:
        return [move for move in self.moves.values() if move.before != move.after]

    def leaves(self, state: State, *, out_of: str = "", without: str = "") -> list[str]:
        """Ids of the leaves that came into `state` (`out_of` one state only), in pool order, `without` aside."""
        found = [m for m in self.changed() if m.leaf and m.after == state and m.id != without]
        found = [m for m in found if not out_of or m.before == out_of]
        return [m.id for m in sorted(found, key=lambda m: (m.plan_id, m.position))]

    def settles(self, node_id: str) -> bool:
        """Whether the node had not settled before and has now."""
        move = self.moves.get(node_id)
        return move is not None and move.before not in SETTLED and move.after in SETTLED

    def settled(self) -> list[str]:
        return [move.id for move in self.changed() if move.after in SETTLED]


def roll_up(*, unsettled: bool, partial: bool, lasting: bool, ever_claimed: bool, satisfied: bool) -> State:
    """A container's state by its children (contract, section 2, first match).

    `unsettled`: some child has not settled; `partial`: one is partial; `lasting`: one is not cancelled.
    """
    if not lasting:
        return State.CANCELLED
    if not unsettled:
        return State.PARTIAL if partial else State.DONE
    if ever_claimed:
        return State.RUNNING
    return State.READY if satisfied else State.PENDING


def move_leaf(chain: Chain, to: State, *, by: str, actor: str, now: int, reason: str = "") -> Effect:
    """Move the chain's leaf and all that follows from it, its lanes held; the state events are appended.

    Into `ready` or `pending`, the side is chosen here by the readiness rule.
    """
    transaction.required()
    if to in WAITING:
        to = State.PENDING if any(link.unmet for link in chain) else State.READY
    effect = Effect()
    _set(chain[0], to, by, effect)
    below = to
    for link in chain[1:]:
        above = roll_up(
            unsettled=link.unsettled_beside or below not in SETTLED,
            partial=link.partial_beside or below == State.PARTIAL,
            lasting=link.lasting_beside or below != State.CANCELLED,
            ever_claimed=link.ever_claimed,
            satisfied=link.node.state != State.PENDING,
        )
        if above == link.node.state:
            break
        _set(link, above, "roll-up", effect)
        below = above
    _ripple(effect)
    events.append(state_events(effect, reason), actor=actor, now=now)
    return effect


def start(chain: Chain) -> Effect:
    """A claim: the node and its waiting ancestors run, and all of them count as claimed. Appends no events."""
    transaction.required()
    effect = Effect()
    fresh = [link for link in chain if link.node.state != State.RUNNING or not link.ever_claimed]
    for link in fresh:
        effect.add(_move(link, State.RUNNING, "claim"))
    if fresh:
        ids = [link.node.id for link in fresh]
        written = sql.execute(
            f"UPDATE graph_node SET state = 'running', ever_claimed = (1 = 1)"
            f" WHERE id IN ({sql.marks(len(ids))}) AND state IN ('ready', 'running')",
            ids,
        )
        transaction.expect(written, len(ids), "nodes")
    return effect


def apply(
    targets: Mapping[str, State],
    *,
    by: str | Mapping[str, str],
    actor: str,
    now: int,
    reason: str = "",
    refresh: Collection[str] = (),
    containers: Collection[str] = (),
    plan_id: str = "",
    data: Mapping[str, Any] | None = None,
    told: Mapping[str, Mapping[str, Any]] | None = None,
) -> Effect:
    """Move these leaves, roll up above them (and at `containers`), refresh readiness, append the state events.

    A target of `ready` or `pending` means either: the readiness rule chooses. `refresh` names further nodes whose
    own edges or ancestors changed; `plan_id`, a plan whose every node is to be refreshed. `data` goes into the
    events of the targets, or, where these differ, `told` and `by` say it of each.
    """
    transaction.required()
    effect = Effect()
    waiting = [node_id for node_id, to in targets.items() if to in WAITING]
    for node_id, before, of_plan, objective_id, leaf, position in _read(targets):
        to = State.PENDING if targets[node_id] in WAITING else targets[node_id]
        named = by if isinstance(by, str) else by[node_id]
        effect.add(Move(node_id, of_plan, objective_id, bool(leaf), position, before, to, named))
    _write(effect.moves.values())
    climbed = _climb({*containers}, effect, parents_of=[*targets])
    flipped = readiness.flip_plan(plan_id) if plan_id else readiness.flip({*refresh, *waiting, *climbed})
    for node in flipped:
        _add_flipped(node, effect)
    _ripple(effect)
    events.append(state_events(effect, reason, told or dict.fromkeys(targets, data or {})), actor=actor, now=now)
    return effect


def _climb(containers: set[str], effect: Effect, *, parents_of: Iterable[str]) -> list[str]:
    """Roll up until nothing changes; returns the containers that now wait for the readiness rule."""
    waiting: list[str] = []
    frontier = containers | _parents(parents_of)
    while frontier:
        moved: list[Move] = []
        for node_id, before, plan_id, objective_id, leaf, position, *facts in _rolled(frontier):
            unsettled, partial, lasting, ever_claimed = map(bool, facts)
            after = roll_up(
                unsettled=unsettled, partial=partial, lasting=lasting, ever_claimed=ever_claimed, satisfied=False
            )
            if after == before or (after in WAITING and before in WAITING):
                continue
            moved.append(Move(node_id, plan_id, objective_id, leaf, position, before, after, "roll-up"))
            if after in WAITING:
                waiting.append(node_id)
        _write(moved)
        for move in moved:
            effect.add(move)
        frontier = _parents(move.id for move in moved)
    return waiting


def _ripple(effect: Effect) -> None:
    """Completions promote their dependents, regressions demote and mark them."""
    turned = [m for m in effect.changed() if (m.before in SATISFYING) != (m.after in SATISFYING)]
    if not turned:
        return
    regressed = [move.id for move in turned if move.before in SATISFYING]
    for node in readiness.flip_dependents([move.id for move in turned]):
        _add_flipped(node, effect)
    if regressed:
        _mark_reopened(regressed, effect)


def _mark_reopened(regressed: Sequence[str], effect: Effect) -> None:
    """Mark the edges of dependents that, or something below which, do not wait: what they went on is open again.

    Under a waiver the mark is not shown, and is there when the waiver is taken away.
    """
    named, params = sql.among(regressed)
    sql.execute(
        f"""WITH RECURSIVE below(root, id, state) AS (
            SELECT n.id, n.id, n.state FROM graph_node n WHERE n.id IN (
                SELECT dependent_id FROM graph_edge WHERE dependency_id IN ({named}))
            UNION ALL
            SELECT below.root, n.id, n.state FROM below JOIN graph_node n ON n.parent_id = below.id)
        UPDATE graph_edge SET reopened = dependent_id IN (
            SELECT root FROM below WHERE state NOT IN ('pending', 'ready'))
        WHERE dependency_id IN ({named})""",
        [*params, *params],
    )
    running, settled = beyond_waiting(
        f"SELECT dependent_id FROM graph_edge WHERE NOT waived AND dependency_id IN ({named})", params
    )
    effect.running_dependents = running
    effect.settled_dependents = [node_id for node_id in settled if not effect.settles(node_id)]


def beyond_waiting(roots: str, params: list[str]) -> tuple[list[str], list[str]]:
    """Of `roots` (a SELECT of ids) and what is below them: the running and the settled, in pool order."""
    rows = sql.fetch(
        f"""WITH RECURSIVE root(id) AS ({roots}), below(id, state, plan_id, position) AS (
            SELECT n.id, n.state, n.plan_id, n.position FROM root JOIN graph_node n ON n.id = root.id
            UNION
            SELECT n.id, n.state, n.plan_id, n.position FROM below JOIN graph_node n ON n.parent_id = below.id)
        SELECT id, state FROM below
        WHERE state IN ('running', 'done', 'partial', 'cancelled') ORDER BY plan_id, position""",
        params,
    )
    running = [node_id for node_id, state in rows if state == State.RUNNING]
    return running, [node_id for node_id, state in rows if state in SETTLED]


def _move(link: Link, to: State, by: str) -> Move:
    node = link.node
    return Move(node.id, node.plan_id, node.objective_id, bool(node.leaf), node.position, node.state, to, by)


def _set(link: Link, to: State, by: str, effect: Effect) -> None:
    move = _move(link, to, by)
    _write([move])
    effect.add(move)


def _write(moves: Iterable[Move]) -> None:
    """Compare and set, grouped by the pair of states: a count that differs means a lane that was not held."""
    groups: dict[tuple[str, str], list[str]] = {}
    for move in moves:
        if move.before != move.after:
            groups.setdefault((move.before, move.after), []).append(move.id)
    for (before, after), ids in groups.items():
        named, params = sql.among(ids)
        written = sql.execute(
            f"UPDATE graph_node SET state = %s WHERE state = %s AND id IN ({named})", [after, before, *params]
        )
        transaction.expect(written, len(ids), "nodes")


def _add_flipped(flipped: readiness.Flipped, effect: Effect) -> None:
    ready = flipped.state == State.READY
    effect.add(
        Move(
            flipped.id, flipped.plan_id, flipped.objective_id, bool(flipped.leaf), flipped.position,
            before=State.PENDING if ready else State.READY, after=flipped.state,
            by="promotion" if ready else "demotion",
        )
    )  # fmt: skip


def _read(node_ids: Collection[str]) -> list[tuple[str, str, str, str, bool, int]]:
    if not node_ids:
        return []
    named, params = sql.among(node_ids)
    return sql.fetch(
        f"SELECT id, state, plan_id, objective_id, leaf, position FROM graph_node WHERE id IN ({named})", params
    )


def _parents(node_ids: Iterable[str]) -> set[str]:
    ids = [*node_ids]
    if not ids:
        return set()
    named, params = sql.among(ids)
    rows = sql.fetch(
        f"SELECT DISTINCT parent_id FROM graph_node WHERE parent_id IS NOT NULL AND id IN ({named})", params
    )
    return {row[0] for row in rows}


def _rolled(containers: Collection[str]) -> list[tuple[str, str, str, str, bool, int, bool, bool, bool, bool]]:
    def child(states: str) -> str:
        return f"EXISTS (SELECT 1 FROM graph_node c WHERE c.parent_id = n.id AND c.state {states})"

    named, params = sql.among(containers)
    return sql.fetch(
        f"""SELECT n.id, n.state, n.plan_id, n.objective_id, n.leaf, n.position,
            {child("IN ('pending', 'ready', 'running', 'blocked')")},
            {child("= 'partial'")},
            {child("IN ('pending', 'ready', 'running', 'blocked', 'done', 'partial')")},
            n.ever_claimed
        FROM graph_node n WHERE n.id IN ({named})""",
        params,
    )


def state_events(
    effect: Effect, reason: str = "", told: Mapping[str, Mapping[str, Any]] | None = None
) -> list[events.Draft]:
    """One event for each node whose state is another than before; `reason` stands on what the act itself moved.

    `told` has further data for the events of some nodes, by id.
    """
    return [
        events.Draft(
            f"node.{move.after}",
            move.plan_id,
            move.objective_id,
            move.id,
            reason="" if move.by in ("promotion", "demotion", "roll-up") else reason,
            data={"from": move.before, "to": move.after, "by": move.by, **(told or {}).get(move.id, {})},
        )
        for move in effect.changed()
    ]
