"""Where the pages are."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path, register_converter

from graph import ids
from tasksite.dashboard import bulk_views, views
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
    path("bulk/abandon/", bulk_views.show_bulk, {"bulk_act": bulk_views.ABANDON_STALE}, name="bulk_abandon"),
    path("bulk/unblock/", bulk_views.show_bulk, {"bulk_act": bulk_views.UNBLOCK}, name="bulk_unblock"),
    path("login/", LoginView.as_view(template_name="pages/login.html", redirect_authenticated_user=True), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
]
