"""What a call to the server can come to, other than its answer: the exceptions of `leases.client`."""

from collections.abc import Mapping
from typing import Any, Final


class ApiError(Exception):
    """The call did not get what it asked for."""


class Unreachable(ApiError):
    """No answer that counts: no connection, no answer in time, or a server that says it is busy or not ready.

    What the call asked for may have been done all the same; asking again with the same key is safe.
    """

    def __init__(self, detail: str, *, retry_after: float = 0.0) -> None:
        super().__init__(detail)
        self.retry_after = retry_after
        """Seconds, as the server asked for with `Retry-After`; 0 where it did not."""


class NotTasksite(Unreachable):
    """Something answered, in another language than this API: a wrong URL, or a proxy that has a bad moment."""


class Refused(ApiError):
    """The server answered no, with a reason; nothing was changed.

    `code` is one of the snake_case names of the API, `status` the HTTP status, `detail` a sentence for people, and
    `fields` all else that the answer says (`fence`, `holder`, `waiting_on`, `errors` …).
    """

    def __init__(self, status: int, code: str, detail: str, fields: Mapping[str, Any]) -> None:
        super().__init__(f"{code}: {detail}" if detail else code)
        self.status = status
        self.code = code
        self.detail = detail
        self.fields = dict(fields)


class Invalid(Refused):
    """A field is wrong: `fields["errors"]` says which, and why."""


class Unauthenticated(Refused):
    """The token is unknown, expired or revoked."""


class Forbidden(Refused):
    """The token's role may not do this."""


class NotFound(Refused):
    """There is nothing under that id."""


class ClaimRefused(Refused):
    """The node cannot be claimed now: it is not ready, an ancestor is not, or its lane is taken."""


class LeaseLost(Refused):
    """The lease gives no right any more: closed, expired, overtaken by a newer fence, or another's."""


class WrongState(Refused):
    """The node or edge is not in a state that allows this."""


class PlanRefused(Refused):
    """The plan has faults or conflicts with work that goes on: `fields["faults"]` or `fields["nodes"]`."""


class KeyMismatch(Refused):
    """The idempotency key was used before, for another request."""


BY_CODE: Final[Mapping[str, type[Refused]]] = {
    "invalid": Invalid,
    "unauthenticated": Unauthenticated,
    "forbidden": Forbidden,
    "not_found": NotFound,
    "ancestor_incomplete": ClaimRefused,
    "container": ClaimRefused,
    "lease_refused": ClaimRefused,
    "not_ready": ClaimRefused,
    "lease_closed": LeaseLost,
    "lease_expired": LeaseLost,
    "not_holder": LeaseLost,
    "stale_fence": LeaseLost,
    "wrong_state": WrongState,
    "plan_conflict": PlanRefused,
    "plan_invalid": PlanRefused,
    "idempotency_mismatch": KeyMismatch,
}


def refusal(status: int, problem: Mapping[str, Any]) -> Refused:
    """The exception for an `application/problem+json` answer; a code that is not known here is a plain `Refused`."""
    code, detail = str(problem.get("code", "")), str(problem.get("detail", ""))
    rest = {name: value for name, value in problem.items() if name not in {"type", "title", "status", "detail", "code"}}
    return BY_CODE.get(code, Refused)(status, code, detail, rest)
