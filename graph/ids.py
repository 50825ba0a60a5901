"""ULIDs: made by the server, 26 upper-case Crockford characters, compared bytewise.

Source: https://github.com/ulid/spec. The time inside an id orders it roughly and nothing more;
no right ever ends by it.
"""

import re
import threading
from collections.abc import Iterator
from typing import Final

from ulid import ULID

LENGTH: Final = 26
_SHAPE: Final = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_LIMIT: Final = 1 << 128

_lock = threading.Lock()
_last = 0


def _reserve(count: int) -> int:
    """The first of `count` consecutive values, above all that this process gave before."""
    global _last
    with _lock:
        first = max(int(ULID()), _last + 1)
        if first + count > _LIMIT:
            raise OverflowError("no ULIDs are left above the last one")
        _last = first + count - 1
        return first


def new_id() -> str:
    """One new ULID, bytewise greater than every one this process made before."""
    return str(ULID.from_int(_reserve(1)))


def rising(count: int) -> Iterator[str]:
    """`count` new ULIDs, each bytewise greater than the one before."""
    first = _reserve(count) if count else 0
    return (str(ULID.from_int(first + step)) for step in range(count))


def parse(text: str) -> str | None:
    """The stored spelling of an id that a client sent (lower case is folded), or None where it is not one."""
    folded = text.upper() if text.isascii() else ""
    return folded if _SHAPE.fullmatch(folded) else None
