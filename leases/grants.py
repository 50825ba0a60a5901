"""What a claim and a heartbeat grant, as the worker sees it. Times are readings of `clock()`, in seconds."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self


def clock() -> float:
    """Seconds on a clock that never steps; where the system has one, a clock that also counts while it sleeps."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


@dataclass(frozen=True, slots=True)
class Clone:
    """Where the lane's work happens: `dir` names the directory, made from `repo` at `ref`, or empty without a repo."""

    repo: str | None
    ref: str | None
    dir: str


@dataclass(frozen=True, slots=True)
class Grant:
    """The right to work on a node until `deadline`. All verbs that hold or settle take it."""

    node: Mapping[str, Any]
    lease_id: str
    fence: int
    attempt: int | None
    """Number of the open attempt; None for a lane that is held by hand."""
    heartbeat_every_s: float
    deadline: float
    """On `clock()`: when the claim was first sent, plus the life that the answer gave the lease.

    The server counted from a later moment, so the worker always stops first.
    """
    clone: Clone
    inputs: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def parse(cls, answer: Mapping[str, Any], sent_at: float) -> Self:
        lease, attempt, clone = answer["lease"], answer["attempt"], answer["clone"]
        return cls(
            node=answer["node"],
            lease_id=lease["id"],
            fence=lease["fence"],
            attempt=attempt["number"] if attempt else None,
            heartbeat_every_s=float(answer["heartbeat_every_s"]),
            deadline=sent_at + float(lease["expires_in_s"]),
            clone=Clone(repo=clone["repo"], ref=clone.get("ref"), dir=clone["dir"]),
            inputs=answer["inputs"],
        )

    @property
    def node_id(self) -> str:
        return str(self.node["id"])

    @property
    def full_key(self) -> str:
        return str(self.node["full_key"])


@dataclass(frozen=True, slots=True)
class Beat:
    """A heartbeat's answer: the new deadline, on `clock()`, and what the server asks of the worker."""

    deadline: float
    asks: list[str]
