"""The states of a node and the moves between them (contract, section 2)."""

from enum import StrEnum
from typing import Final


class State(StrEnum):
    PENDING = "pending"
    READY = "ready"
    RUNNING = "running"
    DONE = "done"
    PARTIAL = "partial"
    BLOCKED = "blocked"
    CANCELLED = "cancelled"


SATISFYING: Final = frozenset({State.DONE, State.PARTIAL})
"""A dependency in one of these satisfies the edges that point at it."""

SETTLED: Final = SATISFYING | {State.CANCELLED}
"""Nothing more happens to a node in one of these until a lead reopens it."""

WAITING: Final = frozenset({State.PENDING, State.READY})
"""The two states between which readiness alone decides."""

LEAF_MOVES: Final[dict[State, frozenset[State]]] = {
    State.PENDING: frozenset({State.READY, State.CANCELLED}),
    State.READY: frozenset({State.PENDING, State.RUNNING, State.CANCELLED}),
    State.RUNNING: frozenset({State.DONE, State.PARTIAL, State.BLOCKED, State.READY, State.PENDING}),
    State.BLOCKED: frozenset({State.READY, State.PENDING, State.CANCELLED}),
    State.DONE: frozenset({State.READY, State.PENDING}),
    State.PARTIAL: frozenset({State.READY, State.PENDING}),
    State.CANCELLED: frozenset({State.READY, State.PENDING}),
}
"""Legal moves of a leaf. Containers move by roll-up alone and may go anywhere but to blocked."""
