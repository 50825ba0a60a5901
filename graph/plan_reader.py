"""Tokens to nodes as they are written: the shape of the file is checked here, its references are not.

One table for each mapping names the fields that it takes; `graph.plan_schema` says the same to the world, and a
test holds the two together.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from graph.plan_clone import ref_fault, repo_fault
from graph.plan_faults import Faults, quoted
from graph.plan_shapes import Shape, ShapeReader
from graph.plan_tokens import LIST, MAPPING, NOTHING, Token
from graph.plan_types import Clone, Limits

KEY: Final = "[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
NAME_LENGTH: Final = 100
REPO_LENGTH: Final = 2_000
REF_LENGTH: Final = 255

_KEY: Final = re.compile(KEY)


def is_key(text: str) -> bool:
    """Whether this can be the key of a node."""
    return _KEY.fullmatch(text) is not None


@dataclass(slots=True)
class Need:
    """One entry of `needs`, before it is known what it points at."""

    path: str
    line: int
    on: str | None = None
    waived: str | None = None


@dataclass(slots=True)
class DraftNode:
    """A node as it is written. `key` is None where it has none, and may have a fault where it has one."""

    place: int
    parent: int | None
    objective: int
    depth: int
    path: str
    line: int
    key: str | None = None
    title: str | None = None
    body: str = ""
    clone: Clone | None = None
    needs: list[Need] = field(default_factory=list)


@dataclass(slots=True)
class DraftPlan:
    name: str = ""
    empty: bool = True
    nodes: list[DraftNode] = field(default_factory=list)


@dataclass(slots=True)
class DraftClone:
    repo: str | None = None
    ref: str | None = ""


class PlanReader(ShapeReader):
    """Reads one plan off a stream of tokens."""

    def __init__(self, tokens: Iterator[Token], faults: Faults, limits: Limits) -> None:
        super().__init__(tokens, faults)
        self._limits = limits
        self._nodes: list[DraftNode] = []
        self._edges = 0

    def plan(self) -> DraftPlan:
        """The whole file. Raises PlanInvalid where reading on is pointless."""
        draft = DraftPlan(nodes=self._nodes)
        start = next(self.tokens, None)
        if start is None or start.kind == NOTHING:
            self.faults.stop("empty_plan", "", None, "The file holds no plan.")
        self.mapping(PLAN, draft, start, "")
        if draft.empty and start.kind == MAPPING:
            self.faults.add("empty_plan", "objectives", start.line, "A plan has at least one objective.")
        for token in self.tokens:  # to the end of the file: a second document is a fault
            self.skip(token)
        return draft

    def read_name(self, plan: DraftPlan, token: Token, path: str) -> None:
        name = self.text(token, path, NAME_LENGTH, blank=False)
        if name is not None and (name != name.strip() or "\n" in name or "\t" in name):
            self.faults.add("bad_name", path, token.line, "The name of a plan is one line, without spaces at its ends.")
        plan.name = name or ""

    def read_objectives(self, plan: DraftPlan, token: Token, path: str) -> None:
        plan.empty = token.kind == LIST
        for item, where in self.items(token, path):
            plan.empty = False
            self._node(OBJECTIVE, None, item, where)

    def read_tasks(self, node: DraftNode, token: Token, path: str) -> None:
        for item, where in self.items(token, path):
            if node.depth < self._limits.depth:
                self._node(TASK, node, item, where)
            else:
                self.faults.add("over_limit", where, item.line, f"Nodes lie at most {self._limits.depth} deep.")
                self.skip(item)

    def _node(self, shape: Shape, above: DraftNode | None, token: Token, path: str) -> None:
        place = len(self._nodes)
        if above is None:
            node = DraftNode(place, None, place, 1, path, token.line)
        else:
            node = DraftNode(place, above.place, above.objective, above.depth + 1, path, token.line)
        if token.kind == MAPPING:
            self._nodes.append(node)
        if len(self._nodes) > self._limits.nodes:
            self.faults.stop("over_limit", path, token.line, f"A plan holds at most {self._limits.nodes:,} nodes.")
        self.mapping(shape, node, token, path)

    def read_key(self, node: DraftNode, token: Token, path: str) -> None:
        node.key = self.scalar(token, path, "key_not_text")
        if node.key is not None and not is_key(node.key):
            self.faults.add(
                "bad_key", path, token.line,
                f"{quoted(node.key)} is not a key: a letter or digit, then up to 99 of letters, digits, dot, dash "
                "and underscore, all ASCII.",
            )  # fmt: skip

    def read_title(self, node: DraftNode, token: Token, path: str) -> None:
        node.title = self.text(token, path, self._limits.title, blank=False)

    def read_body(self, node: DraftNode, token: Token, path: str) -> None:
        node.body = self.text(token, path, self._limits.body) or ""

    def read_clone(self, node: DraftNode, token: Token, path: str) -> None:
        clone = DraftClone()
        self.mapping(CLONE, clone, token, path)
        if clone.repo is not None and clone.ref is not None:
            node.clone = Clone(clone.repo, clone.ref)

    def read_repo(self, clone: DraftClone, token: Token, path: str) -> None:
        clone.repo = self.text(token, path, REPO_LENGTH)
        if clone.repo is not None and (problem := repo_fault(clone.repo, self._limits.local_roots)):
            self.faults.add("bad_clone", path, token.line, problem)

    def read_ref(self, clone: DraftClone, token: Token, path: str) -> None:
        clone.ref = self.text(token, path, REF_LENGTH)
        if clone.ref is not None and (problem := ref_fault(clone.ref)):
            self.faults.add("bad_clone", path, token.line, problem)

    def read_needs(self, node: DraftNode, token: Token, path: str) -> None:
        for item, where in self.items(token, path):
            self._edges += 1
            if self._edges > self._limits.edges:
                self.faults.stop("over_limit", where, item.line, f"A plan holds at most {self._limits.edges:,} edges.")
            need = Need(where, item.line)
            if item.kind == MAPPING:
                self.mapping(NEED, need, item, where)
            else:
                self.read_on(need, item, where)
            if need.on is not None:
                node.needs.append(need)

    def read_on(self, need: Need, token: Token, path: str) -> None:
        need.on = self.scalar(token, path, "key_not_text")

    def read_waived(self, need: Need, token: Token, path: str) -> None:
        need.waived = self.text(token, path, self._limits.reason, blank=False)


PLAN: Final = Shape("a plan", {"plan": PlanReader.read_name, "objectives": PlanReader.read_objectives}, ("plan",))
TASK: Final = Shape(
    "a task",
    {
        "key": PlanReader.read_key,
        "title": PlanReader.read_title,
        "body": PlanReader.read_body,
        "needs": PlanReader.read_needs,
        "tasks": PlanReader.read_tasks,
    },
    ("key",),
)
OBJECTIVE: Final = Shape("an objective", {**TASK.fields, "clone": PlanReader.read_clone}, TASK.required)
CLONE: Final = Shape("a clone", {"repo": PlanReader.read_repo, "ref": PlanReader.read_ref}, ("repo",))
NEED: Final = Shape("a need", {"on": PlanReader.read_on, "waived": PlanReader.read_waived}, ("on",))
