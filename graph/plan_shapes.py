"""Reading mappings, lists and texts off a stream of tokens, with a fault for each that is not as it should be."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from graph.plan_faults import Faults, quoted
from graph.plan_tokens import ALIAS, END, LIST, MAPPING, MERGE, NOTHING, TEXT, Token

CONTROL: Final = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]"
"""Control characters other than tab and newline, and the halves of a character that UTF-8 cannot say."""

_CONTROL: Final = re.compile(CONTROL)
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}")


class Shape(NamedTuple):
    """A kind of mapping: its name in messages, what reads each field, and the fields that it must have.

    A field is read by a function of the reader, of what is to be filled, of the value's first token, and of its
    path. One that may be left out may also be left empty.
    """

    name: str
    fields: Mapping[str, Callable[[Any, Any, Token, str], None]]
    required: tuple[str, ...] = ()


class ShapeReader:
    """Knows what a mapping is, but no plan."""

    def __init__(self, tokens: Iterator[Token], faults: Faults) -> None:
        self.tokens = tokens
        self.faults = faults

    def mapping(self, shape: Shape, fills: Any, start: Token, path: str) -> None:
        """Read the fields of a mapping, up to its end, into `fills`."""
        if not self.expect(MAPPING, start, path):
            return
        seen: set[str] = set()
        while (name := next(self.tokens)).kind != END:
            if name.kind in (MAPPING, LIST, ALIAS):
                self.wrong_type(name, path, f"the name of a field of {shape.name}")
                self.skip(name)
                self.skip(next(self.tokens))
            else:
                self._field(shape, fills, name, path, seen)
        for field in shape.required:
            if field not in seen:
                self.faults.add("missing_field", path, start.line, f"{shape.name.capitalize()} needs {field!r}.")

    def _field(self, shape: Shape, fills: Any, name: Token, path: str, seen: set[str]) -> None:
        value = next(self.tokens)
        field, where = name.value, _below(path, name.value)
        if name.kind == MERGE:
            self.faults.add("merge_key", where, name.line, "Merge keys are not taken: write the fields out.")
        elif field in seen:
            self.faults.add("duplicate_field", where, name.line, f"{quoted(field)} is there twice.")
        elif field not in shape.fields:
            takes = ", ".join(shape.fields)
            self.faults.add(
                "unknown_field", where, name.line, f"{shape.name.capitalize()} has no field {quoted(field)}: {takes}.",
                self.faults.nearest(field, shape.fields),
            )  # fmt: skip
        else:
            seen.add(field)
            if value.kind != NOTHING or field in shape.required:
                shape.fields[field](self, fills, value, where)
            return
        self.skip(value)

    def items(self, start: Token, path: str) -> Iterator[tuple[Token, str]]:
        """The first token and the path of each item of a list. Whoever takes one reads or skips all of it."""
        if not self.expect(LIST, start, path):
            return
        place = 0
        while (token := next(self.tokens)).kind != END:
            yield token, f"{path}[{place}]"
            place += 1

    def text(self, token: Token, path: str, longest: int, *, blank: bool = True) -> str | None:
        """A text as it is stored, or None after a fault."""
        value = self.scalar(token, path, "wrong_type")
        if value is None:
            return None
        if control := _CONTROL.search(value):
            self.faults.add(
                "control_character", path, token.line, f"The text holds U+{ord(control[0]):04X}, a control character."
            )
            return None
        value = unicodedata.normalize("NFC", value)
        if len(value) > longest:
            self.faults.add(
                "over_limit", path, token.line, f"The text has {len(value):,} characters, {longest:,} at most."
            )
            return None
        if not blank and not value.strip():
            self.faults.add("blank", path, token.line, "There is nothing in this text: write it, or leave it out.")
            return None
        return value

    def scalar(self, token: Token, path: str, not_text: str) -> str | None:
        """A text as it is written; None after a fault, `not_text` where it was read as a number, date or boolean."""
        if token.kind in (TEXT, MERGE):
            return token.value
        if token.kind in (MAPPING, LIST, ALIAS, NOTHING):
            self.wrong_type(token, path, TEXT)
            self.skip(token)
        else:
            self.faults.add(
                not_text, path, token.line, f"{quoted(token.value)} is read as {token.kind}: put it in quotes."
            )
        return None

    def expect(self, kind: str, token: Token, path: str) -> bool:
        """Whether the value is a mapping or list, as it should be; if not, it is skipped with a fault."""
        if token.kind == kind:
            return True
        self.wrong_type(token, path, kind)
        self.skip(token)
        return False

    def wrong_type(self, token: Token, path: str, wanted: str) -> None:
        if token.kind != ALIAS:  # that is a fault already
            self.faults.add("wrong_type", path, token.line, f"Expected {wanted}, found {token.kind}.")

    def skip(self, token: Token) -> None:
        """Step over the rest of a value."""
        depth = int(token.kind in (MAPPING, LIST))
        while depth:
            kind = next(self.tokens).kind
            depth += (kind in (MAPPING, LIST)) - (kind == END)


def _below(path: str, field: str) -> str:
    shown = field if _PLAIN_NAME.fullmatch(field) else f"[{quoted(field)}]"
    return f"{path}.{shown}" if path else shown
