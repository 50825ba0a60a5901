"""An operation: one method of one URL, declared once for the guard, the parser and the schema."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from graph import errors as graph
from graph.errors import Refusal
from leases import errors as leases
from tasksite.api import errors as hall
from tasksite.api.parsing import NO_QUERY, Body, Query
from tasksite.api.roles import Access

Handler = TypeVar("Handler", bound=Callable[..., Any])

ALWAYS: Final[tuple[type[Refusal], ...]] = (graph.Invalid, hall.NotAcceptable, hall.Internal, graph.Busy)
WITH_TOKEN: Final[tuple[type[Refusal], ...]] = (hall.Unauthenticated,)
WITH_BODY: Final[tuple[type[Refusal], ...]] = (
    hall.LengthRequired,
    hall.TooLarge,
    hall.UnsupportedMediaType,
    leases.IdempotencyMismatch,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What an operation is called, who may call it, what it reads, what it answers and what it may refuse."""

    name: str
    summary: str
    tag: str
    access: Access
    answers: Mapping[int, str | None]
    """By status the component of the schema that the body is, None where there is no body."""
    query: Query = NO_QUERY
    body: Body | None = None
    refuses: tuple[type[Refusal], ...] = ()
    """Its own refusals; those that every operation has come on top."""
    description: str = ""
    bodies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Schemas by media type, for a body that is no JSON object of plain fields."""

    @property
    def reads_body(self) -> bool:
        return self.body is not None or bool(self.bodies)

    def refusals(self) -> tuple[type[Refusal], ...]:
        """Everything it may refuse."""
        found = [*self.refuses, *ALWAYS]
        if self.access is not Access.ANYONE:
            found += WITH_TOKEN
        if self.access is Access.LEAD:
            found.append(hall.Forbidden)
        if self.reads_body:
            found += WITH_BODY
        return tuple(dict.fromkeys(found))


def declares(operation: Operation) -> Callable[[Handler], Handler]:
    """Mark a view's handler as this operation. A handler without one is closed to everybody (`roles.HasAccess`)."""

    def mark(handler: Handler) -> Handler:
        handler.operation = operation  # type: ignore[attr-defined]
        return handler

    return mark


def operation_of(view: object, method: str) -> Operation | None:
    """The operation that a method of this view leads to."""
    handler = getattr(view, "get" if method == "HEAD" else method.lower(), None)
    return getattr(handler, "operation", None)
