"""What stands before every POST: with an Idempotency-Key the first good answer is given again, and done once."""

import hashlib
from collections.abc import Callable
from typing import Any, cast

from django.http import HttpResponse
from rest_framework.request import Request

from graph.actors import Caller
from leases import answers
from tasksite.api.parsing import idempotency_key, raw_body
from tasksite.api.rendering import encoded, reply

Answered = tuple[int, dict[str, Any] | None]
"""A status, and a value unless it is 204."""

Work = Callable[[], Answered]
"""Reads the body, calls one service and says what to answer."""

REPLAYED = "Idempotency-Replayed"


def perform(
    request: Request, work: Work, *, body: bytes | None = None, prepare: Callable[[], None] | None = None
) -> HttpResponse:
    """Answer with what `work` did, or did the first time.

    `body` is given where the view has read it already. `prepare` is for what takes too long to be done inside a
    transaction; it is spared where the answer is known.
    """
    key = idempotency_key(request)
    if key is None:
        if prepare:
            prepare()
        return reply(*_rendered(work))
    caller, now = cast(Caller, request.user), cast(int, request.auth)
    print_ = fingerprint(request, raw_body(request) if body is None else body)
    if prepare:
        known = answers.look(caller=caller, key=key, fingerprint=print_, now=now)
        if known:
            return _shown(known)
        prepare()
    return _shown(answers.once(caller=caller, key=key, fingerprint=print_, now=now, work=lambda: _rendered(work)))


def fingerprint(request: Request, body: bytes) -> str:
    """What must be the same for a key to mean the same request: method, path, query and body, to the byte."""
    digest = hashlib.sha256()
    for part in (request.method or "", request.path, request.META.get("QUERY_STRING", "")):
        digest.update(part.encode("utf-8", "surrogateescape") + b"\x00")
    digest.update(body)
    return digest.hexdigest()


def _rendered(work: Work) -> tuple[int, str]:
    status, value = work()
    return status, "" if value is None else encoded(value)


def _shown(answer: answers.StoredAnswer) -> HttpResponse:
    response = reply(answer.status, answer.body)
    if answer.replayed:
        response[REPLAYED] = "true"
    return response
