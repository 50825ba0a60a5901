"""Claim: by id, or the pool's next."""

from typing import Final

from django.http import HttpResponse
from rest_framework.request import Request

from graph.errors import NotFound, NotReady
from leases.claim import TTL_RANGE, claim, claim_next
from leases.errors import AncestorIncomplete, Container, LeaseRefused
from tasksite.api import shapes
from tasksite.api.authentication import caller_of
from tasksite.api.fields import flag, name, text, ulid, whole
from tasksite.api.idempotency import Answered, perform
from tasksite.api.operations import Operation, declares
from tasksite.api.parsing import Body
from tasksite.api.roles import Access
from tasksite.api.views.base import ApiView, known

WISHES: Final = Body(
    ttl_s=whole(*TTL_RANGE).says("Seconds that the lease lives without a heartbeat."),
    holder=name(200).says("What the worker's process calls itself; the token's name where it is not given."),
)
CLAIM: Final = WISHES | Body(hand=flag().says("Hold a container's lane for work by hand; a leaf needs it not."))
CLAIM_NEXT: Final = WISHES | Body(
    plan=name(100).says("Only of this plan: its id or its name."),
    objective=ulid().says("Only of this lane: the objective's id."),
    q=text(200).says("Only where the full key or the title holds this, ASCII case aside."),
)


class Claim(ApiView):
    @declares(
        Operation(
            name="claim_node",
            tag="claims",
            summary="Claim one node",
            description="Grants a fenced lease on the node and on its objective, a run and an attempt, all or nothing.",
            access=Access.WORKER,
            body=CLAIM,
            answers={201: "Grant"},
            refuses=(NotFound, Container, AncestorIncomplete, LeaseRefused, NotReady),
        )
    )
    def post(self, request: Request, node_id: str) -> HttpResponse:
        def work() -> Answered:
            found = claim(node_id=known(node_id), caller=caller_of(request), **self.body(request))
            return 201, shapes.grant(found)

        return perform(request, work)


class ClaimNext(ApiView):
    @declares(
        Operation(
            name="claim_next",
            tag="claims",
            summary="Claim the next node of the pool",
            description="The first ready leaf, in pool order, whose lane is free; 204 when there is none.",
            access=Access.WORKER,
            body=CLAIM_NEXT,
            answers={201: "Grant", 204: None},
        )
    )
    def post(self, request: Request) -> HttpResponse:
        def work() -> Answered:
            found = claim_next(caller=caller_of(request), **self.body(request))
            return (204, None) if found is None else (201, shapes.grant(found))

        return perform(request, work)
