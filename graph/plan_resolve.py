"""Nodes as they are written to a plan that holds together: keys unique, references resolved, no cycle."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from graph.plan_faults import Fault, Faults, quoted
from graph.plan_reader import DraftNode, DraftPlan, Need, is_key
from graph.plan_types import PlanEdge, PlanFile, PlanNode
from graph.topology import CycleFound, describe, walk

Place = tuple[str, int | None]
"""A path in the file and its line."""

Against = Callable[[PlanFile, bool, Faults], None]
"""Finds further faults in what could be made out of a file with faults; the flag says whether all of it could."""


def resolve(draft: DraftPlan, faults: Faults, against: Against | None = None) -> PlanFile:
    """The frozen plan. Raises PlanInvalid with every fault, those found earlier and those `against` finds included."""
    keys = _Keys(draft.nodes, faults)
    warnings: list[Fault] = []
    needs = {(node.place, on): need for node in draft.nodes for on, need in _needs(node, keys, faults, warnings)}
    whole = all(keys.sound)
    try:
        walk([(node.place, node.parent) for node in draft.nodes], [*needs])
    except CycleFound as found:
        whole = False
        add_cycles(found, keys.full.__getitem__, {pair: (need.path, need.line) for pair, need in needs.items()}, faults)
    full, sound = keys.full, keys.sound
    nodes = tuple(_node(node, full) for node in draft.nodes if sound[node.place])
    edges = (
        PlanEdge(full[node], full[on], need.waived, need.path, need.line)
        for (node, on), need in needs.items()
        if sound[node] and sound[on]
    )
    plan = PlanFile(draft.name, nodes, tuple(edges), tuple(warnings))
    if faults and against:
        against(plan, whole, faults)
    faults.raise_any()
    return plan


def add_cycles(
    found: CycleFound, name: Callable[[Any], str], places: Mapping[tuple[Any, Any], Place], faults: Faults
) -> None:
    """A fault for each cycle, at its first edge that is in the file."""
    for cycle in found.cycles:
        found_at = (places.get((step.node, step.awaited)) for step in cycle if step.relation == "needs")
        path, line = next(filter(None, found_at), ("", None))
        faults.add("cycle", path, line, f"A cycle: {describe(cycle, name)}.")


def _node(draft: DraftNode, full: list[str]) -> PlanNode:
    key = draft.key or ""
    parent = None if draft.parent is None else full[draft.parent]
    return PlanNode(key, full[draft.place], draft.title or key, draft.body, parent, draft.clone, draft.path, draft.line)


def _needs(node: DraftNode, keys: "_Keys", faults: Faults, warnings: list[Fault]) -> Iterator[tuple[int, Need]]:
    """The places of what a node needs, none twice."""
    taken: set[int] = set()
    for need in node.needs:
        dependency = keys.find(node, need)
        if dependency in taken:
            message = f"{quoted(need.on or '')} is needed already: one edge is made."
            warnings.append(Fault("repeated_edge", need.path, need.line, message))
        elif dependency is not None:
            taken.add(dependency)
            yield dependency, need


class _Keys:
    """What a key names: an objective in the plan, or a task in its objective. Faults where it names nothing."""

    def __init__(self, nodes: list[DraftNode], faults: Faults) -> None:
        self.full: list[str] = []
        """The full key of each node, by its place; one with a fault is fit to be shown."""
        self.sound: list[bool] = []
        """Whether that key and those above it are right, by place."""
        self._objectives: dict[str, int] = {}
        self._tasks: dict[int, dict[str, int]] = {}
        self._alike: dict[str, str] = {}
        self._nodes = nodes
        self._faults = faults
        folded: dict[tuple[int | None, str], DraftNode] = {}
        for node in nodes:
            lane = None if node.parent is None else node.objective
            shown = node.key if node.key and is_key(node.key) else quoted(node.key or "")
            self.full.append(shown if lane is None else f"{self.full[lane]}/{shown}")
            above = node.parent is None or self.sound[node.parent]
            self.sound.append(above and node.key is not None and is_key(node.key))
            if node.key is None:
                continue
            first = folded.setdefault((lane, node.key.casefold()), node)
            if first is not node:
                self.sound[node.place] = False
                self._duplicate(node, first)
            elif lane is None:
                self._objectives[node.key] = node.place
            else:
                self._tasks.setdefault(lane, {})[node.key] = node.place

    def find(self, node: DraftNode, need: Need) -> int | None:
        """The place of the node that is needed: of this objective's tasks first, then of the objectives."""
        on = need.on or ""
        objective, slash, task = on.partition("/")
        if slash:
            lane = self._objectives.get(objective)
            candidates = [] if lane is None else [self._tasks.get(lane, {}).get(task)]
        else:
            siblings = self._tasks.get(node.objective, {}) if node.parent is not None else {}
            candidates = [siblings.get(on), self._objectives.get(on)]
        found = [place for place in candidates if place is not None]
        for place in found:
            if place != node.place:
                return place
        if found:
            self._faults.add("self_dependency", need.path, need.line, f"{quoted(on)} would need itself.")
        else:
            self._unknown(node, need, on)
        return None

    def _unknown(self, node: DraftNode, need: Need, on: str) -> None:
        if not self._alike:
            for draft, full_key in zip(self._nodes, self.full, strict=True):
                self._alike.setdefault((draft.key or "").casefold(), full_key)
            self._alike.update((full_key.casefold(), full_key) for full_key in self.full)
        nearest = self._alike.get(on.casefold())
        if nearest is None:
            bare = (self._tasks.get(node.objective, {}), self._objectives)
            nearest = self._faults.nearest(on, *([self.full] if "/" in on else bare))
        self._faults.add("unknown_key", need.path, need.line, f"There is no node {quoted(on)}.", nearest)

    def _duplicate(self, node: DraftNode, first: DraftNode) -> None:
        same = node.key == first.key
        self._faults.add(
            "duplicate_key", f"{node.path}.key", node.line,
            f"{quoted(node.key or '')} is taken already: {first.path}, line {first.line}"
            + ("." if same else f", is {quoted(first.key or '')}, and keys differ by more than case."),
        )  # fmt: skip
