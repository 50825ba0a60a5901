"""A re-import: what it adds, changes, prunes, reopens, leaves alone, and what it refuses."""

import pytest

from graph import editing
from graph.models import Edge, Event, Node
from leases import acts
from leases.audit import audit
from leases.claim import claim
from leases.models import Run
from leases.recover import abandon
from leases.settle import reject, release
from tests.builders import LEAD, make_worker
from tests.graph.planning import (
    events,
    last_event,
    load,
    needs,
    node,
    settle,
    states,
    take,
)

pytestmark = pytest.mark.django_db


# Changes


def test_titles_bodies_and_clones_of_the_unsettled_change() -> None:
    load("{key: a, title: A, tasks: [{key: t, title: T}]}")
    since = last_event()
    load("{key: a, title: B, clone: {repo: 'git@example.org:x', ref: dev}, tasks: [{key: t, body: text}]}")
    a, t = node("a"), node("a/t")
    assert (a.title, a.clone_repo, a.clone_ref, t.title, t.body) == ("B", "git@example.org:x", "dev", "t", "text")
    assert events(since) == [("plan.imported", ""), ("node.changed", "a"), ("node.changed", "a/t")]
    changes = Event.objects.filter(type="node.changed").order_by("seq")
    assert [event.data for event in changes] == [
        {"title": "B", "clone": {"repo": "git@example.org:x", "ref": "dev"}},
        {"title": "t", "body": "text"},
    ]


def test_a_clone_is_taken_away() -> None:
    load("{key: a, clone: {repo: 'git@example.org:x'}}")
    load("{key: a}")
    assert node("a").clone_repo == ""


def test_texts_of_what_is_being_worked_on_change() -> None:
    load("{key: a, tasks: [{key: t}]}")
    take("a/t")
    load("{key: a, title: A, tasks: [{key: t, title: T}]}")
    assert (node("a").title, node("a/t").title, states()["a/t"]) == ("A", "T", "running")


def test_new_nodes_are_ready_when_satisfied_and_take_their_place_in_the_walk() -> None:
    load("{key: a, needs: [b]}", "{key: b}")
    result = load("{key: a, needs: [b]}", "{key: b, tasks: [{key: t}]}", "{key: c, tasks: [{key: u, needs: [a]}]}")
    assert states() == {"a": "pending", "b": "ready", "b/t": "ready", "c": "ready", "c/u": "pending"}
    assert [moved.full_key for moved in result.difference.parted] == ["b"]
    order = Node.objects.order_by("position").values_list("full_key", flat=True)
    assert [*order] == ["b", "b/t", "a", "c", "c/u"]


def test_a_new_edge_demotes_and_a_removed_one_promotes() -> None:
    load("{key: a}", "{key: b, needs: [c], tasks: [{key: t}]}", "{key: c}")
    result = load("{key: a, needs: [c]}", "{key: b, tasks: [{key: t}]}", "{key: c}")
    assert needs() == {("a", "c")}
    assert states() == {"a": "pending", "b": "ready", "b/t": "ready", "c": "ready"}
    brief = result.brief()
    assert (brief["demoted"], brief["became_ready"]) == ([node("a").id], [node("b/t").id])
    assert Node.objects.get(full_key="a").position > Node.objects.get(full_key="c").position


def test_an_edge_may_point_at_what_is_new() -> None:
    load("{key: a}")
    load("{key: a, needs: [b/t]}", "{key: b, tasks: [{key: t}]}")
    assert (states()["a"], needs()) == ("pending", {("a", "b/t")})


def test_differences_on_what_has_settled_are_left_and_listed() -> None:
    load("{key: a, title: A}", "{key: b, needs: [a]}", "{key: c}")
    settle("a")
    settle("b")
    since = last_event()
    result = load("{key: a, title: Z, needs: [c]}", "{key: b}", "{key: c}")
    assert result.brief()["left"] == [{"node": "a", "fields": ["title", "needs"]}, {"node": "b", "fields": ["needs"]}]
    assert not result.changed
    assert (node("a").title, needs(), events(since)) == ("A", {("b", "a")}, [])


