"""Abandon and unblock as actions of the admin: a page asks for the reason, then each row is one call of the verb."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from django.contrib import admin, messages
from django.contrib.admin import helpers
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from graph.errors import Refusal
from graph.models import Node
from leases.models import Lease
from tasksite.dashboard import acts
from tasksite.dashboard.access import caller_of, is_lead
from tasksite.dashboard.acts import Act, ReasonForm

MOST: int = 100
"""Rows of one action: each is a transaction of its own."""


class Target(NamedTuple):
    """A row that was ticked, and the node that the verb is called on."""

    row_id: str
    node_id: str
    full_key: str
    fence: int | None
    about: str

    @property
    def fence_field(self) -> str:
        return f"fence_{self.row_id}"


@admin.action(description="Abandon the claims…")
def abandon_leases(model_admin: Any, request: HttpRequest, queryset: QuerySet[Lease]) -> HttpResponse | None:
    rows = queryset.select_related("subject")
    return _act(model_admin, request, acts.ABANDON, [_of_lease(row.id, row) for row in rows[: MOST + 1]])


@admin.action(description="Abandon the claims…")
def abandon_nodes(model_admin: Any, request: HttpRequest, queryset: QuerySet[Node]) -> HttpResponse | None:
    nodes = list(queryset.select_related(None).only("id", "full_key")[: MOST + 1])
    held = Lease.objects.filter(subject__in=nodes, ended_at=None).select_related("subject")
    claims = {lease.subject_id: lease for lease in held}
    return _act(
        model_admin,
        request,
        acts.ABANDON,
        [
            _of_lease(node.id, claims[node.id])
            if node.id in claims
            else Target(node.id, node.id, node.full_key, None, "nobody holds it now")
            for node in nodes
        ],
    )


@admin.action(description="Unblock…")
def unblock_nodes(model_admin: Any, request: HttpRequest, queryset: QuerySet[Node]) -> HttpResponse | None:
    nodes = queryset.select_related(None).only("id", "full_key", "state")[: MOST + 1]
    targets = [Target(node.id, node.id, node.full_key, None, node.state) for node in nodes]
    return _act(model_admin, request, acts.UNBLOCK, targets)


def _of_lease(row_id: str, lease: Lease) -> Target:
    return Target(row_id, lease.subject_id, lease.subject.full_key, lease.fence, f"held by {lease.holder}")


def _act(model_admin: Any, request: HttpRequest, act: Act, targets: list[Target]) -> HttpResponse | None:
    """Ask, or do it. None leads back to the list, with a message for each row."""
    if not is_lead(request.user):
        raise PermissionDenied
    if len(targets) > MOST:
        messages.error(request, f"At most {MOST} rows at once. Nothing was changed.")
        return None
    form = ReasonForm(request.POST if "confirmed" in request.POST else None)
    if form.is_valid():
        _perform(request, act, targets, form.cleaned_data["reason"])
        return None
    context = {
        **model_admin.admin_site.each_context(request),
        "title": act.title,
        "act": act,
        "action": request.POST.get("action", ""),
        "opts": model_admin.opts,
        "targets": targets,
        "form": form,
        "checkbox": helpers.ACTION_CHECKBOX_NAME,
    }
    return TemplateResponse(request, "admin/act.html", context)


def _perform(request: HttpRequest, act: Act, targets: Iterable[Target], reason: str) -> None:
    """The fence is the one that the confirming page showed, not the one of now."""
    caller = caller_of(request.user)
    for target in targets:
        shown = request.POST.get(target.fence_field, "")
        fence = int(shown) if shown.isascii() and shown.isdigit() and len(shown) < 19 else None
        if act is acts.ABANDON and fence is None:
            messages.error(
                request, f"Refused for {target.full_key}: nobody held it when you were asked. Nothing was changed."
            )
            continue
        try:
            messages.success(request, acts.told(act, act.perform(target.node_id, caller, reason, fence)))
        except Refusal as refusal:
            messages.error(request, f"Refused for {target.full_key}: {acts.refused(refusal)}")
