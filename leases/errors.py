"""Refusals of the lease verbs (contract, sections 4 and 5)."""

from graph.errors import Refusal


class AncestorIncomplete(Refusal):
    """An ancestor of the node is settled or waits."""

    code = "ancestor_incomplete"


class LeaseRefused(Refusal):
    """A lease in this lane is in the way."""

    code = "lease_refused"


class Container(Refusal):
    """A container is claimed by hand only."""

    code = "container"


class NotHolder(Refusal):
    """The lease was granted to another token."""

    code = "not_holder"


class StaleFence(Refusal):
    """The fence is not the subject's current one."""

    code = "stale_fence"


class LeaseClosed(Refusal):
    """The lease was released, revoked or recovered."""

    code = "lease_closed"


class LeaseExpired(Refusal):
    """The lease ran past its expiry."""

    code = "lease_expired"


class IdempotencyMismatch(Refusal):
    """This Idempotency-Key was used for another request."""

    code = "idempotency_mismatch"