@pytest.mark.usefixtures("falling_ids")
def test_a_settled_container_is_left_whatever_the_ids_of_its_tasks() -> None:
    load("{key: a, title: A, tasks: [{key: t}]}", "{key: b}")
    load("{key: a, title: A, tasks: [{key: t}, {key: u}]}", "{key: b}")
    settle("a/t")
    settle("a/u")
    since = last_event()
    result = load("{key: a, title: Z, needs: [b], tasks: [{key: t}, {key: u}]}", "{key: b}")
    assert result.brief()["left"] == [{"node": "a", "fields": ["title", "needs"]}]
    assert (result.changed, node("a").title, needs(), events(since)) == (False, "A", set(), [])


def test_a_container_that_settles_by_this_prune_is_left_too() -> None:
    load("{key: a, tasks: [{key: t}, {key: u}]}")
    settle("a/t")
    result = load("{key: a, title: A, tasks: [{key: t}]}", prune=True)
    assert states() == {"a": "done", "a/t": "done", "a/u": "cancelled"}
    assert result.brief()["left"] == [{"node": "a", "fields": ["title"]}]
    assert not Run.objects.filter(closed_at=None).exists()


def test_a_container_that_regresses_by_this_import_is_changed() -> None:
    load("{key: a, tasks: [{key: t}]}")
    settle("a/t")
    load("{key: a, title: A, tasks: [{key: t}, {key: u}]}")
    assert (node("a").title, states()["a"]) == ("A", "running")


def test_a_waiver_in_the_file_counts_when_the_edge_is_added_and_later_is_a_warning() -> None:
    load("{key: a, needs: [{on: c, waived: why}]}", "{key: b, needs: [c]}", "{key: c}")
    assert states() == {"a": "ready", "b": "pending", "c": "ready"}
    since = last_event()
    result = load("{key: a, needs: [{on: c, waived: other}]}", "{key: b, needs: [{on: c, waived: x}]}", "{key: c}")
    assert [(warning.code, warning.path) for warning in result.difference.warnings] == [
        ("waiver_ignored", "objectives[0].needs[0]"),
        ("waiver_ignored", "objectives[1].needs[0]"),
    ]
    assert (states()["b"], events(since)) == ("pending", [])
    edge = Edge.objects.get(dependent__full_key="b")
    editing.waive(edge_id=edge.id, caller=LEAD, reason="x")
    again = load("{key: a, needs: [{on: c, waived: why}]}", "{key: b, needs: [{on: c, waived: x}]}", "{key: c}")
    assert again.difference.warnings == []


# Missing, prune, back again


def test_what_the_file_no_longer_has_stays_and_is_listed() -> None:
    load("{key: a, tasks: [{key: t}, {key: u}]}", "{key: b, needs: [a/u]}", "{key: c}")
    acts.cancel(node_id=node("c").id, caller=LEAD, reason="no")
    since = last_event()
    result = load("{key: a, tasks: [{key: t}]}")
    assert result.brief()["missing"] == ["a/u", "b"]
    assert not result.changed
    assert (events(since), needs()) == ([], {("b", "a/u")})
    assert states() == {"a": "ready", "a/t": "ready", "a/u": "ready", "b": "pending", "c": "cancelled"}


def test_prune_cancels_what_has_not_settled_and_removes_its_edges() -> None:
    load(
        "{key: a}", "{key: b, needs: [a], tasks: [{key: t}, {key: u, needs: [t]}]}", "{key: c}", "{key: d, needs: [b]}"
    )
    settle("c")
    result = load("{key: a}", "{key: d}", prune=True)
    assert result.brief()["pruned"] == ["b", "b/t", "b/u"]
    assert states() == {
        "a": "ready", "b": "cancelled", "b/t": "cancelled", "b/u": "cancelled", "c": "done", "d": "ready"
    }  # fmt: skip
    assert needs() == set()
    pruned = Event.objects.filter(type="node.cancelled", node=node("b/t").id).get()
    assert (pruned.data["by"], pruned.data["pruned"]) == ("prune", True)


def test_prune_again_changes_nothing() -> None:
    load("{key: a}", "{key: b, tasks: [{key: t}]}")
    load("{key: a}", prune=True)
    since = last_event()
    assert not load("{key: a}", prune=True).changed
    assert events(since) == []


