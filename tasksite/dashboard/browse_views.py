"""The views of what a reader follows: lanes, workers, events, search. They parse, call one read, and show it."""

from typing import Final
from unicodedata import normalize

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from graph import clock, ids, queries
from graph.errors import NotFound
from graph.events import TYPES
from tasksite.dashboard import events, lane, lanes, live, search, workers
from tasksite.dashboard.access import is_fragment, signed_in

LONGEST: Final = 200


@require_safe
@signed_in
def show_lane(request: HttpRequest, node_id: str) -> HttpResponse:
    window, after = window_in(request), _number(request, "after", -1)
    try:
        return live.answer(request, lane.PAGE, node_id=node_id, window=window, after=after)
    except NotFound as missing:
        raise Http404 from missing


@require_safe
@signed_in
def show_workers(request: HttpRequest) -> HttpResponse:
    return live.answer(request, workers.LIST)


@require_safe
@signed_in
def show_worker(request: HttpRequest, name: str) -> HttpResponse:
    try:
        return live.answer(request, workers.PAGE, name=name)
    except NotFound as missing:
        raise Http404 from missing


@require_safe
@signed_in
def show_events(request: HttpRequest) -> HttpResponse:
    """The first page is live; the ones behind it stand still, so that a reader keeps the place."""
    only, before = _filter(request), _number(request, "before", 0)
    if before:
        return live.still(request, events.PAGE, only=only, before=before)
    return live.answer(request, events.PAGE, only=only)


@require_safe
@signed_in
def show_event(request: HttpRequest, seq: int) -> HttpResponse:
    try:
        found = events.one(seq) if seq <= events.HIGHEST else None
    except NotFound as missing:
        raise Http404 from missing
    if found is None:
        raise Http404
    return render(request, "pages/event.html", {**found, "now": clock.read()})


@require_safe
@never_cache
@signed_in
def show_search(request: HttpRequest) -> HttpResponse:
    q = _text(request, "q").strip()
    context = {"q": q, "hits": search.find(q) if q else search.NOTHING}
    return render(request, "partials/found.html" if is_fragment(request) else "pages/search.html", context)


# Queries


def window_in(request: HttpRequest) -> str:
    window = lanes.parsed_window(request.GET.get("window", ""))
    if window is None:
        raise BadRequest("There is no such window.")
    return window


def _filter(request: HttpRequest) -> events.Filter:
    type_ = request.GET.get("type", "")
    if type_ and type_ not in TYPES:
        raise BadRequest("There is no such type of event.")
    plan = _text(request, "plan")
    return events.Filter(
        type=type_,
        plan=(queries.plan_id(plan) or plan) if plan else "",
        node=_id(request, "node"),
        lane=_id(request, "lane"),
        actor=_text(request, "actor").strip(),
        text=_text(request, "text").strip(),
    )


def _text(request: HttpRequest, name: str) -> str:
    text = request.GET.get(name, "")
    if len(text) > LONGEST or "\0" in text:
        raise BadRequest(f"{name} is no text that could be looked for.")
    return normalize("NFC", text)  # as all that is stored


def _id(request: HttpRequest, name: str) -> str:
    text = request.GET.get(name, "")
    found = ids.parse(text) if text else ""
    if found is None:
        raise BadRequest(f"{name} is no id.")
    return found


def _number(request: HttpRequest, name: str, otherwise: int) -> int:
    text = request.GET.get(name, "")
    if not text:
        return otherwise
    if not (text.isascii() and text.isdigit()) or int(text[:20]) > events.HIGHEST:
        raise BadRequest(f"{name} is no number that a page has given.")
    return int(text[:20])
