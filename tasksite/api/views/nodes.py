"""Lists of nodes in pool order, and one node whole."""

from typing import Any, Final

from django.http import HttpResponse
from rest_framework.request import Request

from graph.errors import NotFound
from graph.rows import NodeRow
from graph.states import State
from leases import detail, queries
from leases.queries import NodeFilter
from tasksite.api.fields import choice, query_flag, text, ulid
from tasksite.api.operations import Operation, declares
from tasksite.api.paging import PAGE, PAGED, an_id, listing, number, unpacked
from tasksite.api.parsing import Query
from tasksite.api.rendering import show
from tasksite.api.roles import Access
from tasksite.api.views.base import ApiView, known

LEAF: Final = {"true": True, "false": False, "any": None}

NODES: Final = Query(
    state=choice(*State).says("Only nodes in this state. `ready` is the pool: leaves, unless `leaf` says otherwise."),
    plan=text(100).says("Only of this plan: its id or its name."),
    objective=ulid().says("Only of this lane, the objective included: the objective's id."),
    kind=choice("objective", "task"),
    leaf=choice(*LEAF).says("Leaves, containers, or any; where it is not given, any, but leaves for `state=ready`."),
    free=query_flag().says("`true` leaves out lanes that are taken."),
    q=text(200).says("Only where the full key or the title holds this, ASCII case aside."),
)


def node_filter(params: dict[str, Any]) -> NodeFilter:
    """The filter that a query asks for."""
    wanted = {name: params[name] for name in ("state", "plan", "objective", "kind", "q") if name in params}
    leaf = LEAF[params["leaf"]] if "leaf" in params else (True if params.get("state") == State.READY else None)
    return NodeFilter(**wanted, leaf=leaf, free=params.get("free", False))


class NodeList(ApiView):
    @declares(
        Operation(
            name="list_nodes",
            tag="asking",
            summary="Nodes in pool order",
            description="By plan, then by position in its walk. An unchanged list answers 304 to its ETag.",
            access=Access.WORKER,
            query=NODES | PAGED,
            answers={200: "NodePage", 304: None},
        )
    )
    def get(self, request: Request) -> HttpResponse:
        limit = self.params.get("limit", PAGE)
        after = unpacked(self.params.get("cursor"), an_id, number)
        only = node_filter(self.params)
        rows = queries.nodes(only, after=after and (after[0], after[1]), limit=limit + 1)
        return listing(
            request, rows, limit,
            place=lambda row: (row[PLAN_ID], row[POSITION]), show=lambda row: NodeRow(*row).brief(),
        )  # fmt: skip


PLAN_ID: Final = NodeRow._fields.index("plan_id")
POSITION: Final = NodeRow._fields.index("position")


class NodeDetail(ApiView):
    @declares(
        Operation(
            name="get_node",
            tag="asking",
            summary="All of a node",
            description="What it needs and what needs it, why it waits, its open lease, its runs with their attempts.",
            access=Access.WORKER,
            answers={200: "NodeDetail"},
            refuses=(NotFound,),
        )
    )
    def get(self, request: Request, node_id: str) -> HttpResponse:
        return show(detail.read(known(node_id)).brief())
