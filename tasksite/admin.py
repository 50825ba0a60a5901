"""The admin: every table of ours, read-only, with the lead's verbs as actions."""

import json
from typing import Any

from django.contrib import admin
from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from graph import clock
from graph.events import TYPES
from graph.fields import from_micros
from graph.models import Edge, Event, Node, Plan
from graph.states import State
from leases.models import Attempt, AttemptOutcome, Ending, Lease, Role, Run, RunOutcome, Token
from tasksite.admin_acts import (
    abandon_leases,
    abandon_nodes,
    cancel_nodes,
    reopen_nodes,
    unblock_nodes,
    unwaive_edges,
    waive_edges,
)
from tasksite.admin_base import NOTHING, ReadOnly, instant, joined, link, link_to, linked, listed, one_of
from tasksite.signin import ThrottledAdmin

admin.site.site_header = "tasksite"
admin.site.site_title = "tasksite"
admin.site.index_title = "Tables"
admin.site.login_form = ThrottledAdmin


def as_json(value: Any) -> SafeString:
    return format_html("<pre>{}</pre>", json.dumps(value, ensure_ascii=False, indent=2))


@admin.register(Plan)
class PlanAdmin(ReadOnly):
    list_display = ("name", "id", "created", "imported", "rows")
    ordering = ("-imported_at", "-id")
    search_fields = ("name", "=id")
    fields = ("id", "name", "created", "imported", "rows")
    created = instant("created_at")
    imported = instant("imported_at")

    @admin.display(description="rows")
    def rows(self, plan: Plan) -> SafeString:
        return joined(
            listed("objectives", "graph_node", plan__id__exact=plan.id, kind="objective"),
            listed("nodes", "graph_node", plan__id__exact=plan.id),
            listed("blocked", "graph_node", plan__id__exact=plan.id, only_state=State.BLOCKED.value),
            listed("events", "graph_event", plan__exact=plan.id),
        )


class Kind(admin.SimpleListFilter):
    title = "kind"
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("objective", "objective"), ("task", "task")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Node]) -> QuerySet[Node]:
        value = self.value()
        return queryset if value is None else queryset.filter(parent__isnull=value == "objective")


@admin.register(Node)
class NodeAdmin(ReadOnly):
    list_display = ("full_key", "title", "state", "kind", "leaf", "held", "of_plan", "of_objective", "of_parent")
    list_filter = (one_of("state", State), Kind, "leaf", "held", "plan")
    search_fields = ("full_key", "title", "=id")
    ordering = ("plan", "position")
    list_select_related = ("plan", "objective", "parent")
    actions = (abandon_nodes, unblock_nodes, reopen_nodes, cancel_nodes)
    fields = (
        "id", "full_key", "title", "body", "state", "kind", "leaf", "plan", "objective", "parent", "position",
        "ever_claimed", "held", "rejections", "stale_ends", "cancel_act", "last_cancel", "pruned",
        "clone_repo", "clone_ref", "rows",
    )  # fmt: skip
    of_plan = linked("plan")
    of_objective = linked("objective", "lane")
    of_parent = linked("parent")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Node]:
        found = super().get_queryset(request)
        # Bodies are long, and a list has no use for them.
        is_list = getattr(request.resolver_match, "url_name", "") == "graph_node_changelist"
        return found.defer("body", "objective__body", "parent__body") if is_list else found

    @admin.display(description="rows")
    def rows(self, node: Node) -> SafeString:
        return joined(
            listed("children", "graph_node", parent__id__exact=node.id),
            listed("needs", "graph_edge", dependent__id__exact=node.id),
            listed("needed by", "graph_edge", dependency__id__exact=node.id),
            listed("leases", "leases_lease", subject__id__exact=node.id),
            listed("runs", "leases_run", node__id__exact=node.id),
            listed("events", "graph_event", node__exact=node.id),
        )

    def view_on_site(self, node: Node) -> str:
        return reverse("node", args=[node.id])


@admin.register(Edge)
class EdgeAdmin(ReadOnly):
    list_display = ("id", "of_dependent", "of_dependency", "waived", "reopened")
    list_filter = ("waived", "reopened")
    search_fields = ("=id", "dependent__full_key", "dependency__full_key")
    ordering = ("-id",)
    list_select_related = ("dependent", "dependency")
    actions = (waive_edges, unwaive_edges)
    fields = ("id", "dependent", "dependency", "waived", "waive_reason", "reopened")
    of_dependent = linked("dependent")
    of_dependency = linked("dependency", "needs")


