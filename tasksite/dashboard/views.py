"""The views: they parse, call one service, and show what it answered."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_safe
from django_htmx.http import trigger_client_event

from graph import clock
from graph.errors import NotFound, Refusal
from graph.models import Node
from leases import queries
from tasksite.dashboard import acts, live, node, overview, watch
from tasksite.dashboard.access import caller_of, is_fragment, leads_only, signed_in
from tasksite.dashboard.acts import Act, ReasonForm
from tasksite.dashboard.browse_views import window_in


@require_safe
@signed_in
def show_overview(request: HttpRequest) -> HttpResponse:
    return live.answer(request, overview.PAGE, window=window_in(request))


@require_safe
@signed_in
def show_node(request: HttpRequest, node_id: str) -> HttpResponse:
    try:
        return live.answer(request, node.PAGE, node_id=node_id)
    except NotFound as missing:
        raise Http404 from missing


@require_GET
@signed_in
def watch_changes(request: HttpRequest) -> HttpResponseBase:
    return watch.answer()


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@leads_only
def show_act(request: HttpRequest, node_id: str, act: Act) -> HttpResponse:
    """Ask for the reason, then do it. Refused, the form stands again under what the service said."""
    if request.method != "POST":
        return _ask(request, node_id, act, act.form(initial=_claim_in(request)))
    form = act.form(request.POST)
    if not form.is_valid():
        if "fence" in form.errors:
            raise BadRequest("The fence of the claim is missing.")
        return _ask(request, node_id, act, form, status=400)
    values = form.cleaned_data
    try:
        edited = act.perform(node_id, caller_of(request.user), values["reason"], values.get("fence"))
    except Refusal as refusal:
        return _ask(request, node_id, act, form, refusal=refusal, status=acts.status_of(refusal))
    return _done(request, acts.told(act, edited))


def _claim_in(request: HttpRequest) -> dict[str, Any]:
    fence = request.GET.get("fence", "")
    return {"fence": int(fence)} if fence.isascii() and fence.isdigit() and len(fence) < 19 else {}


def _ask(
    request: HttpRequest, node_id: str, act: Act, form: ReasonForm, *, refusal: Refusal | None = None, status: int = 200
) -> HttpResponse:
    found = Node.objects.select_related("plan").defer("body").filter(id=node_id).first()
    if found is None:
        raise Http404
    now = clock.read()
    claim = queries.open_lease(node_id)
    if claim is not None and claim.moves_with_id is not None:
        claim = None  # the lane's share of a task's claim: it ends with that
    if claim is not None:
        form.initial.setdefault("fence", claim.fence)
    context = {
        "act": act,
        "form": form,
        "node": found,
        "claim": claim,
        "meant": claim is not None and "fence" in form.fields and str(form["fence"].value()) == str(claim.fence),
        "stale": claim is not None and claim.stale(now),
        "now": now,
        "refused": acts.refused(refusal) if refusal else "",
        "fragment": is_fragment(request),
    }
    if not is_fragment(request):
        return _finished(render(request, "pages/act.html", context, status=status))
    # A browser logs every 4xx of a script's request as an error of the page; this is a normal answer.
    response = render(request, "partials/act.html", context)
    return _finished(trigger_client_event(response, "acted") if refusal else response)


def _done(request: HttpRequest, text: str) -> HttpResponse:
    if not is_fragment(request):
        messages.success(request, text)
        return HttpResponseRedirect(reverse("overview"))
    response = render(request, "partials/acted.html", {"text": text})
    return _finished(trigger_client_event(response, "acted"))


def _finished(response: HttpResponse) -> HttpResponse:
    patch_vary_headers(response, ["HX-Request"])
    return response
