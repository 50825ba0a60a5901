"""Where the pages are."""

from django.contrib.auth.views import LogoutView
from django.urls import path, register_converter

from tasksite.dashboard import (
    browse_views,
    bulk_views,
    graph_views,
    import_views,
    node_views,
    plan_views,
    token_views,
    views,
)
from tasksite.dashboard.act_views import show_act
from tasksite.dashboard.acts import ON_EDGES, ON_NODES
from tasksite.dashboard.converters import NodeId, WorkerName
from tasksite.signin import SignIn

register_converter(NodeId, "node_id")
register_converter(WorkerName, "worker_name")

urlpatterns = [
    path("", views.show_overview, name="overview"),
    path("watch/", views.watch_changes, name="watch"),
    path("nodes/<node_id:node_id>/", node_views.show_node, name="node"),
    path("nodes/<node_id:node_id>/body/", node_views.show_body, name="node-body"),
    *(path(f"nodes/<node_id:subject_id>/{act.name}/", show_act, {"act": act}, name=act.name) for act in ON_NODES),
    *(path(f"edges/<node_id:subject_id>/{act.name}/", show_act, {"act": act}, name=act.name) for act in ON_EDGES),
    path("lanes/<node_id:node_id>/", browse_views.show_lane, name="lane"),
    path("workers/", browse_views.show_workers, name="workers"),
    path("workers/<worker_name:name>/", browse_views.show_worker, name="worker"),
    path("events/", browse_views.show_events, name="events"),
    path("events/<int:seq>/", browse_views.show_event, name="event"),
    path("search/", browse_views.show_search, name="search"),
    path("plans/", plan_views.show_plans, name="plans"),
    path("plans/import/", import_views.show_import, name="import"),
    path("plans/<node_id:plan_id>/import/", import_views.show_import, name="import_again"),
    path("plans/<node_id:plan_id>/", plan_views.show_plan, name="plan"),
    path("plans/<node_id:plan_id>/graph.json", graph_views.show_graph, name="graph"),
    path("plans/<node_id:plan_id>/states.json", graph_views.show_states, name="graph_states"),
    path("plans/<node_id:plan_id>/export.yaml", plan_views.export_plan, {"form": "yaml"}, name="export_yaml"),
    path("plans/<node_id:plan_id>/export.json", plan_views.export_plan, {"form": "json"}, name="export_json"),
    path("bulk/abandon/", bulk_views.show_bulk, {"bulk_act": bulk_views.ABANDON_STALE}, name="bulk_abandon"),
    path("bulk/unblock/", bulk_views.show_bulk, {"bulk_act": bulk_views.UNBLOCK}, name="bulk_unblock"),
    path("tokens/", token_views.show_tokens, name="tokens"),
    path("tokens/<node_id:token_id>/revoke/", token_views.show_revoke, name="revoke"),
    path("login/", SignIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
]
