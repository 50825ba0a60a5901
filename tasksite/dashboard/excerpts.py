"""Faults of a plan file beside its text: the lines around each, with what is wrong with them."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from graph.plan_file import Format

MOST: Final = 50
"""Faults that are shown."""
AROUND: Final = 2
"""Lines shown before and after each."""
WIDEST: Final = 160
"""Characters of a line."""

_BREAKS: Final = {
    Format.JSON: re.compile(rb"\n"),
    Format.YAML: re.compile(rb"\r\n|[\n\r]|\xc2\x85|\xe2\x80[\xa8\xa9]"),
}
"""What ends a line for the reader that numbered them."""

Fault = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    text: str
    faults: list[Fault]


def excerpts(data: bytes, form: Format, faults: Sequence[Fault]) -> list[list[Line]]:
    """Runs of lines that follow each other, in the order of the file; faults without a line are in none."""
    at: dict[int, list[Fault]] = {}
    for fault in faults[:MOST]:
        if fault["line"]:
            at.setdefault(fault["line"], []).append(fault)
    wanted = {line + step for line in at for step in range(-AROUND, AROUND + 1)}
    runs: list[list[Line]] = []
    for number, text in _lines(data, form, wanted):
        if not runs or runs[-1][-1].number != number - 1:
            runs.append([])
        runs[-1].append(Line(number, text, at.get(number, [])))
    return runs


def _lines(data: bytes, form: Format, wanted: Collection[int]) -> Iterator[tuple[int, str]]:
    """Those lines of the file, without holding all of its lines at once."""
    last, start, number = max(wanted, default=0), 0, 1
    for end in _BREAKS[form].finditer(data):
        if number > last:
            return
        if number in wanted:
            yield number, _text(data[start : end.start()])
        start, number = end.end(), number + 1
    if number in wanted:
        yield number, _text(data[start : start + 4 * WIDEST + 4])


def _text(line: bytes) -> str:
    text = line[: 4 * WIDEST + 4].decode(errors="replace").rstrip("\r").expandtabs(4)
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"
