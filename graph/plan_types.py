"""A plan as its file gives it, and the limits that a file is held to."""

from dataclasses import dataclass
from typing import NamedTuple

from graph.plan_faults import Fault


@dataclass(frozen=True, slots=True)
class Limits:
    """What a file may hold (contract, section 7). Lengths are in characters, of the text as it is stored."""

    nodes: int = 200_000
    edges: int = 1_000_000
    bytes: int = 64 * 1024 * 1024
    title: int = 500
    body: int = 100_000
    reason: int = 10_000
    """Of a waiver."""
    depth: int = 10
    """Nodes from an objective down to its deepest subtask, both counted."""
    local_roots: tuple[str, ...] = ()
    """Local paths that `clone.repo` may be, or lie under."""


class Clone(NamedTuple):
    """What a lane's directory starts from."""

    repo: str
    ref: str
    """Empty: what the repository's HEAD names."""


class PlanNode(NamedTuple):
    """An objective or a task."""

    key: str
    full_key: str
    title: str
    body: str
    parent: str | None
    """The full key of the node above."""
    clone: Clone | None
    path: str
    line: int


class PlanEdge(NamedTuple):
    """`dependent` needs `dependency`: full keys."""

    dependent: str
    dependency: str
    waived: str | None
    """Why the edge is waived from the start; None where it is not."""
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A plan without a fault: keys unique, references resolved, no cycle."""

    name: str
    nodes: tuple[PlanNode, ...]
    """In the order of the document: a parent before its children."""
    edges: tuple[PlanEdge, ...]
    """By dependent, in the order of the document; none twice."""
    warnings: tuple[Fault, ...] = ()
