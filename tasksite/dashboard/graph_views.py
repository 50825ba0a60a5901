"""What the graph of a plan is drawn from: where its boxes stand, and, again and again, their states."""

from typing import Final

from django.core.cache import cache
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotModified, JsonResponse
from django.views.decorators.http import require_safe

from graph import clock, ids
from graph.errors import NotFound
from tasksite.dashboard import drawing, live
from tasksite.dashboard.access import signed_in

MOST_OPEN: Final = 400
"""Containers that one URL opens."""
KEPT_S: Final = 60


@require_safe
@signed_in
def show_graph(request: HttpRequest, plan_id: str) -> HttpResponse:
    """The drawing. Asked with the ETag of one that still stands, 304 before it is worked out."""
    about = _subject(request, plan_id)
    etag = f'"{about.tag}"'
    if request.headers.get("If-None-Match") == etag:
        return _finished(HttpResponseNotModified(), etag)
    return _finished(HttpResponse(drawing.read(about).text, content_type="application/json"), etag)


@require_safe
@signed_in
def show_states(request: HttpRequest, plan_id: str) -> HttpResponse:
    """The states of what is drawn, read once a revision however many are watching."""
    stand = live.stand(request, clock.read())
    about = _subject(request, plan_id)
    etag = f'"{about.tag}-{stand.text}"'
    if request.headers.get("If-None-Match") == etag:
        return _finished(HttpResponseNotModified(), etag)
    found = cache.get_or_set(f"states:{etag}", lambda: drawing.states(about), KEPT_S)
    return _finished(JsonResponse(found), etag)


def _subject(request: HttpRequest, plan_id: str) -> drawing.Subject:
    asked = request.GET.get("open")
    opened = None if asked is None else [ids.parse(each) for each in asked.split(",") if each]
    if opened is not None and (None in opened or len(opened) > MOST_OPEN):
        raise BadRequest("What is opened are nodes.")
    try:
        return drawing.subject(plan_id, None if opened is None else [each for each in opened if each])
    except NotFound as missing:
        raise Http404 from missing


def _finished(response: HttpResponse, etag: str) -> HttpResponse:
    response["ETag"] = etag
    response["Cache-Control"] = "private, no-cache"
    return response
