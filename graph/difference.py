"""What an import would change: the file held against the plan as it stands. Pure, and the whole of a dry run.

Nodes are matched by full key. "As the plan will stand" means after this import: what it adds and reopens is open,
what it prunes is cancelled, and containers follow from their children.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256

from graph.outlook import Outlook
from graph.plan_faults import Fault, Faults
from graph.plan_resolve import Place, add_cycles
from graph.plan_types import PlanEdge, PlanFile, PlanNode
from graph.standing import Standing, StandingEdge, StandingNode
from graph.states import State
from graph.topology import CycleFound, walk

Wants = dict[str, dict[str, PlanEdge]]
"""The edges that the file has, by dependent and by dependency."""


@dataclass(frozen=True, slots=True)
class Change:
    """A node that is in the file and in the plan, and does not read the same."""

    node: StandingNode
    wanted: PlanNode
    fields: tuple[str, ...]
    """Of title, body, clone; and needs, where the difference is left."""


@dataclass(slots=True)
class Difference:
    """All that an import would do, in the order of the file or of the plan."""

    added: list[PlanNode] = field(default_factory=list)
    changed: list[Change] = field(default_factory=list)
    left: list[Change] = field(default_factory=list)
    """Differences on what has settled: they stay as they are."""
    missing: list[StandingNode] = field(default_factory=list)
    """Not in the file, and not cancelled either."""
    pruned: list[StandingNode] = field(default_factory=list)
    """Those of them that are cancelled now, containers included."""
    reopened: list[StandingNode] = field(default_factory=list)
    """Leaves that an earlier import pruned and the file has again."""
    parted: list[StandingNode] = field(default_factory=list)
    """Leaves that become containers."""
    regressed: list[StandingNode] = field(default_factory=list)
    """Settled containers that are given a task."""
    edges_added: list[PlanEdge] = field(default_factory=list)
    edges_removed: list[StandingEdge] = field(default_factory=list)
    warnings: list[Fault] = field(default_factory=list)

    @property
    def nothing(self) -> bool:
        """Whether everything is as the file has it already."""
        return not any(self.counts().values())

    def counts(self) -> dict[str, int]:
        """How many changes there are of each kind."""
        return {
            "added": len(self.added),
            "changed": len(self.changed),
            "pruned": len(self.pruned),
            "reopened": len(self.reopened),
            "edges_added": len(self.edges_added),
            "edges_removed": len(self.edges_removed),
        }

    def fingerprint(self) -> str:
        """Two with the same one are the same change: what a lead was shown is what is then written."""
        digest = sha256()
        for part in self._told():
            digest.update(repr(part).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def _told(self) -> Iterator[object]:
        """Everything but the states of nodes, which move on while a lead reads."""
        yield from (node[:6] for node in self.added)
        for kind in (self.missing, self.pruned, self.reopened, self.parted, self.regressed):
            yield [node.full_key for node in kind]
        for changes in (self.changed, self.left):
            yield [(change.node[4:7], change.wanted[:6], change.fields) for change in changes]
        yield from (edge[:3] for edge in self.edges_added)
        yield [(edge.dependent, edge.dependency) for edge in self.edges_removed]
        yield [str(warning) for warning in self.warnings]


def compare(plan: PlanFile, standing: Standing, outlook: Outlook) -> Difference:
    """What importing `plan` over `standing` changes. Raises PlanInvalid; `graph.conflicts` finds the conflicts."""
    faults = Faults()
    _check_places(plan, standing, faults)
    difference = _differ(plan, standing, outlook)
    if standing.nodes and not difference.nothing:
        _check_walk(standing, outlook, difference, faults)
    faults.raise_any()
    return difference


def add_faults(plan: PlanFile, whole: bool, faults: Faults, standing: Standing, *, prune: bool) -> None:
    """What else is wrong with a file that has faults, held against the plan as it stands.

    Where some of the file could not be made out nobody knows how the plan would stand: no cycle is looked for then.
    """
    _check_places(plan, standing, faults)
    if whole:
        outlook = Outlook.of(plan, standing, prune=prune)
        _check_walk(standing, outlook, _differ(plan, standing, outlook), faults)


def _differ(plan: PlanFile, standing: Standing, outlook: Outlook) -> Difference:
    difference = Difference(
        added=outlook.added,
        pruned=[*outlook.pruned.values()],
        reopened=[*outlook.reopened.values()],
        missing=[
            node
            for node in standing.nodes.values()
            if node.full_key not in outlook.file and node.state is not State.CANCELLED
        ],
        warnings=[*plan.warnings],
    )
    _compare_parents(standing, difference)
    wanted: Wants = {key: {} for key in outlook.file}
    for edge in plan.edges:
        wanted[edge.dependent][edge.dependency] = edge
    _compare_edges(wanted, standing, outlook, difference)
    _compare_texts(plan, wanted, standing, outlook, difference)
    return difference


def _check_places(plan: PlanFile, standing: Standing, faults: Faults) -> None:
    """Nodes keep their parents, and keys differ by more than case from those that the file no longer has, too."""
    folded = {_folded(key): key for key in standing.nodes}
    for node in plan.nodes:
        known = standing.nodes.get(node.full_key)
        if known is None:
            alike = folded.get(_folded(node.full_key))
            if alike is not None:
                message = f"The plan has {alike!r} already, and keys differ by more than case."
                faults.add("duplicate_key", f"{node.path}.key", node.line, message, alike)
        elif known.parent != node.parent:
            message = f"{node.full_key!r} is below {known.parent!r} in the plan, and a node keeps its parent."
            faults.add("moved", node.path, node.line, message)


def _folded(full_key: str) -> str:
    """Two nodes whose keys must not both be have the same: the objective as it is, the last part without case."""
    objective, slash, key = full_key.rpartition("/")
    return f"{objective}{slash}{key.casefold()}"


def _compare_parents(standing: Standing, difference: Difference) -> None:
    """Who is given a first task, and which settled container one more."""
    given = {node.parent: None for node in difference.added}
    parents = [standing.nodes[key] for key in given if key in standing.nodes]
    difference.parted = [node for node in parents if node.leaf]
    difference.regressed = [node for node in parents if not node.leaf and node.settled]


def _compare_edges(wanted: Wants, standing: Standing, outlook: Outlook, difference: Difference) -> None:
    for key, wants in wanted.items():
        has = standing.edges_of.get(key, {})
        if key not in outlook.settled:
            difference.edges_added += [edge for dependency, edge in wants.items() if dependency not in has]
            difference.edges_removed += [edge for dependency, edge in has.items() if dependency not in wants]
        for dependency, edge in wants.items():
            if dependency in has:
                _compare_waiver(edge, has[dependency], difference)
    for key in outlook.pruned:
        difference.edges_removed += standing.edges_of.get(key, {}).values()


def _compare_waiver(wanted: PlanEdge, edge: StandingEdge, difference: Difference) -> None:
    if wanted.waived is not None and wanted.waived != edge.waived:
        now = "not waived" if edge.waived is None else "waived for another reason"
        message = f"The edge from {edge.dependent!r} to {edge.dependency!r} stands already and is {now}: that stays."
        difference.warnings.append(Fault("waiver_ignored", wanted.path, wanted.line, message))


def _compare_texts(plan: PlanFile, wanted: Wants, standing: Standing, outlook: Outlook, difference: Difference) -> None:
    for wants in plan.nodes:
        node = standing.nodes.get(wants.full_key)
        if node is None:
            continue
        fields = [name for name in ("title", "body", "clone") if getattr(node, name) != getattr(wants, name)]
        if node.full_key not in outlook.settled:
            if fields:
                difference.changed.append(Change(node, wants, tuple(fields)))
            continue
        if wanted[node.full_key].keys() != standing.edges_of.get(node.full_key, {}).keys():
            fields.append("needs")
        if fields:
            difference.left.append(Change(node, wants, tuple(fields)))


def _check_walk(standing: Standing, outlook: Outlook, difference: Difference, faults: Faults) -> None:
    """The plan as it will stand has no cycle: what the file no longer has is walked, too."""
    added: dict[tuple[str, str], Place] = {
        (edge.dependent, edge.dependency): (edge.path, edge.line) for edge in difference.edges_added
    }
    removed = {edge.id for edge in difference.edges_removed}
    kept = [(edge.dependent, edge.dependency) for edge in standing.edges if edge.id not in removed]
    try:
        walk([*outlook.parents.items()], [*kept, *added])
    except CycleFound as found:
        add_cycles(found, str, added, faults)