def test_what_prune_cancelled_and_the_file_has_again_is_reopened() -> None:
    load("{key: a}", "{key: b, tasks: [{key: t}, {key: u, needs: [a]}]}", "{key: c}")
    load("{key: a}", prune=True)
    since = last_event()
    result = load("{key: a}", "{key: b, tasks: [{key: t, title: T}, {key: u, needs: [t]}]}")
    assert result.brief()["reopened"] == ["b/t", "b/u"]
    assert states() == {"a": "ready", "b": "ready", "b/t": "ready", "b/u": "pending", "c": "cancelled"}
    assert (node("b/t").pruned, node("b/t").cancel_act, node("b/t").title) == (False, "", "T")
    assert needs() == {("b/u", "b/t")}
    assert [event for event in events(since) if event[0] == "node.reopened"] == [
        ("node.reopened", "b/t"), ("node.reopened", "b/u")
    ]  # fmt: skip


def test_what_a_lead_cancelled_stays_cancelled() -> None:
    load("{key: a}", "{key: b}")
    acts.cancel(node_id=node("b").id, caller=LEAD, reason="no")
    assert not load("{key: a}", "{key: b}").changed
    assert states()["b"] == "cancelled"


def test_what_prune_cancelled_and_a_lead_reopened_and_cancelled_stays_cancelled() -> None:
    load("{key: a}", "{key: b}")
    load("{key: a}", prune=True)
    editing.reopen(node_id=node("b").id, caller=LEAD, reason="yes")
    acts.cancel(node_id=node("b").id, caller=LEAD, reason="no")
    assert not load("{key: a}", "{key: b}").changed


def test_a_pruned_leaf_may_come_back_with_tasks() -> None:
    load("{key: a}", "{key: b}", "{key: c, needs: [b]}")
    load("{key: a}", "{key: c}", prune=True)
    load("{key: a}", "{key: b, tasks: [{key: t}]}", "{key: c, needs: [b]}")
    assert states() == {"a": "ready", "b": "ready", "b/t": "ready", "c": "pending"}
    assert not node("b").pruned


def test_fences_go_on_through_prune_and_back() -> None:
    load("{key: a, tasks: [{key: t}, {key: u}]}")
    grant = take("a/t")
    abandon(node_id=node("a/t").id, caller=LEAD, reason="x")
    load("{key: a, tasks: [{key: u}]}", prune=True)
    load("{key: a, tasks: [{key: t}, {key: u}]}")
    assert take("a/t").lease.fence == grant.lease.fence + 1


def test_counts_start_again_for_what_is_back() -> None:
    load("{key: a}", "{key: b}")
    worker = make_worker()
    grant = claim(node_id=node("b").id, caller=worker)
    reject(node_id=grant.node.id, lease_id=grant.lease.id, fence=1, caller=worker, reason="no")
    release(node_id=grant.node.id, lease_id=grant.lease.id, fence=1, caller=worker)
    assert node("b").rejections == 1
    load("{key: a}", prune=True)
    load("{key: a}", "{key: b}")
    assert node("b").rejections == 0


def test_an_objective_that_settles_by_prune_closes_its_run() -> None:
    load("{key: a, tasks: [{key: t}, {key: u}]}", "{key: b, needs: [a]}")
    settle("a/t")
    result = load("{key: a, tasks: [{key: t}]}", "{key: b, needs: [a]}", prune=True)
    assert states() == {"a": "done", "a/t": "done", "a/u": "cancelled", "b": "ready"}
    assert result.brief()["became_ready"] == [node("b").id]
    assert not Run.objects.filter(closed_at=None).exists()


# Containers that settle and live again


def test_a_task_added_under_a_settled_container_is_a_regression_with_its_lists() -> None:
    load(
        "{key: a, tasks: [{key: t}]}", "{key: b, needs: [a]}", "{key: c, needs: [a]}", "{key: d, needs: [a]}"
    )  # fmt: skip
    settle("a/t")
    settle("b")
    take("c")
    result = load(
        "{key: a, tasks: [{key: t}, {key: u}]}", "{key: b, needs: [a]}", "{key: c, needs: [a]}", "{key: d, needs: [a]}"
    )
    assert states() == {"a": "running", "a/t": "done", "a/u": "ready", "b": "done", "c": "running", "d": "pending"}
    brief = result.brief()
    lists = {
        "demoted": [node("d").id], "running_dependents": [node("c").id], "settled_dependents": [node("b").id]
    }  # fmt: skip
    assert {kind: brief[kind] for kind in lists} == lists
    assert brief["regressed"] == ["a"]
    reopened = Event.objects.get(type="node.reopened")
    assert (reopened.node, reopened.data) == (node("a").id, {"leaves": [], **lists})
    assert {*Edge.objects.filter(reopened=True).values_list("dependent__full_key", flat=True)} == {"b", "c"}


