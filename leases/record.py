"""Rows as plain values: what the events replay to, and what the tables hold, in one shape so that they compare.

`expires_at`, `progress` and `beat_at` of a lease are left out: heartbeats move them and write no event. So is
`reopened` of an edge. Instants are microseconds.
"""

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class PlanRecord:
    name: str
    created_at: int
    imported_at: int


@dataclass(slots=True)
class NodeRecord:
    plan: str
    objective: str
    parent: str | None
    key: str
    full_key: str
    title: str
    body: str
    clone_repo: str
    clone_ref: str
    state: str = "pending"
    leaf: bool = True
    position: int = -1
    ever_claimed: bool = False
    held: bool = False
    rejections: int = 0
    stale_ends: int = 0
    cancel_act: str = ""
    last_cancel: str = ""
    pruned: bool = False


@dataclass(slots=True)
class EdgeRecord:
    dependent: str
    dependency: str
    waived: bool
    waive_reason: str


@dataclass(slots=True)
class LeaseRecord:
    subject: str
    objective: str
    moves_with: str | None
    token: str
    holder: str
    fence: int
    generation: int
    ttl_s: int
    acquired_at: int
    expired_at: int | None = None
    ended_at: int | None = None
    ending: str = ""


@dataclass(slots=True)
class RunRecord:
    node: str
    lease: str
    opened_at: int
    closed_at: int | None = None
    outcome: str = ""
    summary: str = ""
    result: Any = None


@dataclass(slots=True)
class AttemptRecord:
    run: str
    number: int
    opened_at: int
    closed_at: int | None = None
    outcome: str = ""
    reason: str = ""


@dataclass(slots=True)
class Record:
    """Everything, by id."""

    plans: dict[str, PlanRecord] = field(default_factory=dict)
    nodes: dict[str, NodeRecord] = field(default_factory=dict)
    edges: dict[str, EdgeRecord] = field(default_factory=dict)
    leases: dict[str, LeaseRecord] = field(default_factory=dict)
    runs: dict[str, RunRecord] = field(default_factory=dict)
    attempts: dict[str, AttemptRecord] = field(default_factory=dict)
