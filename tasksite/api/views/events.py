"""The timeline: of everything, and of one node."""

from typing import Final

from django.http import HttpResponse
from rest_framework.request import Request

from graph import feed, queries
from graph.errors import NotFound
from graph.events import TYPES
from tasksite.api.fields import BIGGEST, choice, query_whole, text, ulid
from tasksite.api.operations import Operation, declares
from tasksite.api.paging import LONGEST_PAGE, PAGE, next_url
from tasksite.api.parsing import Query
from tasksite.api.rendering import encoded, etag, not_modified, reply, tagged
from tasksite.api.roles import Access
from tasksite.api.views.base import ApiView, known

OF_NODE: Final = Query(
    after=query_whole(0, BIGGEST).says("The `cursor` of the last page: a reader that follows it misses nothing."),
    limit=query_whole(1, LONGEST_PAGE).says(f"Events of a page; {PAGE} where it is not given."),
    type=choice(*sorted(TYPES)).says("Only events of this type."),
)
OF_ALL: Final = OF_NODE | Query(
    plan=text(100).says("Only of this plan: its id or its name."), node=ulid().says("Only of this node: its id.")
)


NO_PLAN: Final = "-"
"""What no event has as its plan."""


class Feed(ApiView):
    def page(self, request: Request, **only: str | None) -> HttpResponse:
        limit = self.params.get("limit", PAGE)
        page = feed.page(after=self.params.get("after", 0), limit=limit, type=self.params.get("type"), **only)
        following = next_url(request, after=page.cursor) if page.more else None
        tag = etag(page.events, page.cursor, following)
        unchanged = not_modified(request, tag)
        if unchanged is not None:
            return unchanged
        results = [event.brief() for event in page.events]
        return tagged(reply(200, encoded({"results": results, "next": following, "cursor": str(page.cursor)})), tag)


class EventList(Feed):
    @declares(
        Operation(
            name="list_events",
            tag="asking",
            summary="The timeline",
            description="Oldest first. `next` is null when there are no more now: come again with `cursor` as `after`.",
            access=Access.WORKER,
            query=OF_ALL,
            answers={200: "EventPage", 304: None},
        )
    )
    def get(self, request: Request) -> HttpResponse:
        plan = self.params.get("plan")
        plan_id = None if plan is None else queries.plan_id(plan) or NO_PLAN
        return self.page(request, plan=plan_id, node=self.params.get("node"))


class NodeEvents(Feed):
    @declares(
        Operation(
            name="list_node_events",
            tag="asking",
            summary="The timeline of one node",
            description="Oldest first, with `next` and `cursor` as in the whole timeline.",
            access=Access.WORKER,
            query=OF_NODE,
            answers={200: "EventPage", 304: None},
            refuses=(NotFound,),
        )
    )
    def get(self, request: Request, node_id: str) -> HttpResponse:
        return self.page(request, node=queries.existing(known(node_id)))
