"""The pages of the bulk acts: what may be ticked, the one reason, and in one notice what came of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.safestring import mark_safe
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from django_htmx.http import trigger_client_event

from graph import clock
from tasksite.dashboard import acts, bulk
from tasksite.dashboard.access import caller_of, is_fragment, leads_only
from tasksite.dashboard.acts import Act, ReasonForm
from tasksite.dashboard.bulk import Choices, Outcome

LEVELS: Final = {"success": messages.SUCCESS, "warning": messages.WARNING, "error": messages.ERROR}


@dataclass(frozen=True, slots=True)
class Bulk:
    """A verb for many: `offered` are the rows it may be called on; `done` is said of one and of many."""

    act: Act
    title: str
    explained: str
    none: str
    offered: Callable[[int], Choices]
    done: tuple[str, str]

    @property
    def fenced(self) -> bool:
        return issubclass(self.act.form, acts.FencedForm)


ABANDON_STALE: Final = Bulk(
    acts.ABANDON,
    "Abandon stale claims",
    "Each claim ends, and what its worker may still report is refused. The tasks go back to the pool, and their next "
    "workers start in fresh clones. A task whose claims go stale again and again is blocked instead.",
    "No claim is stale now.",
    bulk.stale_claims,
    ("claim abandoned", "claims abandoned"),
)
UNBLOCK: Final = Bulk(
    acts.UNBLOCK,
    "Unblock tasks",
    "The tasks go back to the pool, or wait where they need others. Rejections and stale claims are counted anew.",
    "No task is blocked now.",
    bulk.blocked_tasks,
    ("task unblocked", "tasks unblocked"),
)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@leads_only
def show_bulk(request: HttpRequest, bulk_act: Bulk) -> HttpResponse:
    """Ask which and why, then do it. What is refused changes nothing, and stands in the notice."""
    if request.method != "POST":
        return _ask(request, bulk_act, ReasonForm())
    values = request.POST.getlist("target")
    targets = bulk.chosen(values, fenced=bulk_act.fenced)
    if targets is None or len(targets) > bulk.MOST:
        raise BadRequest("What was ticked cannot be read, or is too much at once.")
    form = ReasonForm(request.POST)
    if not form.is_valid() or not targets:
        return _ask(request, bulk_act, form, ticked=values, status=400)
    outcome = bulk.perform(bulk_act.act, targets, caller_of(request.user), form.cleaned_data["reason"])
    return _told(request, bulk_act, outcome)


def _ask(
    request: HttpRequest, bulk_act: Bulk, form: ReasonForm, *, ticked: list[str] | None = None, status: int = 200
) -> HttpResponse:
    """`ticked` None ticks all."""
    now = clock.read()
    choices = bulk_act.offered(now)
    context = {
        "bulk": bulk_act,
        "choices": choices,
        "ticked": [row.value for row in choices.shown] if ticked is None else ticked,
        "untouched": ticked == [],
        "form": form,
        "now": now,
        "fragment": is_fragment(request),
    }
    if is_fragment(request):  # answered as such a form always is: see `views.show_act`
        return _finished(render(request, "partials/bulk.html", context))
    return _finished(render(request, "pages/bulk.html", context, status=status))


def _told(request: HttpRequest, bulk_act: Bulk, outcome: Outcome) -> HttpResponse:
    many = len(outcome.done)
    context = {"outcome": outcome, "head": f"{many:,} {bulk_act.done[many != 1]}"}
    text = mark_safe(render_to_string("partials/bulk_told.html", context))
    if not is_fragment(request):
        messages.add_message(request, LEVELS[outcome.level], text)
        return HttpResponseRedirect(reverse("overview"))
    response = render(request, "partials/bulk_acted.html", {"text": text, "level": outcome.level})
    return _finished(trigger_client_event(response, "acted"))


def _finished(response: HttpResponse) -> HttpResponse:
    patch_vary_headers(response, ["HX-Request"])
    return response
