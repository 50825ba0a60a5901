"""What the templates of the pages use besides Django's own tags."""

from datetime import datetime
from typing import Any, Final

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from graph import clock
from graph.fields import from_micros, iso, to_micros
from tasksite.dashboard import attention
from tasksite.dashboard.access import is_lead
from tasksite.dashboard.links import node_link, plan_link, plan_path, worker_link

register = template.Library()

MINUTE: Final = 60
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR


@register.filter
def span(seconds: float) -> str:
    """`8 s`, `4 min`, `2 h 5 min`, `3 d 4 h`: as exact as a reader needs. The script counts on in the same words."""
    whole = max(0, int(seconds))
    if whole < MINUTE:
        return f"{whole} s"
    if whole < HOUR:
        return f"{whole // MINUTE} min"
    big, small, words = (HOUR, MINUTE, ("h", "min")) if whole < DAY else (DAY, HOUR, ("d", "h"))
    rest = whole % big // small
    return f"{whole // big} {words[0]}" + (f" {rest} {words[1]}" if rest else "")


@register.filter
def number(value: int) -> str:
    """`4,321`."""
    return f"{value:,}"


register.simple_tag(node_link)
register.simple_tag(worker_link)
register.simple_tag(plan_link)
register.simple_tag(plan_path)


@register.simple_tag(takes_context=True)
def age(context: template.Context, at: int | datetime) -> SafeString:
    """How long ago a moment was, seen from `now` of the page; the moment itself as the tooltip."""
    micros = to_micros(at) if isinstance(at, datetime) else int(at)
    shown = span((context["now"] - micros) / 1e6)
    exact = from_micros(micros).strftime("%Y-%m-%d %H:%M:%S UTC")
    return format_html('<time class="age" datetime="{}" title="{}">{}</time>', iso(micros), exact, shown)


@register.simple_tag
def day(at: int) -> SafeString:
    """The day of a moment, which itself is the tooltip."""
    moment = from_micros(at)
    exact = f"{moment:%Y-%m-%d %H:%M:%S} UTC"
    return format_html('<time datetime="{}" title="{}">{}</time>', iso(at), exact, f"{moment:%Y-%m-%d}")


@register.inclusion_tag("partials/banner.html", takes_context=True)
def stale_banner(context: template.Context) -> dict[str, Any]:
    """The claims that went stale, for those who are signed in: it stands on every page."""
    user = getattr(context.get("request"), "user", None)
    if user is None or not user.is_authenticated:
        return {"stale": None}
    now = clock.read()
    return {"stale": attention.stale(now), "now": now, "lead": is_lead(user)}
