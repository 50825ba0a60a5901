"""Who asks: a token of the API, a person in the browser, or the operator's shell."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """`name` is what events show; rights come from `role` and, over a lease, from `token_id` alone."""

    name: str
    role: str
    token_id: str | None = None
