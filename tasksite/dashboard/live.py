"""A live page: the first GET answers all of it, htmx then asks again and gets the part that changes, or 304.

The part depends on the revision and on whether the reader may act, on nothing else of theirs: no name, no form
and no CSRF token stand in it. So it is rendered once a revision and process, however many are watching.
"""

import hashlib
import json
import threading
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.cache import patch_vary_headers
from django.utils.safestring import SafeString, mark_safe

from graph import clock
from tasksite.dashboard import revision
from tasksite.dashboard.access import is_fragment, is_lead
from tasksite.dashboard.revision import Revision

AGE_STEP: Final = 10_000_000
"""Microseconds that an age on a page may lag for those without scripts; the script lets ages grow by themselves."""
KEPT_S: Final = 60
TOLD: Final = "Told"
"""The header by which a page says which revision it was told of (`tasksite.dashboard.watch`)."""

_reading: Final = threading.Lock()
_rendering: Final = threading.Lock()


@dataclass(frozen=True, slots=True)
class Page:
    """`whole` extends the base and holds the live part, `part` is that part.

    `read` gives what it shows at `now`, and takes what the page is about (a node, a filter) by name.
    """

    name: str
    whole: str
    part: str
    read: Callable[..., Mapping[str, Any]]


def answer(request: HttpRequest, page: Page, **about: Hashable) -> HttpResponse:
    """The page, its live part, or 304: which one is known before anything is read for it.

    `about` is handed to the page's `read`; whoever asks about the same at the same revision gets the same part.
    """
    at = stand(request, clock.read())
    lead = is_lead(request.user)
    etag = at.etag("lead" if lead else "sees")
    if is_fragment(request) and request.headers.get("If-None-Match") == etag:
        return _finished(HttpResponseNotModified(), etag)
    context = {
        "content": _part(page, at, lead, about),
        "now": at.now,
        "revision": at.text,
        "path": request.get_full_path(),
        "about": about,
        "again": json.dumps({"If-None-Match": etag}),
    }
    if is_fragment(request):
        return _finished(render(request, "partials/live.html", context), etag)
    return _finished(render(request, page.whole, context))


def still(request: HttpRequest, page: Page, **about: Hashable) -> HttpResponse:
    """A page that does not change while it is looked at, and asks for nothing."""
    now, lead = clock.read(), is_lead(request.user)
    content = render_to_string(page.part, {**page.read(now, **about), "now": now, "lead": lead})
    return _finished(render(request, page.whole, {"content": content, "now": now, "still": True}))


def stand(request: HttpRequest, now: int) -> Revision:
    """The revision to show. All pages that were told of the same one ask at once, and while workers are busy each
    would read another: they get the one that the first of them read.
    """
    told = request.headers.get(TOLD, "")
    if not told:
        return revision.read(now)
    key = f"told:{hashlib.sha256(told.encode()).hexdigest()}"
    with _reading:
        text = cache.get(key)
        if text is None:
            text = revision.read(now).text
            cache.set(key, text, KEPT_S)
    return Revision(str(text), now)


def _part(page: Page, at: Revision, lead: bool, about: Mapping[str, Hashable]) -> SafeString:
    subject = hashlib.sha256(repr(sorted(about.items())).encode()).hexdigest() if about else ""
    key = f"live:{page.name}:{subject}:{lead}:{at.text}:{at.now // AGE_STEP}"
    with _rendering:
        html = cache.get(key)
        if html is None:
            html = render_to_string(page.part, {**page.read(at.now, **about), "now": at.now, "lead": lead})
            cache.set(key, html, KEPT_S)
    return mark_safe(str(html))


def _finished(response: HttpResponse, etag: str | None = None) -> HttpResponse:
    """`etag` on the part alone: the whole page holds a name and messages, and is always made anew."""
    if etag is not None:
        response["ETag"] = etag
    response["Cache-Control"] = "private, no-store"
    patch_vary_headers(response, ["HX-Request", "Cookie"])
    return response
