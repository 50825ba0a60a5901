"""The views of a lead's acts: before one it is rehearsed, and the dialog says what it would do."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from django_htmx.http import trigger_client_event

from graph import clock
from graph.errors import Busy, Refusal
from graph.models import Edge, Node
from leases import queries
from leases.queries import LeaseRow
from tasksite.dashboard import acts, outcome
from tasksite.dashboard.access import caller_of, is_fragment, leads_only
from tasksite.dashboard.acts import Act, ReasonForm


@dataclass(frozen=True, slots=True)
class Subject:
    """What the act is on: a node, or an edge with its two ends."""

    id: str
    node: Node
    edge: Edge | None
    claim: LeaseRow | None


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@leads_only
def show_act(request: HttpRequest, subject_id: str, act: Act) -> HttpResponse:
    """Say what it would do and ask for the reason, then do it. What is refused is said in place of the form."""
    if request.method != "POST":
        return _ask(request, subject_id, act, act.form(initial=_claim_in(request)))
    form = act.form(request.POST)
    if not form.is_valid():
        if "fence" in form.errors:
            raise BadRequest("The fence of the claim is missing.")
        return _ask(request, subject_id, act, form, status=400)
    values = form.cleaned_data
    try:
        edited = act.perform(subject_id, caller_of(request.user), values["reason"], values.get("fence"))
    except Refusal as refusal:
        return _ask(request, subject_id, act, form, refusal=refusal, status=acts.status_of(refusal))
    return _done(request, edited.node.id, acts.told(act, edited))


def _claim_in(request: HttpRequest) -> dict[str, Any]:
    fence = request.GET.get("fence", "")
    return {"fence": int(fence)} if fence.isascii() and fence.isdigit() and len(fence) < 19 else {}


def _subject(subject_id: str, act: Act) -> Subject:
    """Raises Http404."""
    edge = None
    if act.of_edge:
        edge = Edge.objects.select_related("dependent__plan", "dependency").filter(id=subject_id).first()
        node = edge.dependent if edge else None
    else:
        node = Node.objects.select_related("plan").defer("body").filter(id=subject_id).first()
    if node is None:
        raise Http404
    claim = None if act.of_edge else queries.open_lease(node.id)
    if claim is not None and claim.moves_with_id is not None:
        claim = None  # the lane's share of a task's claim: it ends with that
    return Subject(subject_id, node, edge, claim)


def _ask(
    request: HttpRequest, subject_id: str, act: Act, form: ReasonForm, *, refusal: Refusal | None = None,
    status: int = 200,
) -> HttpResponse:  # fmt: skip
    found = _subject(subject_id, act)
    claim = found.claim
    if claim is not None:
        form.initial.setdefault("fence", claim.fence)
    would, refused = None, acts.refused(refusal) if refusal else ""
    busy = isinstance(refusal, Busy)  # what was typed stands, to be sent again; a rehearsal would wait as long
    if not busy:
        try:
            edited = acts.rehearse(act, subject_id, caller_of(request.user), _fence(form))
            would = outcome.read(edited, most=outcome.MOST_SHOWN)
        except Refusal as in_the_way:
            refused = refused or in_the_way.detail
    now = clock.read()
    context = {
        "act": act,
        "form": form,
        "node": found.node,
        "edge": found.edge,
        "claim": claim,
        "stale": claim is not None and claim.stale(now),
        "now": now,
        "would": would,
        "busy": busy,
        "refused": refused,
        "fragment": is_fragment(request),
    }
    if not is_fragment(request):
        return _finished(render(request, "pages/act.html", context, status=status))
    # A browser logs every 4xx of a script's request as an error of the page; this is a normal answer.
    response = render(request, "partials/act.html", context)
    return _finished(trigger_client_event(response, "acted") if refused else response)


def _fence(form: ReasonForm) -> int | None:
    """Of the claim that is meant; what was sent has been checked."""
    value = form["fence"].value() if "fence" in form.fields else None
    return int(value) if value is not None else None


def _done(request: HttpRequest, node_id: str, text: str) -> HttpResponse:
    if not is_fragment(request):
        messages.success(request, text)
        return HttpResponseRedirect(reverse("node", args=[node_id]))
    response = render(request, "partials/acted.html", {"text": text})
    return _finished(trigger_client_event(response, "acted"))


def _finished(response: HttpResponse) -> HttpResponse:
    patch_vary_headers(response, ["HX-Request"])
    return response
