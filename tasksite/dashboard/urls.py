"""Where the pages are."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path, register_converter

from graph import ids
from tasksite.dashboard import node_views, views
from tasksite.dashboard.act_views import show_act
from tasksite.dashboard.acts import ON_EDGES, ON_NODES


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
    path("nodes/<node_id:node_id>/", node_views.show_node, name="node"),
    path("nodes/<node_id:node_id>/body/", node_views.show_body, name="node-body"),
    *(path(f"nodes/<node_id:subject_id>/{act.name}/", show_act, {"act": act}, name=act.name) for act in ON_NODES),
    *(path(f"edges/<node_id:subject_id>/{act.name}/", show_act, {"act": act}, name=act.name) for act in ON_EDGES),
    path("login/", LoginView.as_view(template_name="pages/login.html", redirect_authenticated_user=True), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
]
