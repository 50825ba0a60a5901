"""Pages of lists: a cursor that says where the last one ended, the URL of the next, an entity tag for each."""

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from django.http import HttpResponse
from rest_framework.request import Request

from graph import ids
from graph.errors import Invalid
from tasksite.api.fields import query_whole, text
from tasksite.api.parsing import Query
from tasksite.api.rendering import encoded, etag, not_modified, reply, tagged

PAGE: Final = 100
LONGEST_PAGE: Final = 500

PAGED: Final = Query(
    cursor=text(200).says("Where the last page ended: take it from `next`."),
    limit=query_whole(1, LONGEST_PAGE).says(f"Entries of a page; {PAGE} where it is not given."),
)

Row = TypeVar("Row")


def packed(*place: str | int) -> str:
    """A place in a list as an opaque cursor."""
    return base64.urlsafe_b64encode(".".join(map(str, place)).encode()).decode().rstrip("=")


def unpacked(cursor: str | None, *kinds: Callable[[str], Any]) -> tuple[Any, ...] | None:
    """The place behind a cursor, read by these kinds, or None where none is given. Raises Invalid."""
    if cursor is None:
        return None
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        parts = base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii").split(".")
        return tuple(kind(part) for kind, part in zip(kinds, parts, strict=True))
    except (ValueError, binascii.Error):
        raise Invalid({"cursor": ["is not one that a list gave"]}) from None


def number(part: str) -> int:
    """A whole number that the databases can compare."""
    if not part.removeprefix("-").isdecimal() or not -(2**63) <= int(part) < 2**63:
        raise ValueError(part)
    return int(part)


def an_id(part: str) -> str:
    found = ids.parse(part)
    if found is None:
        raise ValueError(part)
    return found


def next_url(request: Request, **changed: str | int) -> str:
    """The URL of this request with these parameters set."""
    query = request.query_params.copy()
    for name, value in changed.items():
        query[name] = str(value)
    return request.build_absolute_uri(f"{request.path}?{query.urlencode()}")


def listing(
    request: Request,
    rows: Sequence[Row],
    limit: int,
    *,
    place: Callable[[Row], tuple[str | int, ...]],
    show: Callable[[Row], dict[str, Any]],
    also: object = None,
) -> HttpResponse:
    """`{results, next}` of rows that were read with one more than `limit`. Nothing is shown that the client has.

    `also` is what the answer depends on besides the rows.
    """
    shown = rows[:limit]
    following = next_url(request, cursor=packed(*place(shown[-1]))) if len(rows) > limit else None
    tag = etag(shown, following, also)
    unchanged = not_modified(request, tag)
    if unchanged is not None:
        return unchanged
    return tagged(reply(200, encoded({"results": [show(row) for row in shown], "next": following})), tag)
