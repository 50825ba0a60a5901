"""The inputs of a claim: what each dependency came to, with the words of the run that settled it and no others."""

import pytest

from graph import editing
from graph.models import Edge
from leases import acts
from leases.claim import Grant, claim
from leases.settle import report
from tests.builders import LEAD, make_plan, make_worker
from tests.graph.planning import load, node

pytestmark = pytest.mark.django_db


def take(node_id: str) -> Grant:
    return claim(node_id=node_id, caller=make_worker(f"takes {node_id}"))


def work(node_id: str, words: str, outcome: str = "done") -> None:
    """A new worker claims the node and reports, with the words as summary and as result."""
    worker = make_worker(f"{words} {node_id}")
    grant = claim(node_id=node_id, caller=worker)
    report(
        node_id=node_id, lease_id=grant.lease.id, fence=grant.lease.fence, caller=worker,
        outcome=outcome, summary=words, result={"words": words},
    )  # fmt: skip


def reopen(node_id: str) -> None:
    editing.reopen(node_id=node_id, caller=LEAD, reason="again")


def inputs(node_id: str) -> list[tuple[str, str | None, str | None]]:
    found = take(node_id).inputs
    assert all(each.result == (None if each.summary is None else {"words": each.summary}) for each in found)
    return [(each.full_key, each.outcome, each.summary) for each in found]


@pytest.mark.usefixtures("falling_ids")
def test_the_words_are_of_the_last_run_whatever_its_id() -> None:
    ids = make_plan({"a": {}, "b": {"needs": ["a"]}})
    work(ids["a"], "first")
    reopen(ids["a"])
    work(ids["a"], "second")
    assert inputs(ids["b"]) == [("a", "done", "second")]


def test_the_words_are_of_the_run_that_settled_it() -> None:
    ids = make_plan({"a": {}, "b": {"needs": ["a"]}})
    work(ids["a"], "whole")
    reopen(ids["a"])
    work(ids["a"], "some", "partial")
    assert inputs(ids["b"]) == [("a", "partial", "some")]


def test_what_was_cancelled_after_a_run_has_no_words() -> None:
    ids = make_plan({"a": {}, "b": {"waived": ["a"]}})
    work(ids["a"], "old")
    reopen(ids["a"])
    acts.cancel(node_id=ids["a"], caller=LEAD, reason="no")
    assert inputs(ids["b"]) == [("a", "cancelled", None)]


def test_what_is_open_again_has_no_words() -> None:
    ids = make_plan({"a": {}, "b": {"waived": ["a"]}})
    work(ids["a"], "old")
    reopen(ids["a"])
    assert inputs(ids["b"]) == [("a", None, None)]


def test_a_container_has_no_words_of_its_time_as_a_leaf() -> None:
    load("{key: a, tasks: [{key: t}]}", "{key: b, needs: [a/t]}")
    work(node("a/t").id, "old")
    reopen(node("a/t").id)
    load("{key: a, tasks: [{key: t, tasks: [{key: u}]}]}", "{key: b, needs: [a/t]}")
    work(node("a/u").id, "new")
    assert inputs(node("b").id) == [("a/t", "done", None)]


def test_a_container_brings_no_words_at_any_depth() -> None:
    ids = make_plan(
        {"a": {"tasks": {"t": {}}}, "b": {"tasks": {"t": {"tasks": {"u": {}}}}}, "c": {"needs": ["a", "b/t"]}}
    )
    work(ids["a/t"], "words")
    work(ids["b/u"], "words")
    assert inputs(ids["c"]) == [("a", "done", None), ("b/t", "done", None)]


def test_a_dependency_is_named_once_however_many_need_it() -> None:
    ids = make_plan({"a": {}, "b": {}, "c": {"needs": ["a"], "tasks": {"t": {"needs": ["b", "a"]}}}})
    work(ids["a"], "of a")
    work(ids["b"], "of b")
    assert Edge.objects.filter(dependency=ids["a"]).count() == 2
    assert inputs(ids["c/t"]) == [("a", "done", "of a"), ("b", "done", "of b")]
