"""The views of plans: the list, one with its graph, and its file."""

import json
from typing import Final

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.http import content_disposition_header
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from graph import exporting, ids, queries
from graph.errors import NotFound
from graph.states import State
from tasksite.dashboard import live, plan, plans
from tasksite.dashboard.access import signed_in

MOST_SOUGHT: Final = 200
"""Characters of a search."""


@require_safe
@signed_in
def show_plans(request: HttpRequest) -> HttpResponse:
    return live.answer(request, plans.PAGE)


@require_safe
@signed_in
def show_plan(request: HttpRequest, plan_id: str) -> HttpResponse:
    state = request.GET.get("state", "")
    if state and state not in [*State]:
        raise BadRequest("There is no such state.")
    try:
        return live.answer(
            request,
            plan.PAGE,
            plan_id=plan_id,
            q=_sought(request),
            state=state,
            opened=_opened(request),
            after=_after(request),
        )
    except NotFound as missing:
        raise Http404 from missing


def _sought(request: HttpRequest) -> str:
    """What `q` asks for. No database holds a NUL, and none is asked for one."""
    q = request.GET.get("q", "").strip()
    if len(q) > MOST_SOUGHT or "\0" in q:
        raise BadRequest("A search is short text.")
    return q


def _opened(request: HttpRequest) -> str:
    asked = request.GET.get("open", "")
    found = ids.parse(asked)
    if asked and found is None:
        raise BadRequest("What is opened is a node.")
    return found or ""


def _after(request: HttpRequest) -> int:
    asked = request.GET.get("after", "")
    if not asked:
        return -1
    if not (asked.isascii() and asked.isdigit() and len(asked) < 19):
        raise BadRequest("The table goes on after a position.")
    return int(asked)


@require_safe
@never_cache
@signed_in
def export_plan(request: HttpRequest, plan_id: str, form: str) -> HttpResponse:
    """The plan as a file. What it leaves out stands as comments at the top of YAML; JSON has no place for it."""
    try:
        found = exporting.export_plan(queries.plan_name(plan_id))
    except NotFound as missing:
        raise Http404 from missing
    if form == "json":
        text = json.dumps(exporting.to_document(found), ensure_ascii=False, indent=1) + "\n"
    else:
        text = "".join(f"# warning: {warning.message}\n" for warning in found.warnings) + exporting.to_yaml(found)
    response = HttpResponse(text, content_type=f"application/{form}; charset=utf-8")
    response["Content-Disposition"] = content_disposition_header(True, f"{found.name}.{form}")
    return response
