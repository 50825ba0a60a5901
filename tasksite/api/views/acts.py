"""The acts of a lead on nodes and edges, each with a reason that lands in the event."""

from collections.abc import Callable
from typing import Final

from django.http import HttpResponse
from rest_framework.request import Request

from graph.editing import Edited, reopen, unblock, unwaive, waive
from graph.errors import NotFound, WrongState
from leases.acts import cancel
from leases.errors import StaleFence
from leases.recover import abandon
from tasksite.api import shapes
from tasksite.api.authentication import caller_of
from tasksite.api.fields import BIGGEST, text, whole
from tasksite.api.idempotency import Answered, perform
from tasksite.api.operations import Operation, declares
from tasksite.api.parsing import Body
from tasksite.api.roles import Access
from tasksite.api.views.base import ApiView, known
from tasksite.api.views.holding import TEXT_LIMIT

REASON: Final = Body(reason=text(TEXT_LIMIT, blank=False).must().says("Lands in the event."))
ABANDON: Final = REASON | Body(fence=whole(0, BIGGEST).says("Abandon this very claim and no later one."))


def _act(name: str, summary: str, description: str, body: Body = REASON, *, fenced: bool = False) -> Operation:
    return Operation(
        name=name,
        tag="acts of a lead",
        summary=summary,
        description=description,
        access=Access.LEAD,
        body=body,
        answers={200: "Edited"},
        refuses=(NotFound, WrongState, StaleFence) if fenced else (NotFound, WrongState),
    )


class Act(ApiView):
    """What all acts share: they answer the node and what the act did to others."""

    def act(self, request: Request, done: Callable[[], Edited]) -> HttpResponse:
        def work() -> Answered:
            return 200, shapes.edited(done())

        return perform(request, work)


class Abandon(Act):
    @declares(
        _act(
            "abandon",
            "End an open claim, live or stale",
            "Leases are revoked, the attempt is cancelled. With `fence`, a second click never kills a new claim.",
            ABANDON,
            fenced=True,
        )
    )
    def post(self, request: Request, node_id: str) -> HttpResponse:
        return self.act(
            request, lambda: abandon(node_id=known(node_id), caller=caller_of(request), **self.body(request))
        )


class Unblock(Act):
    @declares(_act("unblock", "Let a blocked leaf be claimed again", "Both counts of failures start anew."))
    def post(self, request: Request, node_id: str) -> HttpResponse:
        return self.act(
            request, lambda: unblock(node_id=known(node_id), caller=caller_of(request), **self.body(request))
        )


class Reopen(Act):
    @declares(
        _act(
            "reopen",
            "Take a node out of its settled state",
            "A leaf; or a container that a cancel settled, whose last cancel is undone. Dependents regress.",
        )
    )
    def post(self, request: Request, node_id: str) -> HttpResponse:
        return self.act(
            request, lambda: reopen(node_id=known(node_id), caller=caller_of(request), **self.body(request))
        )


class Cancel(Act):
    @declares(_act("cancel", "Drop a node", "A leaf that does not run, or all below a container that has not settled."))
    def post(self, request: Request, node_id: str) -> HttpResponse:
        return self.act(
            request, lambda: cancel(node_id=known(node_id), caller=caller_of(request), **self.body(request))
        )


class Waive(Act):
    @declares(_act("waive", "Lay a waiver over an edge", "The dependent goes on as if the edge were not there."))
    def post(self, request: Request, edge_id: str) -> HttpResponse:
        return self.act(
            request, lambda: waive(edge_id=known(edge_id, "edge"), caller=caller_of(request), **self.body(request))
        )


class Unwaive(Act):
    @declares(_act("unwaive", "Take the waiver off an edge", "The edge counts again, as it did before."))
    def post(self, request: Request, edge_id: str) -> HttpResponse:
        return self.act(
            request, lambda: unwaive(edge_id=known(edge_id, "edge"), caller=caller_of(request), **self.body(request))
        )