@admin.register(Event)
class EventAdmin(ReadOnly):
    list_display = ("seq", "type", "when", "actor", "of_node", "reason")
    list_filter = (one_of("type", sorted(TYPES)),)
    search_fields = ("node__exact", "plan__exact")
    search_help_text = "The id of a node or of a plan"
    ordering = ("-seq",)
    fields = (
        "seq", "type", "when", "actor", "of_plan", "of_objective", "of_node", "of_lease", "of_run", "of_attempt",
        "reason", "said",
    )  # fmt: skip
    when = instant("at")
    of_plan = link_to(Plan, "plan")
    of_objective = link_to(Node, "objective")
    of_lease = link_to(Lease, "lease")
    of_run = link_to(Run, "run")
    of_attempt = link_to(Attempt, "attempt")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        name = Node.objects.filter(id=OuterRef("node")).values("full_key")[:1]
        found: QuerySet[Event] = super().get_queryset(request)
        return found.annotate(full_key=Subquery(name))

    @admin.display(description="node", empty_value=NOTHING)
    def of_node(self, event: Any) -> SafeString | None:
        if not event.full_key:
            return None
        return link(Node(id=event.node, full_key=event.full_key))

    @admin.display(description="data")
    def said(self, event: Event) -> SafeString:
        return as_json(event.data)


class Standing(admin.SimpleListFilter):
    title = "standing"
    parameter_name = "standing"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("live", "live"), ("stale", "stale"), *((end.value, end.value) for end in Ending if end)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Lease]) -> QuerySet[Lease]:
        value = self.value()
        if value in ("live", "stale"):
            stale = Q(expires_at__lte=from_micros(clock.read()))
            return queryset.filter(stale if value == "stale" else ~stale, ended_at=None)
        return queryset if value is None else queryset.filter(ending=value)


@admin.register(Lease)
class LeaseAdmin(ReadOnly):
    list_display = ("id", "of_subject", "holder", "fence", "standing", "acquired", "expires", "with_", "token")
    list_filter = (Standing,)
    search_fields = ("=id", "holder", "subject__full_key")
    ordering = ("-id",)
    list_select_related = ("subject", "token")
    actions = (abandon_leases,)
    fields = (
        "id", "subject", "objective", "moves_with", "token", "holder", "fence", "generation", "ttl_s", "progress",
        "acquired", "beat", "expires", "expired", "ended", "ending", "rows",
    )  # fmt: skip
    of_subject = linked("subject")
    acquired = instant("acquired_at")
    beat = instant("beat_at", "last heartbeat")
    expires = instant("expires_at")
    expired = instant("expired_at", "noticed as expired")
    ended = instant("ended_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Lease]:
        found: QuerySet[Lease] = super().get_queryset(request)
        return found.annotate(is_stale=Q(expires_at__lte=from_micros(clock.read())))

    @admin.display(description="standing")
    def standing(self, lease: Any) -> str:
        return lease.ending or ("stale" if lease.is_stale else "live")

    @admin.display(description="rows")
    def rows(self, lease: Lease) -> SafeString:
        return joined(
            listed("runs", "leases_run", lease__id__exact=lease.id),
            listed("events of its node", "graph_event", node__exact=lease.subject_id),
        )

    @admin.display(description="own", boolean=True, ordering=F("moves_with").asc(nulls_first=True))
    def with_(self, lease: Lease) -> bool:
        return lease.moves_with_id is None


@admin.register(Run)
class RunAdmin(ReadOnly):
    list_display = ("id", "of_node", "outcome", "opened", "closed", "attempts_of")
    list_filter = (one_of("outcome", RunOutcome),)
    search_fields = ("=id", "node__full_key")
    ordering = ("-id",)
    list_select_related = ("node",)
    fields = ("id", "node", "lease", "opened", "closed", "outcome", "summary", "left", "attempts_of")
    of_node = linked("node")
    opened = instant("opened_at")
    closed = instant("closed_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        found = super().get_queryset(request)
        is_list = getattr(request.resolver_match, "url_name", "") == "leases_run_changelist"
        return found.defer("result", "summary", "node__body") if is_list else found

    @admin.display(description="result")
    def left(self, run: Run) -> SafeString:
        return as_json(run.result)

    @admin.display(description="attempts")
    def attempts_of(self, run: Run) -> SafeString:
        return listed("attempts", "leases_attempt", run__id__exact=run.id)


@admin.register(Attempt)
class AttemptAdmin(ReadOnly):
    list_display = ("id", "of_node", "number", "outcome", "opened", "closed", "reason")
    list_filter = (one_of("outcome", AttemptOutcome),)
    search_fields = ("=id", "run__node__full_key")
    ordering = ("-run", "-number")
    list_select_related = ("run__node",)
    fields = ("id", "run", "number", "opened", "closed", "outcome", "reason")
    opened = instant("opened_at")
    closed = instant("closed_at")

    @admin.display(description="node")
    def of_node(self, attempt: Attempt) -> SafeString:
        return link(attempt.run.node)


@admin.register(Token)
class TokenAdmin(ReadOnly):
    """Without the digest: who reads pages has no use for it."""

    list_display = ("name", "role", "created", "expires", "revoked")
    list_filter = (one_of("role", Role),)
    search_fields = ("name",)
    ordering = ("-created_at", "-id")
    fields = ("id", "name", "role", "created", "expires", "revoked", "rows")
    created = instant("created_at")
    expires = instant("expires_at")
    revoked = instant("revoked_at")

    @admin.display(description="rows")
    def rows(self, token: Token) -> SafeString:
        return joined(
            listed("live leases", "leases_lease", token__id__exact=token.id, standing="live"),
            listed("stale leases", "leases_lease", token__id__exact=token.id, standing="stale"),
        )
