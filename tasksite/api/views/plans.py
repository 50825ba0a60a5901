"""Plans: the list, one, its graph, and the import of a file."""

from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from rest_framework.request import Request

from graph import queries
from graph.errors import NotFound, PlanConflict, PlanInvalid
from graph.importing import read_file
from graph.plan_file import CONTENT_TYPES, Format
from graph.plan_types import PlanFile
from leases.acts import import_plan
from tasksite.api.authentication import caller_of
from tasksite.api.errors import UnsupportedMediaType
from tasksite.api.fields import query_flag, query_whole, text
from tasksite.api.idempotency import Answered, perform
from tasksite.api.operations import Operation, declares
from tasksite.api.paging import PAGE, PAGED, an_id, listing, next_url, number, packed, unpacked
from tasksite.api.parsing import Query, announced, media_type, whole_body
from tasksite.api.rendering import encoded, etag, not_modified, reply, show, tagged
from tasksite.api.roles import Access
from tasksite.api.views.base import ApiView, known

GRAPH_PAGE: Final = 10_000
"""Nodes of one answer of the graph, and the edges they have as dependents."""

IMPORT: Final = Query(
    dry_run=query_flag().says("Answer what would change, and write nothing."),
    prune=query_flag().says("Cancel what the file no longer has and has not settled."),
)
GRAPH: Final = Query(
    cursor=text(200).says("Where the last page ended: take it from `next`."),
    limit=query_whole(1, GRAPH_PAGE).says(f"Nodes of a page; {GRAPH_PAGE} where it is not given."),
)


class PlanList(ApiView):
    @declares(
        Operation(
            name="list_plans",
            tag="asking",
            summary="Plans",
            description="Each with its leaves and its containers by state.",
            access=Access.WORKER,
            query=PAGED,
            answers={200: "PlanPage", 304: None},
        )
    )
    def get(self, request: Request) -> HttpResponse:
        limit = self.params.get("limit", PAGE)
        after = unpacked(self.params.get("cursor"), an_id)
        rows = queries.plans(after=after[0] if after else "", limit=limit + 1)
        return listing(request, rows, limit, place=lambda plan: (plan.id,), show=queries.PlanRow.brief)

    @declares(
        Operation(
            name="import_plan",
            tag="acts of a lead",
            summary="Import a plan, or import it again",
            description="YAML or JSON, by content type. All or nothing; every fault is reported in one answer.",
            access=Access.LEAD,
            query=IMPORT,
            bodies={kind: {"$ref": "#/components/schemas/PlanFile"} for kind in CONTENT_TYPES},
            answers={201: "Imported", 200: "Imported"},
            refuses=(PlanInvalid, PlanConflict),
        )
    )
    def post(self, request: Request) -> HttpResponse:
        form = CONTENT_TYPES.get(media_type(request))
        if form is None:
            raise UnsupportedMediaType(f"A plan is {', '.join(CONTENT_TYPES)}.")
        body = _plan_bytes(request)
        upload = _Upload(body, form, prune=self.params.get("prune", False))

        def work() -> Answered:
            result = import_plan(plan=upload.plan(), caller=caller_of(request), **self.params)
            return 201 if result.created and not result.dry_run else 200, result.brief()

        return perform(request, work, body=body, prepare=upload.read)


class _Upload:
    """A plan file that is read before the transaction and kept for it, should it have to run twice."""

    def __init__(self, body: bytes, form: Format, *, prune: bool) -> None:
        self.body, self.form, self.prune = body, form, prune
        self.found: PlanFile | None = None

    def read(self) -> None:
        self.found = read_file(self.body, self.form, prune=self.prune)

    def plan(self) -> PlanFile:
        if self.found is None:
            self.read()
        assert self.found is not None, "read_file returns a plan or raises"
        return self.found


def _plan_bytes(request: Request) -> bytes:
    """The file, or its first bytes and one more than the limit: enough for the reader to refuse it."""
    most = settings.PLAN_MAX_BYTES + 1
    length = announced(request)
    underlying: HttpRequest = request._request
    return whole_body(underlying.read(most), min(length, most))


class PlanDetail(ApiView):
    @declares(
        Operation(
            name="get_plan",
            tag="asking",
            summary="One plan",
            description="With its leaves and its containers by state.",
            access=Access.WORKER,
            answers={200: "Plan"},
            refuses=(NotFound,),
        )
    )
    def get(self, request: Request, plan_id: str) -> HttpResponse:
        return show(queries.plan(known(plan_id, "plan")).brief())


class PlanGraph(ApiView):
    @declares(
        Operation(
            name="get_plan_graph",
            tag="asking",
            summary="The graph of a plan",
            description="Nodes in the order of the walk, each with the edges by which it needs others.",
            access=Access.WORKER,
            query=GRAPH,
            answers={200: "Graph", 304: None},
            refuses=(NotFound,),
        )
    )
    def get(self, request: Request, plan_id: str) -> HttpResponse:
        plan_id = known(plan_id, "plan")
        name = queries.plan_name(plan_id)
        limit = self.params.get("limit", GRAPH_PAGE)
        place = unpacked(self.params.get("cursor"), number)
        found = queries.graph_nodes(plan_id, after=place[0] if place else -1, limit=limit + 1)
        nodes = found[:limit]
        edges = queries.graph_edges(plan_id, first=nodes[0].position, last=nodes[-1].position) if nodes else []
        following = next_url(request, cursor=packed(nodes[-1].position)) if len(found) > limit else None
        tag = etag(name, nodes, edges, following)
        unchanged = not_modified(request, tag)
        if unchanged is not None:
            return unchanged
        answer: dict[str, Any] = {
            "plan": {"id": plan_id, "name": name},
            "nodes": [node.brief() for node in nodes],
            "edges": [edge.brief() for edge in edges],
            "next": following,
        }
        return tagged(reply(200, encoded(answer)), tag)
