"""The views of the import: a form, what its file would change, and the change."""

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRedirect

from graph import queries, reporting
from graph.errors import NotFound
from tasksite.dashboard import importing, uploads
from tasksite.dashboard.access import caller_of, is_fragment, leads_only
from tasksite.dashboard.importing import Answer


@csrf_exempt  # for here alone: the check reads the whole request, and who may not send one is turned away before it
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@leads_only
def show_import(request: HttpRequest, plan_id: str | None = None) -> HttpResponse:
    if uploads.too_large(request):
        return _shown(request, plan_id, problem="The file is too large for a plan.", status=413)
    try:
        return _checked(request, plan_id)
    except RequestDataTooBig:
        return _shown(request, plan_id, problem="The text is too long for the box: choose it as a file.", status=413)


@csrf_protect
def _checked(request: HttpRequest, plan_id: str | None) -> HttpResponse:
    if request.method != "POST":
        return _shown(request, plan_id)
    upload = uploads.read(request)
    if upload is None:
        return _shown(request, plan_id, problem="Choose a file, drop one, or write the plan into the box.", status=400)
    found = importing.answer(
        upload, caller_of(request.user), prune="prune" in request.POST, shown=request.POST.get("shown", "")
    )
    if found.written:
        return _done(request, found)
    return _shown(request, plan_id, found, status=found.status)


def _shown(
    request: HttpRequest, plan_id: str | None, found: Answer | None = None, *, problem: str = "", status: int = 200
) -> HttpResponse:
    try:
        name = queries.plan_name(plan_id) if plan_id else ""
    except NotFound as missing:
        raise Http404 from missing
    context = {
        "plan_id": plan_id,
        "name": name,
        "answer": found,
        "problem": problem,
        "other": found is not None and found.result is not None and name not in ("", found.result.name),
        "most": settings.PLAN_MAX_BYTES,
    }
    # A browser logs every 4xx of a script's request as an error of the page; this is a normal answer.
    if is_fragment(request):
        response = render(request, "partials/import_answer.html", context)
    else:
        response = render(request, "pages/import.html", context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _done(request: HttpRequest, found: Answer) -> HttpResponse:
    assert found.result is not None and found.result.plan_id is not None, "it was written"
    messages.success(request, " ".join(reporting.summary(found.result)))
    there = reverse("plan", args=[found.result.plan_id])
    return HttpResponseClientRedirect(there) if is_fragment(request) else HttpResponseRedirect(there)
