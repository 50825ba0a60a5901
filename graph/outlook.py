"""A plan as it will stand after an import: every node's parent, children and whether it will have settled. Pure."""

from dataclasses import dataclass, field

from graph.plan_types import PlanFile, PlanNode
from graph.standing import Standing, StandingNode
from graph.states import State


@dataclass(slots=True)
class Outlook:
    """What an import would make of a plan, before anything is written. Nodes go by full key."""

    file: dict[str, PlanNode]
    added: list[PlanNode]
    pruned: dict[str, StandingNode] = field(default_factory=dict)
    """What prune cancels: all that is not in the file and has not settled, containers included."""
    reopened: dict[str, StandingNode] = field(default_factory=dict)
    """Leaves that prune cancelled earlier and that the file has again."""
    parents: dict[str, str | None] = field(default_factory=dict)
    children: dict[str, list[str]] = field(default_factory=dict)
    settled: set[str] = field(default_factory=set)
    cancelled: set[str] = field(default_factory=set)
    """Those of the settled that will be cancelled."""

    @classmethod
    def of(cls, plan: PlanFile, standing: Standing, *, prune: bool) -> "Outlook":
        added = [node for node in plan.nodes if node.full_key not in standing.nodes]
        outlook = cls({node.full_key: node for node in plan.nodes}, added)
        for node in standing.nodes.values():
            if node.full_key in outlook.file:
                if node.leaf and node.pruned and node.state is State.CANCELLED:
                    outlook.reopened[node.full_key] = node
            elif prune and not node.settled:
                outlook.pruned[node.full_key] = node
        outlook.parents = {key: node.parent for key, node in standing.nodes.items()}
        outlook.parents |= {node.full_key: node.parent for node in added}
        for key, parent in outlook.parents.items():
            if parent is not None:
                outlook.children.setdefault(parent, []).append(key)
        outlook._settle(standing)
        return outlook

    def _settle(self, standing: Standing) -> None:
        """Work out what will have settled, children before their parents."""
        for key in reversed(self.parents):
            if below := self.children.get(key):
                settled, cancelled = self.settled.issuperset(below), self.cancelled.issuperset(below)
            else:
                node = standing.nodes.get(key)
                was_settled = node is not None and node.settled and key not in self.reopened
                settled = was_settled or key in self.pruned
                cancelled = settled and (key in self.pruned or (node is not None and node.state is State.CANCELLED))
            if settled:
                self.settled.add(key)
            if cancelled:
                self.cancelled.add(key)
