"""Writing what an import changes: rows in bulk, then states through `graph.transitions`, with an event for each.

Runs inside an import's transaction, with every lane of the plan held. The events stand in the order that a replay
needs: the import, nodes, edges, states, reopenings.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from graph import bulk, editing, events, import_events, sql, transaction, transitions
from graph.difference import Difference
from graph.ids import new_id, rising
from graph.import_events import Ids
from graph.plan_types import Clone
from graph.progress import UNSEEN, Progress
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


@dataclass
class Writer:
    """The writes of one import."""

    plan_id: str
    name: str
    created: bool
    """The plan is new."""
    standing: Standing
    difference: Difference
    progress: Progress = UNSEEN
    ids: Ids = field(init=False)

    def __post_init__(self) -> None:
        added = self.difference.added
        nodes = {key: node.id for key, node in self.standing.nodes.items()}
        nodes.update(zip((node.full_key for node in added), rising(len(added)), strict=True))
        self.ids = Ids(self.plan_id, nodes, [*rising(len(self.difference.edges_added))])

    def write(self, *, actor: str, now: int) -> Effect:
        """Write all of it. Returns what became of nodes' states."""
        transaction.required()
        self._write_nodes()
        self._write_edges()
        if len(self.difference.added) + len(self.ids.edges) > MANY:
            bulk.fresh_statistics()
        sql.execute("UPDATE graph_plan SET imported_at = %s WHERE id = %s", [now, self.plan_id])
        drafts = import_events.imported(self.name, self.created, self.difference, self.ids)
        total = 1 + sum(self.difference.counts().values())
        events.stream(self.progress.over(drafts, "events", total), actor=actor, now=now)
        effect = self._move(actor, now)
        events.append([*import_events.reopened(self.standing, self.difference, effect, self.ids)], actor=actor, now=now)
        return effect

    # Rows

    def _write_nodes(self) -> None:
        positions = self._positions()
        rows = self.progress.over(self._node_rows(positions), "nodes", len(self.difference.added))
        bulk.insert("graph_node", NODE_COLUMNS, rows)
        known = self.standing.nodes.values()
        bulk.set_positions([(node.id, positions[node.id]) for node in known if node.position != positions[node.id]])
        _update(self.difference.parted, "leaf = (1 = 0)")
        for change in self.difference.changed:
            wanted, clone = change.wanted, change.wanted.clone or _NO_CLONE
            sql.execute(
                "UPDATE graph_node SET title = %s, body = %s, clone_repo = %s, clone_ref = %s WHERE id = %s",
                [wanted.title, wanted.body, clone.repo, clone.ref, change.node.id],
            )

    def _positions(self) -> dict[str, int]:
        """The walk of the plan as it will stand, by id."""
        ids, difference = self.ids, self.difference
        nodes = [(node.id, ids.parent(node.parent)) for node in self.standing.nodes.values()]
        nodes += [(ids.nodes[node.full_key], ids.parent(node.parent)) for node in difference.added]
        removed = {edge.id for edge in difference.edges_removed}
        kept = [edge for edge in self.standing.edges if edge.id not in removed]
        edges = [(ids.nodes[edge.dependent], ids.nodes[edge.dependency]) for edge in kept]
        edges += [(ids.nodes[edge.dependent], ids.nodes[edge.dependency]) for edge in difference.edges_added]
        return walk(nodes, edges)

    def _node_rows(self, positions: dict[str, int]) -> Iterator[Sequence[Any]]:
        ids = self.ids
        parents = {node.parent for node in self.difference.added}
        for node in self.difference.added:
            node_id, clone = ids.nodes[node.full_key], node.clone or _NO_CLONE
            yield (
                node_id, ids.plan, ids.lane(node.full_key), ids.parent(node.parent), node.key, node.full_key,
                node.title, node.body, State.PENDING.value, node.full_key not in parents, positions[node_id],
                False, False, 0, 0, "", "", False,
                clone.repo, clone.ref,
            )  # fmt: skip

    def _write_edges(self) -> None:
        if removed := [edge.id for edge in self.difference.edges_removed]:
            named, params = sql.among(removed)
            sql.execute(f"DELETE FROM graph_edge WHERE id IN ({named})", params)
        rows = self.progress.over(self._edge_rows(), "edges", len(self.ids.edges))
        bulk.insert("graph_edge", EDGE_COLUMNS, rows)

    def _edge_rows(self) -> Iterator[Sequence[Any]]:
        nodes = self.ids.nodes
        for edge_id, edge in zip(self.ids.edges, self.difference.edges_added, strict=True):
            waived = edge.waived is not None
            yield edge_id, nodes[edge.dependent], nodes[edge.dependency], waived, edge.waived or "", False

    # States

    def _move(self, actor: str, now: int) -> Effect:
        """Cancel what is pruned, reopen what is back, roll up, and refresh readiness where it may be another."""
        difference, act = self.difference, new_id()
        pruned = [node.id for node in difference.pruned if node.leaf]
        if pruned:
            editing.cancel_leaves(pruned, act=act, pruned=True)
        reopened = [node.id for node in difference.reopened]
        if reopened:
            editing.reset_counts(reopened)
            editing.forget_cancel(reopened)
        parted = {node.id for node in difference.parted}
        back = [node_id for node_id in reopened if node_id not in parted]
        return transitions.apply(
            {**dict.fromkeys(pruned, State.CANCELLED), **dict.fromkeys(back, State.READY)},
            by={**dict.fromkeys(pruned, "prune"), **dict.fromkeys(back, "reopen")},
            told={node_id: {"cancel_act": act, "pruned": True} for node_id in pruned},
            actor=actor,
            now=now,
            refresh=() if self.created else self._touched(),
            containers=[node.id for node in [*difference.parted, *difference.regressed]],
            plan_id=self.plan_id if self.created else "",
        )

    def _touched(self) -> set[str]:
        """The nodes from which down readiness may be another: the new ones, and those whose edges changed."""
        difference = self.difference
        added = {node.full_key for node in difference.added}
        touched = {node.full_key for node in difference.added if node.parent not in added}
        touched |= {edge.dependent for edge in difference.edges_added if edge.dependent not in added}
        touched |= {edge.dependent for edge in difference.edges_removed}
        return {self.ids.nodes[key] for key in touched}


def _update(nodes: Sequence[StandingNode], assignment: str) -> None:
    if nodes:
        named, params = sql.among([node.id for node in nodes])
        sql.execute(f"UPDATE graph_node SET {assignment} WHERE id IN ({named})", params)
