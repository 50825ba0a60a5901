"""How an attempt ended: a command's exit status and the result that it left, read as report, reject or release.

Exit 0 is done, 10 partial, 75 (`EX_TEMPFAIL`: not now) a release, all else a reject.

The result is JSON. An object that has only `summary`, `result` and `reason`, the texts among them being texts, is
taken by these names; any other value is the `result` as a whole. No file, or an empty one, is no result.
A reject without a `reason` gives the exit status and the end of what the command said on standard error.
"""

import json
import re
import signal
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from leases.channel import encode
from leases.client import Outcome

DONE: Final = 0
PARTIAL: Final = 10
RELEASE: Final = 75

RESULT_BYTES: Final = 64 * 1024
FILE_BYTES: Final = 4 * RESULT_BYTES  # spaces, and a summary, may come on top
TEXT_CHARS: Final = 10_000
TAIL_CHARS: Final = 2000

# Colours, cursor movements, window titles.
ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[^\[\]])")


@dataclass(frozen=True, slots=True)
class Report:
    outcome: Outcome
    summary: str = ""
    result: Any = None


@dataclass(frozen=True, slots=True)
class Reject:
    reason: str


@dataclass(frozen=True, slots=True)
class Release:
    reason: str = ""


Verdict = Report | Reject | Release


def line(verdict: Verdict) -> str:
    """The verdict in one short line, for a log."""
    match verdict:
        case Report(outcome, summary):
            words = f"{outcome}: {summary}"
        case Reject(reason):
            words = f"rejected: {reason}"
        case Release(reason):
            words = f"released: {reason}"
    return clean(words.partition("\n")[0], chars=200).removesuffix(":")


@dataclass(frozen=True, slots=True)
class Left:
    """What the command left in its result file."""

    summary: str = ""
    result: Any = None
    reason: str = ""


def judge(code: int, result_file: Path, tail: bytes) -> Verdict:
    """What to tell the server. A result that cannot be read is no result: the attempt is rejected and says why."""
    try:
        left = read(result_file)
    except ValueError as fault:
        if code in (DONE, PARTIAL):
            return Reject(clean(f"RESULT_FILE: {fault}"))
        left = Left()
    match code:
        case 0:
            return Report("done", left.summary, left.result)
        case 10:
            return Report("partial", left.summary, left.result)
        case 75:
            return Release(left.reason)
    ended = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
    said = clean(tail.decode(errors="replace"), chars=TAIL_CHARS, from_end=True)
    return Reject(left.reason or f"{ended}\n{said}".rstrip())


def read(path: Path) -> Left:
    """The file's content. Raises ValueError, with a sentence, where it is not what the report can carry."""
    if not path.exists():
        return Left()
    if not path.is_file():
        raise ValueError("not a file")
    with path.open("rb") as file:
        content = file.read(FILE_BYTES + 1)
    if len(content) > FILE_BYTES:
        raise ValueError(f"larger than {FILE_BYTES} bytes")
    if not content.strip():
        return Left()
    try:
        value = json.loads(content, parse_constant=_no_constant)
        left = _by_name(value) or Left(result=value)
        size = len(encode(left.result))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if size > RESULT_BYTES:
        raise ValueError(f"the result has {size} bytes of JSON, the limit is {RESULT_BYTES}")
    return left


def _by_name(value: Any) -> Left | None:
    if not isinstance(value, dict) or not value or value.keys() - {"summary", "result", "reason"}:
        return None
    texts = {name: value.get(name) or "" for name in ("summary", "reason")}
    if not all(isinstance(text, str) for text in texts.values()):
        return None
    return Left(clean(texts["summary"]), value.get("result"), clean(texts["reason"]))


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def clean(text: str, *, chars: int = TEXT_CHARS, from_end: bool = False) -> str:
    """The text as the server takes it: NFC, no escapes or control characters, at most `chars` of its start or end."""
    text = ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    text = "".join(char for char in text if char in "\t\n" or unicodedata.category(char) not in ("Cc", "Cs"))
    text = unicodedata.normalize("NFC", text).strip()
    if len(text) <= chars:
        return text
    return f"…{text[1 - chars :]}" if from_end else f"{text[: chars - 1]}…"
