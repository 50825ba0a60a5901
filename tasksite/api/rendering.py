"""Answers as bytes: JSON in the fewest bytes, entity tags, and the empty answer to who has it already."""

import hashlib
import json
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.utils.http import parse_etags
from rest_framework.request import Request

CONTENT_TYPE: Final = "application/json"
FRESH: Final = "private, no-cache"
"""May be kept by the one who asked, and is asked for again each time."""


def encoded(value: Any) -> str:
    """JSON without spaces, in plain Unicode. Raises ValueError for what is no JSON (NaN, infinity)."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def reply(status: int, text: str) -> HttpResponse:
    """An answer whose body is JSON already; without a body for 204."""
    if status == 204:
        response = HttpResponse(status=204)
        del response["Content-Type"]
    else:
        response = HttpResponse(text.encode(), status=status, content_type=CONTENT_TYPE)
    response["Cache-Control"] = "no-store"
    return response


def show(value: Any) -> HttpResponse:
    """200 with this value."""
    return reply(200, encoded(value))


def etag(*parts: object) -> str:
    """A strong entity tag of what an answer is made from, so that it need not be made to be compared."""
    return f'"{hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()}"'


def not_modified(request: Request | HttpRequest, tag: str) -> HttpResponse | None:
    """304 if the client has what carries this tag, else None."""
    given = request.META.get("HTTP_IF_NONE_MATCH")
    if given is None:
        return None
    if given.strip() != "*" and tag not in {each.removeprefix("W/") for each in parse_etags(given)}:
        return None
    response = HttpResponse(status=304)
    del response["Content-Type"]
    return tagged(response, tag)


def tagged(response: HttpResponse, tag: str) -> HttpResponse:
    response["ETag"] = tag
    response["Cache-Control"] = FRESH
    return response
