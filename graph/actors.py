"""Who asks: a token of the API, a person in the browser, or the operator's shell."""

import getpass
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """`name` is what events show; rights come from `role` and, over a lease, from `token_id` alone."""

    name: str
    role: str
    token_id: str | None = None


def operator() -> Caller:
    """Whoever sits at the server's own shell: may do all that a lead may."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a container may run under a number that has no name
        name = "operator"
    return Caller(name, "lead")
