"""Holding and settling: what the holder of a lease does with it."""

from typing import Any, Final

from django.http import HttpResponse
from rest_framework.request import Request

from graph.errors import NotFound, Refusal, WrongState
from leases.errors import LeaseClosed, LeaseExpired, NotHolder, StaleFence
from leases.heartbeat import heartbeat
from leases.settle import reject, release, report
from tasksite.api import shapes
from tasksite.api.authentication import caller_of
from tasksite.api.fields import BIGGEST, any_json, choice, short_text, text, ulid, whole
from tasksite.api.idempotency import Answered, perform
from tasksite.api.operations import Operation, declares
from tasksite.api.parsing import Body
from tasksite.api.roles import Access
from tasksite.api.views.base import ApiView, known

TEXT_LIMIT: Final = 10_000
"""Characters of a summary or a reason."""

PROGRESS_LIMIT: Final = 1024
RESULT_LIMIT: Final = 64 * 1024
"""Bytes."""

HOLD: Final = Body(
    lease=ulid().must().says("The lease that the claim granted."),
    fence=whole(0, BIGGEST).must().says("Its fence."),
)

HEARTBEAT: Final = HOLD | Body(progress=short_text(PROGRESS_LIMIT).says("Shown on the node: at most 1 KiB."))
REPORT: Final = HOLD | Body(
    outcome=choice("done", "partial").must(),
    summary=text(TEXT_LIMIT).says("For people, and for the workers on what depends on this node."),
    result=any_json(RESULT_LIMIT).says("Any JSON of at most 64 KiB; dependents find it among their inputs."),
)
REJECT: Final = HOLD | Body(reason=text(TEXT_LIMIT, blank=False).must().says("Why this attempt failed."))
RELEASE: Final = HOLD | Body(reason=text(TEXT_LIMIT).says("Why the node is given back."))

REFUSES: Final[tuple[type[Refusal], ...]] = (NotFound, NotHolder, StaleFence, LeaseClosed, LeaseExpired, WrongState)


class Holding(ApiView):
    def shown(self, request: Request, node_id: str) -> dict[str, Any]:
        """What the holder shows, as the services take it."""
        fields = self.body(request)
        return {"node_id": known(node_id), "caller": caller_of(request), "lease_id": fields.pop("lease"), **fields}


class Heartbeat(Holding):
    @declares(
        Operation(
            name="heartbeat",
            tag="holding",
            summary="Keep a lease",
            description="Both leases live until now + ttl. `asks` names what the worker should look at.",
            access=Access.WORKER,
            body=HEARTBEAT,
            answers={200: "Beat"},
            refuses=REFUSES,
        )
    )
    def post(self, request: Request, node_id: str) -> HttpResponse:
        def work() -> Answered:
            return 200, shapes.beat(heartbeat(**self.shown(request, node_id)))

        return perform(request, work)


class Report(Holding):
    @declares(
        Operation(
            name="report",
            tag="holding",
            summary="Report the work as done or partial",
            description="Attempt and run close, both leases are released, the node settles, its dependents may start.",
            access=Access.WORKER,
            body=REPORT,
            answers={200: "Reported"},
            refuses=REFUSES,
        )
    )
    def post(self, request: Request, node_id: str) -> HttpResponse:
        def work() -> Answered:
            return 200, shapes.reported(report(**self.shown(request, node_id)))

        return perform(request, work)


class Reject(Holding):
    @declares(
        Operation(
            name="reject",
            tag="holding",
            summary="Report the attempt as failed",
            description="The next attempt opens under the same lease; at the limit it is null, and the node blocked.",
            access=Access.WORKER,
            body=REJECT,
            answers={200: "Rejected"},
            refuses=REFUSES,
        )
    )
    def post(self, request: Request, node_id: str) -> HttpResponse:
        def work() -> Answered:
            return 200, shapes.rejected(reject(**self.shown(request, node_id)))

        return perform(request, work)


class Release(Holding):
    @declares(
        Operation(
            name="release",
            tag="holding",
            summary="Give the node back",
            description="Counts towards nothing; the next worker may claim it. Ends a hold by hand, too.",
            access=Access.WORKER,
            body=RELEASE,
            answers={200: "Released"},
            refuses=REFUSES,
        )
    )
    def post(self, request: Request, node_id: str) -> HttpResponse:
        def work() -> Answered:
            return 200, shapes.released(release(**self.shown(request, node_id)))

        return perform(request, work)
