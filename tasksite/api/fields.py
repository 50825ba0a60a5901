"""Kinds of fields: what each takes, how it is checked, and how the schema says it. No serializers: these are cheap."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from graph import ids
from tasksite.api.rendering import encoded

BIGGEST: Final = 2**63 - 1
"""What a bigint column holds."""

DEEPEST: Final = 100
"""Levels of a JSON value that is stored."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_DIGITS: Final = re.compile(r"[0-9]{1,19}")


class Wrong(ValueError):
    """What is wrong with one value, as the end of a sentence that begins with the field's name."""


@dataclass(frozen=True, slots=True)
class Field:
    """`check` returns the value to go on with or raises Wrong; `schema` is the JSON Schema of what it takes."""

    check: Callable[[Any], Any]
    schema: Mapping[str, Any]
    required: bool = False

    def must(self) -> "Field":
        """The same field, required."""
        return replace(self, required=True)

    def says(self, description: str) -> "Field":
        return replace(self, schema={**self.schema, "description": description})


def clean(text: str) -> str:
    """Text that both databases store and UTF-8 can spell: no NUL, no lone surrogate."""
    if "\x00" in text:
        raise Wrong("must not hold a NUL character")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Wrong("must not hold half of a surrogate pair") from None
    return text


def text(limit: int, *, blank: bool = True) -> Field:
    """Any text of at most `limit` characters; unless `blank`, something must be written in it."""

    def check(value: Any) -> str:
        found = _text(value, limit)
        if not blank and not found.strip():
            raise Wrong("must not be blank")
        return found

    schema = {"type": "string", "maxLength": limit}
    return Field(check, schema if blank else schema | {"minLength": 1})


def short_text(limit_bytes: int) -> Field:
    """Text of at most that many bytes of UTF-8."""

    def check(value: Any) -> str:
        found = _text(value, limit_bytes)
        if len(found.encode()) > limit_bytes:
            raise Wrong(f"must have at most {limit_bytes} bytes")
        return found

    return Field(check, {"type": "string", "maxLength": limit_bytes})


def name(limit: int) -> Field:
    """One line that is shown as a name: something visible, and no control characters."""

    def check(value: Any) -> str:
        found = _text(value, limit)
        if not found.strip():
            raise Wrong("must not be blank")
        if _CONTROL.search(found):
            raise Wrong("must not hold control characters")
        return found

    return Field(check, {"type": "string", "minLength": 1, "maxLength": limit})


def whole(low: int, high: int) -> Field:
    """A JSON number without a fraction; true and false are none."""

    def check(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise Wrong("must be a whole number")
        return _within(value, low, high)

    return Field(check, {"type": "integer", "minimum": low, "maximum": high})


def flag() -> Field:
    def check(value: Any) -> bool:
        if not isinstance(value, bool):
            raise Wrong("must be true or false")
        return value

    return Field(check, {"type": "boolean"})


def choice(*values: str) -> Field:
    """One of these words; in a query too."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in values:
            raise Wrong(f"must be one of {', '.join(values)}")
        return value

    return Field(check, {"type": "string", "enum": [*values]})


def ulid() -> Field:
    """An id, in upper or lower case; in a query too."""

    def check(value: Any) -> str:
        found = ids.parse(value) if isinstance(value, str) else None
        if found is None:
            raise Wrong("must be a ULID of 26 characters")
        return found

    return Field(check, {"type": "string", "pattern": "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$"})


def any_json(limit_bytes: int) -> Field:
    """Any JSON value that takes at most that many bytes when it is written without spaces."""

    def check(value: Any) -> Any:
        for each in _texts(value):
            clean(each)
        if len(encoded(value).encode()) > limit_bytes:
            raise Wrong(f"must take at most {limit_bytes} bytes as JSON")
        return value

    return Field(check, {})


# In a query all is text.


def query_whole(low: int, high: int) -> Field:
    def check(value: str) -> int:
        if not _DIGITS.fullmatch(value):
            raise Wrong("must be a whole number")
        return _within(int(value), low, high)

    return Field(check, {"type": "integer", "minimum": low, "maximum": high})


def query_flag() -> Field:
    def check(value: str) -> bool:
        if value not in ("true", "false"):
            raise Wrong("must be true or false")
        return value == "true"

    return Field(check, {"type": "boolean"})


def _text(value: Any, limit: int) -> str:
    if not isinstance(value, str):
        raise Wrong("must be a text")
    if len(value) > limit:
        raise Wrong(f"must have at most {limit} characters")
    return clean(value)


def _within(value: int, low: int, high: int) -> int:
    if not low <= value <= high:
        raise Wrong(f"must be from {low} to {high}")
    return value


def _texts(value: Any) -> Iterator[str]:
    """Every text in a JSON value, keys too. Raises Wrong where it is nested too deeply to be handled safely."""
    level, depth = [value], 0
    while level:
        if depth > DEEPEST:
            raise Wrong(f"must not be nested more than {DEEPEST} levels deep")
        below: list[Any] = []
        for each in level:
            if isinstance(each, str):
                yield each
            elif isinstance(each, dict):
                yield from each
                below.extend(each.values())
            elif isinstance(each, list):
                below.extend(each)
        level, depth = below, depth + 1
