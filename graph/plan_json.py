"""JSON to the same tokens as YAML: strict (RFC 8259), with lines, and without recursion."""

import re
from collections.abc import Iterator
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Final, NoReturn

from graph.plan_faults import Faults
from graph.plan_tokens import BOOLEAN, END, LIST, MAPPING, NESTING, NOTHING, NUMBER, TEXT, Token

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_WORD: Final = re.compile(r"(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)|true|false|null")


def tokens(text: str, faults: Faults) -> Iterator[Token]:
    """The tokens of the one value in `text`. Raises PlanInvalid where it is not JSON."""
    scanner = _Scanner(text, faults)
    closing: list[str] = []
    while True:
        token = scanner.value()
        yield token
        if token.kind in (MAPPING, LIST):
            closing.append("}" if token.kind == MAPPING else "]")
            if len(closing) > NESTING:
                faults.stop("over_limit", "", token.line, f"More than {NESTING} levels are nested here.")
            if scanner.peek() != closing[-1]:
                if token.kind == MAPPING:
                    yield scanner.name()
                continue
        while closing:
            mark = scanner.mark(",", closing[-1])
            if mark == ",":
                break
            closing.pop()
            yield Token(END, "", scanner.line)
        else:
            scanner.finish()
            return
        if closing[-1] == "}":
            yield scanner.name()


class _Scanner:
    """A place in the text that moves on; `line` is that of the place."""

    def __init__(self, text: str, faults: Faults) -> None:
        self._text = text
        self._faults = faults
        self._at = 0
        self.line = 1

    def peek(self) -> str:
        """The next character that is not white space, or nothing at the end."""
        end = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]  # it matches the empty string
        self.line += self._text.count("\n", self._at, end)
        self._at = end
        return self._text[end : end + 1]

    def mark(self, *wanted: str) -> str:
        """Step over one of these characters."""
        found = self.peek()
        if not found or found not in wanted:
            self._stop(f"expected {' or '.join(wanted)}")
        self._at += 1
        return found

    def name(self) -> Token:
        """The name of a field and its colon."""
        if self.peek() != '"':
            self._stop("expected the name of a field, in double quotes")
        token = self._string()
        self.mark(":")
        return token

    def value(self) -> Token:
        """A scalar, or the start of a mapping or list."""
        match self.peek():
            case '"':
                return self._string()
            case "{" | "[" as opening:
                self._at += 1
                return Token(MAPPING if opening == "{" else LIST, "", self.line)
        word = _WORD.match(self._text, self._at)
        if not word:
            self._stop("expected a value")
        self._at = word.end()
        kind = NUMBER if word["number"] else NOTHING if word[0] == "null" else BOOLEAN
        return Token(kind, word[0], self.line)

    def finish(self) -> None:
        """Nothing may follow."""
        if self.peek():
            self._stop("something follows the end of the plan")

    def _string(self) -> Token:
        try:
            value, self._at = scanstring(self._text, self._at + 1, True)
        except JSONDecodeError as error:
            self._stop(error.msg.removesuffix(" at").lower())
        return Token(TEXT, value, self.line)

    def _stop(self, problem: str) -> NoReturn:
        self._faults.stop("syntax", "", self.line, f"This is not JSON: {problem}.")
