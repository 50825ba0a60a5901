"""Refusals: what the server answers where a request cannot be granted.

Each has a stable `code` (contract, section 6) and fields for the answer; none knows of HTTP. A refused
request changes nothing: the transaction that raises one is rolled back, `keeps_marks` aside.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class Refusal(Exception):
    """The request is refused; nothing was changed."""

    code: ClassVar[str]
    keeps_marks: bool = False
    """The expiry marks that the sweep wrote before this refusal stand (contract, section 4, step 2)."""

    def __init__(self, detail: str = "", **fields: Any) -> None:
        self.detail = detail or (type(self).__doc__ or "").strip().splitlines()[0]
        self.fields: dict[str, Any] = fields
        super().__init__(self.detail)


class NotFound(Refusal):
    """There is nothing under that id."""

    code = "not_found"


class Invalid(Refusal):
    """A field of the request is wrong."""

    code = "invalid"

    def __init__(self, errors: Mapping[str, Sequence[str]], detail: str = "") -> None:
        named = "; ".join(f"{field}: {' '.join(messages)}" for field, messages in errors.items())
        super().__init__(detail or named, errors={field: list(messages) for field, messages in errors.items()})


class WrongState(Refusal):
    """The subject is not in a state that allows this."""

    code = "wrong_state"


class NotReady(Refusal):
    """The node cannot be claimed in the state it is in."""

    code = "not_ready"


class PlanInvalid(Refusal):
    """The plan file has faults; nothing was imported."""

    code = "plan_invalid"


class PlanConflict(Refusal):
    """The plan file would change what is being worked on; nothing was imported."""

    code = "plan_conflict"


class Busy(Refusal):
    """The database stayed busy; try again."""

    code = "busy"
