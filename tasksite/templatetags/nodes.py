"""What the templates of a node's page use besides `pages`."""

import json
from typing import Any, Final

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from graph import sql
from tasksite.templatetags.pages import HOUR, MINUTE, age, span

register = template.Library()

MOST_JSON: Final = 1_500
"""Characters of a result that a page shows."""


@register.simple_tag(takes_context=True)
def lasted(context: template.Context, opened_at: int, closed_at: int | None) -> SafeString:
    """How long it took, or how long it has been going on."""
    if closed_at is None:
        return age(context, opened_at)
    return format_html("{}", _took((closed_at - opened_at) // 1_000_000))


def _took(seconds: int) -> str:
    """As `span`, and to the second where that still tells two runs apart."""
    if MINUTE <= seconds < HOUR and seconds % MINUTE:
        return f"{seconds // MINUTE} min {seconds % MINUTE} s"
    return span(seconds)


@register.filter
def as_json(value: Any) -> str:
    """A result for reading, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return text if len(text) <= MOST_JSON else f"{text[:MOST_JSON]}…"


@register.simple_tag
def key_of(node_id: str) -> str:
    """The full key of a node, for the title of its page."""
    rows = sql.fetch("SELECT full_key FROM graph_node WHERE id = %s", [node_id])
    return str(rows[0][0]) if rows else ""
