"""How things stand: open leases, and the status."""

from typing import Final

from django.http import HttpResponse
from rest_framework.request import Request

from graph import clock
from leases import queries
from tasksite.api.fields import query_flag
from tasksite.api.operations import Operation, declares
from tasksite.api.paging import PAGE, PAGED, an_id, listing, number, unpacked
from tasksite.api.parsing import Query
from tasksite.api.rendering import show
from tasksite.api.roles import Access
from tasksite.api.views.base import ApiView

LEASES: Final = PAGED | Query(live=query_flag().says("`true`: only live leases; `false`: only stale ones."))


class LeaseList(ApiView):
    @declares(
        Operation(
            name="list_leases",
            tag="asking",
            summary="Open leases",
            description="The one that ends first in front. Expired and not recovered is open: it is stale.",
            access=Access.WORKER,
            query=LEASES,
            answers={200: "LeasePage", 304: None},
        )
    )
    def get(self, request: Request) -> HttpResponse:
        now = clock.read()
        limit = self.params.get("limit", PAGE)
        after = unpacked(self.params.get("cursor"), number, an_id)
        rows = queries.leases(
            now=now, live=self.params.get("live"), after=after and (after[0], after[1]), limit=limit + 1
        )
        return listing(
            request, rows, limit,
            place=lambda lease: (lease.expires_at, lease.id), show=lambda lease: lease.brief(now),
            also=[lease.stale(now) for lease in rows],
        )  # fmt: skip


class Status(ApiView):
    @declares(
        Operation(
            name="get_status",
            tag="asking",
            summary="How things stand",
            description="Nodes by state; live and stale claims with holder, fence, expiry and age; what to do about "
            "each stale one.",
            access=Access.WORKER,
            answers={200: "Status"},
        )
    )
    def get(self, request: Request) -> HttpResponse:
        return show(queries.status().brief())