def test_a_nested_container_regresses_with_its_ancestors() -> None:
    load("{key: a, tasks: [{key: t, tasks: [{key: u}]}]}", "{key: b, needs: [a]}")
    settle("a/u")
    load("{key: a, tasks: [{key: t, tasks: [{key: u}, {key: v}]}]}", "{key: b, needs: [a]}")
    assert states() == {"a": "running", "a/t": "running", "a/u": "done", "a/v": "ready", "b": "pending"}
    reopened = Event.objects.get(type="node.reopened")
    assert (reopened.node, reopened.data["demoted"]) == (node("a/t").id, [node("b").id])


def test_a_cancelled_container_lives_again_and_what_was_cancelled_in_it_stays_so() -> None:
    load("{key: a, tasks: [{key: t}]}")
    acts.cancel(node_id=node("a").id, caller=LEAD, reason="no")
    load("{key: a, tasks: [{key: t}, {key: u}]}")
    assert states() == {"a": "ready", "a/t": "cancelled", "a/u": "ready"}


def test_the_last_cancel_of_a_container_that_lives_again_can_still_be_undone() -> None:
    load("{key: a, tasks: [{key: t}]}")
    acts.cancel(node_id=node("a").id, caller=LEAD, reason="no")
    load("{key: a, tasks: [{key: t}, {key: u}]}")
    settle("a/u")
    assert states() == {"a": "done", "a/t": "cancelled", "a/u": "done"}
    editing.reopen(node_id=node("a").id, caller=LEAD, reason="yes after all")
    assert states() == {"a": "running", "a/t": "ready", "a/u": "done"}
    assert audit() == []


def test_dependents_that_regress_in_the_same_import_are_listed_as_what_they_are_now() -> None:
    load("{key: a, tasks: [{key: t}]}", "{key: b, needs: [a], tasks: [{key: v}]}", "{key: c, needs: [b]}")
    settle("a/t")
    settle("b/v")
    settle("c")
    result = load(
        "{key: a, tasks: [{key: t}, {key: u}]}",
        "{key: b, needs: [a], tasks: [{key: v}, {key: w}]}",
        "{key: c, needs: [b]}",
    )
    assert states() == {
        "a": "running", "a/t": "done", "a/u": "ready", "b": "running", "b/v": "done", "b/w": "pending", "c": "done"
    }  # fmt: skip
    brief = result.brief()
    assert brief["running_dependents"] == [node("b").id]
    assert {*brief["settled_dependents"]} == {node("b/v").id, node("c").id}
    of_a, of_b = Event.objects.filter(type="node.reopened").order_by("seq")
    assert of_a.data["running_dependents"] == [node("b").id]
    assert of_a.data["settled_dependents"] == [node("b/v").id]
    assert of_b.data["settled_dependents"] == [node("c").id]


def test_what_settles_by_this_prune_is_no_settled_dependent() -> None:
    load("{key: a, tasks: [{key: t}]}", "{key: b, needs: [a]}")
    settle("a/t")
    result = load("{key: a, tasks: [{key: t}, {key: u}]}", prune=True)
    assert states() == {"a": "running", "a/t": "done", "a/u": "ready", "b": "cancelled"}
    assert result.brief()["settled_dependents"] == []


def test_a_leaf_that_was_claimed_once_runs_as_a_container() -> None:
    load("{key: a, tasks: [{key: t}]}")
    take("a/t")
    abandon(node_id=node("a/t").id, caller=LEAD, reason="x")
    load("{key: a, tasks: [{key: t, tasks: [{key: u}]}]}")
    assert states() == {"a": "running", "a/t": "running", "a/u": "ready"}
