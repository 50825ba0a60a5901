"""What stands in the addresses of pages: ids in either case, and names that may hold any character."""

import base64
import binascii
import re
from typing import Final

from graph import ids


class NodeId:
    """A ULID in either case, as the stored spelling."""

    regex = "[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}"

    def to_python(self, value: str) -> str:
        found = ids.parse(value)
        if found is None:
            raise ValueError(value)
        return found

    def to_url(self, value: str) -> str:
        return value


_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._:@+-]*")


class WorkerName:
    """A worker names itself as it likes: `a/b` and `..` too, which no browser would send as they are.

    Usual names stand for themselves, all others as `~` and base64url.
    """

    regex = "[^/]+"

    def to_python(self, value: str) -> str:
        name = value
        if value.startswith("~"):
            try:
                name = base64.urlsafe_b64decode(value[1:].encode() + b"==").decode()
            except (binascii.Error, UnicodeError) as fault:
                raise ValueError(value) from fault
        if not name or "\0" in name:  # no database holds it
            raise ValueError(value)
        return name

    def to_url(self, value: str) -> str:
        if _PLAIN.fullmatch(value):
            return value
        return "~" + base64.urlsafe_b64encode(value.encode()).decode().rstrip("=")
