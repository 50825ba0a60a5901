"""Markdown from plan files as HTML that does nothing: no HTML of its own, no images, links to the web alone."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

MOST_CHARS: Final = 12_000
"""Of a text; what is longer is cut, and the reader is led to the whole."""
MOST_HTML: Final = 80_000
"""A text that swells beyond this, as a few letters of a table can, is shown as it was written."""
FIRST_HEADING: Final = 3
"""The page's own headings stand above those of the text."""

_WEB: Final = re.compile(r"(?:https?://|mailto:)[^\s]", re.IGNORECASE)


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:
        """Nothing that runs, and nothing on this site, where a link could be taken for one of ours."""
        return _WEB.match(url) is not None


# Without HTML by this preset. An image would be fetched from elsewhere, and its address stays as a link.
_PARSER: Final = _Parser("js-default").disable("image")


def render(text: str) -> SafeString:
    """The text, or as much of it as a page takes."""
    return _rendered(text[:MOST_CHARS])


@lru_cache(maxsize=128)
def _rendered(text: str) -> SafeString:
    tokens = _PARSER.parse(text)
    _tame(tokens)
    html = str(_PARSER.renderer.render(tokens, _PARSER.options, {}))
    if len(html) > MOST_HTML:
        return format_html("<pre>{}</pre>", text)
    return mark_safe(html)


def _tame(tokens: Sequence[Token]) -> None:
    level = FIRST_HEADING - 1
    for token in tokens:
        if token.type == "heading_open":
            # One step deeper at most, whatever the author skips: readers of the outline count on it.
            level = min(FIRST_HEADING - 1 + int(token.tag[1]), level + 1, 6)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{level}"
        if align := token.attrs.pop("style", None):  # the policy takes no inline style
            token.attrs["class"] = str(align).replace("text-align:", "to-")
        if token.type == "link_open":
            token.attrs["rel"] = "nofollow noopener noreferrer"
        _tame(token.children or ())
