"""Names as links to the pages of what they name: the same in templates and in the sentences of events."""

from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString


def node_link(node_id: str, full_key: str) -> SafeString:
    """The key of a node as a link to its page."""
    return format_html('<a class="key" href="{}">{}</a>', reverse("node", args=[node_id]), full_key)


def worker_link(holder: str) -> SafeString:
    """The name of a worker as a link to its page."""
    shown = holder if len(holder) <= 60 else holder[:59] + "…"
    return format_html('<a class="worker" href="{}">{}</a>', reverse("worker", args=[holder]), shown)


def plan_path(plan_id: str) -> str:
    """Where a plan is shown: its page, or what happened in it."""
    try:
        return reverse("plan", args=[plan_id])
    except NoReverseMatch:
        return f"{reverse('events')}?{urlencode({'plan': plan_id})}"


def plan_link(plan_id: str, name: str) -> SafeString:
    return format_html('<a href="{}">{}</a>', plan_path(plan_id), name)
