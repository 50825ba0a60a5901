"""The lead's verbs as actions of the admin: a page asks for the reason, then each row is one call of the verb."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from django.contrib import admin, messages
from django.contrib.admin import helpers
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from graph.models import Edge, Node
from leases.models import Lease
from tasksite.dashboard import acts, bulk
from tasksite.dashboard.access import caller_of, is_lead
from tasksite.dashboard.acts import Act, ReasonForm
from tasksite.dashboard.bulk import Target

MOST: Final = bulk.MOST
"""Rows of one action: each is a transaction of its own."""


class Row(NamedTuple):
    """A row that was ticked, and what the verb is called on; `about` is how it stands."""

    id: str
    target: Target
    about: str

    @property
    def fence_field(self) -> str:
        return f"fence_{self.id}"


@admin.action(description="Abandon the claims…")
def abandon_leases(model_admin: Any, request: HttpRequest, queryset: QuerySet[Lease]) -> HttpResponse | None:
    leases = queryset.select_related("subject")[: MOST + 1]
    return _act(model_admin, request, acts.ABANDON, [_of_claim(lease.id, lease) for lease in leases])


@admin.action(description="Abandon the claims…")
def abandon_nodes(model_admin: Any, request: HttpRequest, queryset: QuerySet[Node]) -> HttpResponse | None:
    nodes = _nodes(queryset)
    held = Lease.objects.filter(subject__in=nodes, ended_at=None).select_related("subject")
    claims = {lease.subject_id: lease for lease in held}
    rows = [
        _of_claim(node.id, claims[node.id])
        if node.id in claims
        else Row(node.id, Target(node.id, node.full_key), "nobody holds it now")
        for node in nodes
    ]
    return _act(model_admin, request, acts.ABANDON, rows)


@admin.action(description="Unblock…")
def unblock_nodes(model_admin: Any, request: HttpRequest, queryset: QuerySet[Node]) -> HttpResponse | None:
    return _act(model_admin, request, acts.UNBLOCK, _of_nodes(queryset))


@admin.action(description="Reopen…")
def reopen_nodes(model_admin: Any, request: HttpRequest, queryset: QuerySet[Node]) -> HttpResponse | None:
    return _act(model_admin, request, acts.REOPEN, _of_nodes(queryset))


@admin.action(description="Cancel the work…")
def cancel_nodes(model_admin: Any, request: HttpRequest, queryset: QuerySet[Node]) -> HttpResponse | None:
    return _act(model_admin, request, acts.CANCEL, _of_nodes(queryset))


@admin.action(description="Waive the needs…")
def waive_edges(model_admin: Any, request: HttpRequest, queryset: QuerySet[Edge]) -> HttpResponse | None:
    return _act(model_admin, request, acts.WAIVE, _of_edges(queryset))


@admin.action(description="Take the waivers back…")
def unwaive_edges(model_admin: Any, request: HttpRequest, queryset: QuerySet[Edge]) -> HttpResponse | None:
    return _act(model_admin, request, acts.UNWAIVE, _of_edges(queryset))


def _of_claim(row_id: str, lease: Lease) -> Row:
    return Row(row_id, Target(lease.subject_id, lease.subject.full_key, lease.fence), f"held by {lease.holder}")


def _nodes(queryset: QuerySet[Node]) -> list[Node]:
    return list(queryset.select_related(None).only("id", "full_key", "state")[: MOST + 1])


def _of_nodes(queryset: QuerySet[Node]) -> list[Row]:
    return [Row(node.id, Target(node.id, node.full_key), node.state) for node in _nodes(queryset)]


def _of_edges(queryset: QuerySet[Edge]) -> list[Row]:
    edges = queryset.select_related("dependent", "dependency").defer("dependent__body", "dependency__body")
    return [
        Row(
            edge.id, Target(edge.id, f"{edge.dependent} needs {edge.dependency}"), "waived" if edge.waived else "counts"
        )
        for edge in edges[: MOST + 1]
    ]


def _act(model_admin: Any, request: HttpRequest, act: Act, rows: Sequence[Row]) -> HttpResponse | None:
    """Ask, or do it. None leads back to the list, with a message for each row."""
    if not is_lead(request.user):
        raise PermissionDenied
    if len(rows) > MOST:
        messages.error(request, f"At most {MOST} rows at once. Nothing was changed.")
        return None
    form = ReasonForm(request.POST if "confirmed" in request.POST else None)
    if form.is_valid():
        _perform(request, act, rows, form.cleaned_data["reason"])
        return None
    context = {
        **model_admin.admin_site.each_context(request),
        "title": act.title,
        "act": act,
        "action": request.POST.get("action", ""),
        "opts": model_admin.opts,
        "rows": rows,
        "form": form,
        "checkbox": helpers.ACTION_CHECKBOX_NAME,
    }
    return TemplateResponse(request, "admin/act.html", context)


def _perform(request: HttpRequest, act: Act, rows: Iterable[Row], reason: str) -> None:
    """The fence is the one that the confirming page showed, not the one of now."""
    meant = []
    for row in rows:
        shown = request.POST.get(row.fence_field, "")
        fence = int(shown) if bulk.is_fence(shown) else None
        if act is acts.ABANDON and fence is None:
            messages.error(
                request, f"Refused for {row.target.name}: nobody held it when you were asked. Nothing was changed."
            )
        else:
            meant.append(row.target._replace(fence=fence))
    outcome = bulk.perform(act, meant, caller_of(request.user), reason)
    for edited in outcome.done:
        messages.success(request, acts.told(act, edited))
    for name, why in outcome.refused:
        messages.error(request, f"Refused for {name}: {why} Nothing was changed.")
