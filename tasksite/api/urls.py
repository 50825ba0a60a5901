"""The URLs below /api/v1/. All end with a slash; nothing is redirected."""

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from graph.errors import NotFound
from tasksite.api import problems
from tasksite.api.views import acts, claims, docs, events, holding, nodes, plans, state

app_name = "api"

urlpatterns = [
    path("claims/", claims.ClaimNext.as_view(), name="claim-next"),
    path("nodes/", nodes.NodeList.as_view(), name="nodes"),
    path("nodes/<str:node_id>/", nodes.NodeDetail.as_view(), name="node"),
    path("nodes/<str:node_id>/events/", events.NodeEvents.as_view(), name="node-events"),
    path("nodes/<str:node_id>/claim/", claims.Claim.as_view(), name="claim"),
    path("nodes/<str:node_id>/heartbeat/", holding.Heartbeat.as_view(), name="heartbeat"),
    path("nodes/<str:node_id>/report/", holding.Report.as_view(), name="report"),
    path("nodes/<str:node_id>/reject/", holding.Reject.as_view(), name="reject"),
    path("nodes/<str:node_id>/release/", holding.Release.as_view(), name="release"),
    path("nodes/<str:node_id>/abandon/", acts.Abandon.as_view(), name="abandon"),
    path("nodes/<str:node_id>/unblock/", acts.Unblock.as_view(), name="unblock"),
    path("nodes/<str:node_id>/reopen/", acts.Reopen.as_view(), name="reopen"),
    path("nodes/<str:node_id>/cancel/", acts.Cancel.as_view(), name="cancel"),
    path("edges/<str:edge_id>/waive/", acts.Waive.as_view(), name="waive"),
    path("edges/<str:edge_id>/unwaive/", acts.Unwaive.as_view(), name="unwaive"),
    path("events/", events.EventList.as_view(), name="events"),
    path("leases/", state.LeaseList.as_view(), name="leases"),
    path("plans/", plans.PlanList.as_view(), name="plans"),
    path("plans/<str:plan_id>/", plans.PlanDetail.as_view(), name="plan"),
    path("plans/<str:plan_id>/graph/", plans.PlanGraph.as_view(), name="plan-graph"),
    path("status/", state.Status.as_view(), name="status"),
    path("schema/", docs.OpenApi.as_view(), name="schema"),
    path("schema/plan-file/", docs.PlanFileSchema.as_view(), name="plan-file-schema"),
    path("docs/", docs.Docs.as_view(), name="docs"),
]


@csrf_exempt
def unknown(request: HttpRequest) -> HttpResponse:
    """Everything else below /api/."""
    return problems.answer(NotFound("There is nothing at this URL. (All of them end with a slash.)"))
