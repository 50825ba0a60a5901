"""The views: they parse, call one service, and show what it answered."""

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.http import require_GET, require_safe

from tasksite.dashboard import live, overview, watch
from tasksite.dashboard.access import signed_in
from tasksite.dashboard.browse_views import window_in


@require_safe
@signed_in
def show_overview(request: HttpRequest) -> HttpResponse:
    return live.answer(request, overview.PAGE, window=window_in(request))


@require_GET
@signed_in
def watch_changes(request: HttpRequest) -> HttpResponseBase:
    return watch.answer()
