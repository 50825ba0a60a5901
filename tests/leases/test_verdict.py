"""Exit status and result file, read as what the server is told."""

from pathlib import Path
from typing import Any

import pytest

from leases.desk import PROGRESS_BYTES
from leases.verdict import RESULT_BYTES, TAIL_CHARS, TEXT_CHARS, Reject, Release, Report, Verdict, clean, judge, line
from tasksite.api.views import holding


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "result.json"


def judged(file: Path, code: int, content: str | bytes | None = None, tail: bytes = b"") -> Verdict:
    if content is not None:
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    return judge(code, file, tail)


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        (0, Report("done")),
        (10, Report("partial")),
        (75, Release()),
        (1, Reject("exit status 1")),
        (127, Reject("exit status 127")),
        (-9, Reject("killed by SIGKILL")),
        (-11, Reject("killed by SIGSEGV")),
    ],
)
@pytest.mark.parametrize("content", [None, "", " \n"])
def test_exit_status_alone(file: Path, code: int, verdict: Verdict, content: str | None) -> None:
    assert judged(file, code, content) == verdict


@pytest.mark.parametrize(
    ("content", "summary", "result"),
    [
        ('{"summary": "s", "result": [1]}', "s", [1]),
        ('{"summary": "s"}', "s", None),
        ('{"result": {"a": null}}', "", {"a": None}),
        ('{"summary": null, "result": 1, "reason": "unused"}', "", 1),
        ('{"summary": "s", "pages": 3}', "", {"summary": "s", "pages": 3}),
        ('{"summary": {"not": "text"}}', "", {"summary": {"not": "text"}}),
        ("{}", "", {}),
        ("[]", "", []),
        ('"text"', "", "text"),
        ("0", "", 0),
        ("false", "", False),
        ("null", "", None),
        ('{"summary": "\\u001b[31mred\\u001b[0m\\u0000\\r\\nline"}', "red\nline", None),
    ],
)
@pytest.mark.parametrize("code", [0, 10])
def test_a_result_is_taken_by_its_names_or_as_a_whole(
    file: Path, code: int, content: str, summary: str, result: Any
) -> None:
    assert judged(file, code, content) == Report("done" if code == 0 else "partial", summary, result)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "RESULT_FILE: "),
        ("NaN", "NaN is not JSON"),
        ("[Infinity]", "Infinity is not JSON"),
        (b"\xff\xfe\xfa", "RESULT_FILE: "),
        ('"\\ud800"', "surrogates"),
        ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
        (f'"{"x" * RESULT_BYTES}"', f"the limit is {RESULT_BYTES}"),
        (" " * 300_000 + "1", "larger than"),
    ],
)
def test_a_result_that_cannot_be_carried_rejects_and_says_why(file: Path, content: str | bytes, says: str) -> None:
    verdict = judged(file, 0, content)
    assert isinstance(verdict, Reject) and says in verdict.reason


def test_the_largest_result(file: Path) -> None:
    text = "x" * (RESULT_BYTES - 2)
    assert judged(file, 0, f'{{ "result" :  "{text}" }}') == Report("done", "", text)


def test_a_result_that_is_not_a_file(file: Path) -> None:
    file.mkdir()
    assert judged(file, 0) == Reject("RESULT_FILE: not a file")


def test_a_bad_result_does_not_hide_why_it_failed(file: Path) -> None:
    assert judged(file, 2, "{", b"no such module") == Reject("exit status 2\nno such module")
    assert judged(file, 75, "{") == Release()


def test_a_reason_of_its_own_is_better_than_the_tail(file: Path) -> None:
    assert judged(file, 1, '{"reason": "3 tests fail"}', b"noise") == Reject("3 tests fail")
    assert judged(file, 75, '{"reason": "quota used up"}') == Release("quota used up")


def test_the_tail_is_cut_at_its_start(file: Path) -> None:
    verdict = judged(file, 1, tail=b"\xbc cut in a character\n" + b"line\n" * 1000 + b"\x1b[1mthe end\x1b[0m\n")
    assert isinstance(verdict, Reject)
    assert verdict.reason.startswith("exit status 1\n") and verdict.reason.endswith("line\nthe end")
    assert len(verdict.reason) == len("exit status 1\n") + TAIL_CHARS


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x1b[38;5;1mb\x1b[K", "ab"),
        ("10%\r20%\r\nend", "10%\n20%\nend"),
        ("tab\tkept\x7f\x85", "tab\tkept"),
        ("e\u0301", "\u00e9"),
        ("  around  ", "around"),
        ("lone \ud800", "lone"),
    ],
)
def test_text_is_cleaned(given: str, kept: str) -> None:
    assert clean(given) == kept


def test_text_is_cut_where_the_less_is_lost() -> None:
    assert clean("abcdef", chars=4) == "abc…"
    assert clean("abcdef", chars=4, from_end=True) == "…def"
    assert clean("abcd", chars=4) == "abcd"


@pytest.mark.parametrize(
    ("verdict", "shown"),
    [
        (Report("done"), "done"),
        (Report("partial", "half\nof it", {"large": "x" * 1000}), "partial: half"),
        (Reject("exit status 1\nno such file"), "rejected: exit status 1"),
        (Release(), "released"),
        (Release("x" * 1000), f"released: {'x' * 189}…"),
    ],
)
def test_a_log_line_is_short(verdict: Verdict, shown: str) -> None:
    assert line(verdict) == shown


def test_the_limits_are_the_server_s() -> None:
    assert (TEXT_CHARS, RESULT_BYTES, PROGRESS_BYTES) == (
        holding.TEXT_LIMIT,
        holding.RESULT_LIMIT,
        holding.PROGRESS_LIMIT,
    )
