"""Where the pages are."""

from django.contrib.auth.views import LogoutView
from django.urls import path, register_converter

from graph import ids
from tasksite.dashboard import bulk_views, token_views, views
from tasksite.dashboard.acts import ABANDON, UNBLOCK
from tasksite.signin import SignIn


class NodeId:
    """The ULID of a node, or of any other row, in either case, as the stored spelling."""

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
    path("tokens/", token_views.show_tokens, name="tokens"),
    path("tokens/<node_id:token_id>/revoke/", token_views.show_revoke, name="revoke"),
    path("login/", SignIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
]
