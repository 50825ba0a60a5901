"""Where the pages are."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path, register_converter

from graph import ids
from tasksite.dashboard import graph_views, import_views, plan_views, views
from tasksite.dashboard.acts import ABANDON, UNBLOCK


class NodeId:
    """A ULID in either case, as the stored spelling."""

    regex = "[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}"

    def to_python(self, value: str) -> str:
        found = ids.parse(value)
        if found is None:
            raise ValueError(value)
        return found

    def to_url(self, value: str) -> str:
        return value


register_converter(NodeId, "node_id")

urlpatterns = [
    path("", views.show_overview, name="overview"),
    path("watch/", views.watch_changes, name="watch"),
    path("nodes/<node_id:node_id>/", views.show_node, name="node"),
    path("nodes/<node_id:node_id>/abandon/", views.show_act, {"act": ABANDON}, name="abandon"),
    path("nodes/<node_id:node_id>/unblock/", views.show_act, {"act": UNBLOCK}, name="unblock"),
    path("plans/", plan_views.show_plans, name="plans"),
    path("plans/import/", import_views.show_import, name="import"),
    path("plans/<node_id:plan_id>/import/", import_views.show_import, name="import_again"),
    path("plans/<node_id:plan_id>/", plan_views.show_plan, name="plan"),
    path("plans/<node_id:plan_id>/graph.json", graph_views.show_graph, name="graph"),
    path("plans/<node_id:plan_id>/states.json", graph_views.show_states, name="graph_states"),
    path("plans/<node_id:plan_id>/export.yaml", plan_views.export_plan, {"form": "yaml"}, name="export_yaml"),
    path("plans/<node_id:plan_id>/export.json", plan_views.export_plan, {"form": "json"}, name="export_json"),
    path("login/", LoginView.as_view(template_name="pages/login.html", redirect_authenticated_user=True), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
]
