"""Writing what an import changes: rows in bulk, then states through `graph.transitions`, with an event for each.

Runs inside an import's transaction, with every lane of the plan held. The events stand in the order that a replay
needs: the import, nodes, edges, states, reopenings.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from graph import bulk, editing, events, import_events, sql, transaction, transitions
from graph.difference import Difference
from graph.ids import new_id, rising
from graph.import_events import Ids
from graph.plan_types import Clone
from graph.standing import Standing, StandingNode
from graph.states import State
from graph.topology import walk
from graph.transitions import Effect

NODE_COLUMNS: Final = (
    "id", "plan_id", "objective_id", "parent_id", "key", "full_key", "title", "body", "state", "leaf", "position",
    "ever_claimed", "held", "rejections", "stale_ends", "cancel_act", "last_cancel", "pruned",
    "clone_repo", "clone_ref",
)  # fmt: skip
EDGE_COLUMNS: Final = ("id", "dependent_id", "dependency_id", "waived", "waive_reason", "reopened")

MANY: Final = 10_000
"""New rows from which on the database is to look at them before the states are worked out."""

_NO_CLONE: Final = Clone("", "")


def write(
    plan_id: str, name: str, standing: Standing, difference: Difference, *, created: bool, actor: str, now: int
) -> Effect:
    """Write the difference. Returns what became of nodes' states."""
    transaction.required()
    ids = _ids(plan_id, standing, difference)
    positions = _positions(standing, difference, ids)
    _write_nodes(standing, difference, ids, positions)
    _write_edges(difference, ids)
    if len(difference.added) + len(ids.edges) > MANY:
        bulk.fresh_statistics()
    sql.execute("UPDATE graph_plan SET imported_at = %s WHERE id = %s", [now, plan_id])
    events.stream(import_events.imported(name, created, difference, ids), actor=actor, now=now)
    effect = _move(difference, ids, created=created, actor=actor, now=now)
    events.append([*import_events.reopened(standing, difference, effect, ids)], actor=actor, now=now)
    return effect


def _ids(plan_id: str, standing: Standing, difference: Difference) -> Ids:
    nodes = {key: node.id for key, node in standing.nodes.items()}
    fresh = rising(len(difference.added))
    nodes.update((node.full_key, node_id) for node, node_id in zip(difference.added, fresh, strict=True))
    return Ids(plan_id, nodes, [*rising(len(difference.edges_added))])


def _positions(standing: Standing, difference: Difference, ids: Ids) -> dict[str, int]:
    """The walk of the plan as it will stand, by id."""
    nodes = [(node.id, ids.parent(node.parent)) for node in standing.nodes.values()]
    nodes += [(ids.nodes[node.full_key], ids.parent(node.parent)) for node in difference.added]
    removed = {edge.id for edge in difference.edges_removed}
    pairs = [(edge.dependent, edge.dependency) for edge in standing.edges if edge.id not in removed]
    pairs += [(edge.dependent, edge.dependency) for edge in difference.edges_added]
    return walk(nodes, [(ids.nodes[dependent], ids.nodes[dependency]) for dependent, dependency in pairs])


def _write_nodes(standing: Standing, difference: Difference, ids: Ids, positions: dict[str, int]) -> None:
    bulk.insert("graph_node", NODE_COLUMNS, _node_rows(difference, ids, positions))
    bulk.set_positions(
        [(node.id, positions[node.id]) for node in standing.nodes.values() if node.position != positions[node.id]]
    )
    _update(difference.parted, "leaf = (1 = 0)")
    for change in difference.changed:
        wanted, clone = change.wanted, change.wanted.clone or _NO_CLONE
        sql.execute(
            "UPDATE graph_node SET title = %s, body = %s, clone_repo = %s, clone_ref = %s WHERE id = %s",
            [wanted.title, wanted.body, clone.repo, clone.ref, change.node.id],
        )


def _node_rows(difference: Difference, ids: Ids, positions: dict[str, int]) -> Iterator[Sequence[Any]]:
    parents = {node.parent for node in difference.added}
    for node in difference.added:
        node_id, clone = ids.nodes[node.full_key], node.clone or _NO_CLONE
        yield (
            node_id, ids.plan, ids.lane(node.full_key), ids.parent(node.parent), node.key, node.full_key, node.title,
            node.body, State.PENDING.value, node.full_key not in parents, positions[node_id],
            False, False, 0, 0, "", "", False,
            clone.repo, clone.ref,
        )  # fmt: skip


def _write_edges(difference: Difference, ids: Ids) -> None:
    if removed := [edge.id for edge in difference.edges_removed]:
        named, params = sql.among(removed)
        sql.execute(f"DELETE FROM graph_edge WHERE id IN ({named})", params)
    rows = (
        (
            edge_id,
            ids.nodes[edge.dependent],
            ids.nodes[edge.dependency],
            edge.waived is not None,
            edge.waived or "",
            False,
        )
        for edge_id, edge in zip(ids.edges, difference.edges_added, strict=True)
    )
    bulk.insert("graph_edge", EDGE_COLUMNS, rows)


def _update(nodes: Sequence[StandingNode], assignment: str) -> None:
    if nodes:
        named, params = sql.among([node.id for node in nodes])
        sql.execute(f"UPDATE graph_node SET {assignment} WHERE id IN ({named})", params)


def _move(difference: Difference, ids: Ids, *, created: bool, actor: str, now: int) -> Effect:
    """Cancel what is pruned, reopen what is back, roll up, and refresh readiness where it may be another."""
    act = new_id()
    pruned = [node.id for node in difference.pruned if node.leaf]
    if pruned:
        editing.cancel_leaves(pruned, act=act, pruned=True)
    reopened = [node.id for node in difference.reopened]
    if reopened:
        editing.reset_counts(reopened)
        editing.forget_cancel(reopened)
    _update(difference.regressed, "last_cancel = ''")
    parted = {node.id for node in difference.parted}
    back = [node_id for node_id in reopened if node_id not in parted]
    return transitions.apply(
        {**dict.fromkeys(pruned, State.CANCELLED), **dict.fromkeys(back, State.READY)},
        by={**dict.fromkeys(pruned, "prune"), **dict.fromkeys(back, "reopen")},
        told={node_id: {"cancel_act": act, "pruned": True} for node_id in pruned},
        actor=actor,
        now=now,
        refresh=() if created else _touched(difference, ids),
        containers=[node.id for node in [*difference.parted, *difference.regressed]],
        plan_id=ids.plan if created else "",
    )


def _touched(difference: Difference, ids: Ids) -> set[str]:
    """The nodes from which down readiness may be another: the new ones, and those whose edges changed."""
    added = {node.full_key for node in difference.added}
    touched = {node.full_key for node in difference.added if node.parent not in added}
    touched |= {edge.dependent for edge in difference.edges_added if edge.dependent not in added}
    touched |= {edge.dependent for edge in difference.edges_removed}
    return {ids.nodes[key] for key in touched}
