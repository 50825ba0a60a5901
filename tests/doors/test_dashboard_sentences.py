"""Every type of event has a sentence, and no sentence lets anything through unescaped."""

import pytest
from django.utils.safestring import mark_safe

from graph.events import TYPES
from tasksite.dashboard import timeline
from tasksite.dashboard.sentences import PHRASES, Told, sentence
from tasksite.templatetags.pages import span


def told(type_: str, **data: object) -> Told:
    key = mark_safe("<i>api/x</i>")
    return Told(type_, "<ann>", key, key, True, "<pay>", data)


def test_each_type_has_its_sentence() -> None:
    assert PHRASES.keys() == TYPES
    assert set(timeline.SHOWN) <= TYPES


@pytest.mark.parametrize("type_", sorted(TYPES))
def test_names_are_escaped(type_: str) -> None:
    for by in ("", "claim", "report", "reject", "release", "promotion", "import", "cancel", "prune", "roll-up"):
        said = sentence(told(type_, by=by, holder="<w>", outcome="rejected", added=3))
        assert "<ann>" not in said and "<pay>" not in said and "<w>" not in said


def test_wordings_follow_what_happened() -> None:
    assert sentence(told("node.done", by="report")) == "<b>&lt;ann&gt;</b> finished <i>api/x</i>"
    assert sentence(told("node.done", by="roll-up")) == "<i>api/x</i> is done"
    assert sentence(told("plan.imported", added=1200, changed=0)).endswith("1,200 added")


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-3, "0 s"), (59.9, "59 s"), (60, "1 min"), (3599, "59 min"), (3600, "1 h"), (7500, "2 h 5 min"),
     (86400, "1 d"), (100_000, "1 d 3 h")],
)  # fmt: skip
def test_spans_are_as_exact_as_a_reader_needs(seconds: float, shown: str) -> None:
    assert span(seconds) == shown
