"""The events of an import, but for those of states, which `graph.transitions` writes.

Together with these they say all that the import did: a replay makes the same plan from them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from graph import sql
from graph.difference import Difference
from graph.events import Draft
from graph.plan_types import Clone
from graph.standing import Standing, StandingNode
from graph.states import SATISFYING, SETTLED, State
from graph.transitions import Effect


@dataclass(frozen=True, slots=True)
class Ids:
    """What the nodes and edges of an import are called in the database."""

    plan: str
    nodes: dict[str, str]
    """By full key, of every node that the plan will have."""
    edges: list[str]
    """Of the edges that are added, in their order."""

    def lane(self, full_key: str) -> str:
        """The objective's id."""
        return self.nodes[full_key.partition("/")[0]]

    def parent(self, full_key: str | None) -> str | None:
        return None if full_key is None else self.nodes[full_key]

    def draft(self, type_: str, full_key: str, data: dict[str, Any]) -> Draft:
        return Draft(type_, self.plan, self.lane(full_key), self.nodes[full_key], data=data)


def imported(name: str, created: bool, difference: Difference, ids: Ids) -> Iterator[Draft]:
    """What became of the plan, its nodes and its edges, in this order."""
    counts = difference.counts()
    yield Draft("plan.imported", ids.plan, data={"name": name, "created": created, **counts})
    yield from _nodes(difference, ids)
    yield from _edges(difference, ids)


def _nodes(difference: Difference, ids: Ids) -> Iterator[Draft]:
    for node in difference.added:
        data = {
            "key": node.key,
            "full_key": node.full_key,
            "kind": "objective" if node.parent is None else "task",
            "parent": ids.parent(node.parent),
            "title": node.title,
            "body": node.body,
            "clone": _clone(node.clone),
        }
        yield ids.draft("node.added", node.full_key, data)
    for change in difference.changed:
        values = {name: getattr(change.wanted, name) for name in change.fields}
        if "clone" in values:
            values["clone"] = _clone(change.wanted.clone)
        yield ids.draft("node.changed", change.node.full_key, values)


def _edges(difference: Difference, ids: Ids) -> Iterator[Draft]:
    for edge in difference.edges_removed:
        yield ids.draft("edge.removed", edge.dependent, {"edge": edge.id, "dependency": ids.nodes[edge.dependency]})
    for edge_id, new in zip(ids.edges, difference.edges_added, strict=True):
        data = {
            "edge": edge_id,
            "dependency": ids.nodes[new.dependency],
            "waived": new.waived is not None,
            "reason": new.waived or "",
        }
        yield ids.draft("edge.added", new.dependent, data)


def _clone(clone: Clone | None) -> dict[str, str] | None:
    return None if clone is None else {"repo": clone.repo, "ref": clone.ref}


def reopened(standing: Standing, difference: Difference, effect: Effect, ids: Ids) -> Iterator[Draft]:
    """One `node.reopened` for each leaf that came back and each settled container that was given a task."""
    demoted = {*effect.leaves(State.PENDING, out_of=State.READY)}
    for node in [*difference.reopened, *difference.regressed]:
        below = _waiting_for(_regressed_with(node, standing, effect))
        stayed = [node_id for node_id, state in below if state in SETTLED and not effect.settles(node_id)]
        lists = {
            "leaves": [node.id] if node.leaf else [],
            "demoted": [node_id for node_id, _ in below if node_id in demoted],
            "running_dependents": [node_id for node_id, state in below if state == State.RUNNING],
            "settled_dependents": stayed,
        }
        yield ids.draft("node.reopened", node.full_key, lists)


def _regressed_with(node: StandingNode, standing: Standing, effect: Effect) -> list[str]:
    """Of the node and its ancestors, those that satisfied their dependents and do not any more."""
    regressed = []
    above: StandingNode | None = node
    while above is not None:
        move = effect.moves.get(above.id)
        if move is not None and move.before in SATISFYING and move.after not in SATISFYING:
            regressed.append(above.id)
        above = standing.nodes[above.parent] if above.parent else None
    return regressed


def _waiting_for(node_ids: list[str]) -> list[tuple[str, str]]:
    """Ids and states of all that needs one of these nodes, by an edge of its own or of an ancestor."""
    if not node_ids:
        return []
    named, params = sql.among(node_ids)
    return sql.fetch(
        f"""WITH RECURSIVE below(id) AS (
            SELECT dependent_id FROM graph_edge WHERE NOT waived AND dependency_id IN ({named})
            UNION SELECT n.id FROM below JOIN graph_node n ON n.parent_id = below.id)
        SELECT n.id, n.state FROM below JOIN graph_node n ON n.id = below.id ORDER BY n.position""",
        params,
    )
