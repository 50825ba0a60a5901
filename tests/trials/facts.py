"""What the model keeps and answers, as plain values."""

from dataclasses import dataclass, field
from typing import Any

WAITING = ("pending", "ready")
SATISFYING = ("done", "partial")
SETTLED = ("done", "partial", "cancelled")
SECOND = 1_000_000


class Refused(Exception):
    """The model's answer is a refusal with this code."""

    def __init__(self, code: str, **fields: Any) -> None:
        self.code = code
        self.fields = fields
        super().__init__(code)


@dataclass
class Node:
    parent: str | None
    objective: str
    children: list[str] = field(default_factory=list)
    life: str = "open"
    """Of a leaf: open, running, blocked, done, partial, cancelled."""
    claimed: bool = False
    rejections: int = 0
    stale_ends: int = 0
    cancelled_by: str = ""
    """The act that cancelled it; of a container, `last_cancel` is the act of the last cancel called on it."""
    last_cancel: str = ""


@dataclass
class Edge:
    dependent: str
    dependency: str
    waived: bool
    reopened: bool = False


@dataclass
class Lease:
    subject: str
    beside: int | None
    """The number of the lease that it moves with."""
    worker: str
    fence: int
    ttl_s: int
    expires_at: int
    attempt: int = 1
    marked: bool = False
    ended: bool = False

    def stale(self, now: int) -> bool:
        return self.marked or now >= self.expires_at


@dataclass
class Lane:
    running: bool = False
    """The objective's run is active."""
    generation: int = 0
    unclean: bool = True


@dataclass
class Grant:
    lease: int
    lane_lease: int
    adopted: bool
    generation: int
    inputs: list[tuple[str, str | None]]


@dataclass
class Edited:
    became_ready: set[str]
    demoted: set[str]
    running_dependents: set[str]
    settled_dependents: set[str]
