"""What a re-import refuses, and what it leaves alone because it is being worked on."""

import pytest
from django.conf import settings

from graph.errors import PlanConflict
from graph.fields import from_micros
from leases import acts
from leases.claim import claim
from leases.models import Lease
from leases.settle import reject
from tests.builders import LEAD, make_worker
from tests.graph.planning import (
    conflicts_of,
    faults_of,
    load,
    needs,
    node,
    settle,
    states,
    take,
)

pytestmark = pytest.mark.django_db


# Faults


def test_a_node_keeps_its_parent() -> None:
    load("{key: a, tasks: [{key: t}, {key: u}]}")
    assert faults_of("{key: a, tasks: [{key: u, tasks: [{key: t}]}]}") == [
        ("moved", "objectives[0].tasks[0].tasks[0]", 3)
    ]


def test_keys_differ_by_more_than_case_from_those_that_the_file_no_longer_has() -> None:
    load("{key: a, tasks: [{key: t}]}", "{key: b}")
    assert faults_of("{key: a, tasks: [{key: T}]}", "{key: B}") == [
        ("duplicate_key", "objectives[0].tasks[0].key", 3),
        ("duplicate_key", "objectives[1].key", 4),
    ]


def test_a_cycle_through_what_the_file_no_longer_has() -> None:
    load("{key: a, tasks: [{key: t}, {key: u, needs: [b]}]}", "{key: b}")
    assert faults_of("{key: a, tasks: [{key: t}]}", "{key: b, needs: [a]}") == [("cycle", "objectives[1].needs[0]", 4)]


def test_a_cycle_over_an_edge_that_stays_with_a_settled_node() -> None:
    load("{key: b}", "{key: c, needs: [{on: b, waived: why}]}")
    settle("c")
    assert faults_of("{key: b, needs: [c]}", "{key: c}") == [("cycle", "objectives[0].needs[0]", 3)]


def test_prune_takes_a_cycle_away() -> None:
    load("{key: a, tasks: [{key: t}, {key: u, needs: [b]}]}", "{key: b}")
    load("{key: a, tasks: [{key: t}]}", "{key: b, needs: [a]}", prune=True)
    assert needs() == {("b", "a")}


def test_faults_of_the_file_hide_none_of_those_against_the_plan() -> None:
    load("{key: a, tasks: [{key: t}, {key: u, needs: [b]}]}", "{key: b}")
    assert faults_of("{key: a, needs: [nobody], tasks: [{key: T}]}", "{key: b, needs: [a], color: red}") == [
        ("unknown_key", "objectives[0].needs[0]", 3),
        ("duplicate_key", "objectives[0].tasks[0].key", 3),
        ("unknown_field", "objectives[1].color", 4),
        ("cycle", "objectives[1].needs[0]", 4),
    ]


def test_a_file_that_cannot_be_made_out_whole_is_held_against_the_plan_as_far_as_it_can() -> None:
    load("{key: a, tasks: [{key: t}, {key: u, needs: [b]}]}", "{key: b}")
    faults = faults_of(
        "{key: a, tasks: [{key: u, tasks: [{key: t}]}, {key: '?'}, {key: u}]}", "{key: b, needs: [a, '?']}"
    )
    assert faults == [
        ("bad_key", "objectives[0].tasks[1].key", 3),
        ("duplicate_key", "objectives[0].tasks[2].key", 3),
        ("moved", "objectives[0].tasks[0].tasks[0]", 3),
        ("unknown_key", "objectives[1].needs[1]", 4),
    ]  # whether b waits for itself depends on what '?' was to be


def test_prune_takes_a_cycle_away_from_a_file_with_faults_too() -> None:
    load("{key: a, tasks: [{key: t}, {key: u, needs: [b]}]}", "{key: b}")
    lines = ("{key: a, tasks: [{key: t}]}", "{key: b, needs: [a, nobody]}")
    assert [code for code, _, _ in faults_of(*lines)] == ["unknown_key", "cycle"]
    assert [code for code, _, _ in faults_of(*lines, prune=True)] == ["unknown_key"]


def test_faults_come_before_conflicts() -> None:
    load("{key: a, tasks: [{key: t}, {key: u}]}", "{key: b}")
    take("b")
    assert faults_of("{key: a, tasks: [{key: u, tasks: [{key: t}]}]}", prune=True) == [
        ("moved", "objectives[0].tasks[0].tasks[0]", 3)
    ]


# Conflicts

LANE = "{key: a, tasks: [{key: t, tasks: [{key: u}, {key: v}]}, {key: w}]}"


def test_a_node_with_work_on_or_below_it_is_not_pruned() -> None:
    load(LANE, "{key: b}")
    take("a/u")
    assert conflicts_of("{key: a, tasks: [{key: w}]}", "{key: b}", prune=True) == {
        "a/t": "would be pruned and has work going on below it",
        "a/u": "would be pruned and is being worked on",
    }
    assert conflicts_of("{key: b}", prune=True).keys() == {"a", "a/t", "a/u"}


def test_what_lies_beside_the_work_is_pruned() -> None:
    load(LANE)
    take("a/u")
    load("{key: a, tasks: [{key: t, tasks: [{key: u}]}]}", prune=True)
    assert states() == {"a": "running", "a/t": "running", "a/u": "running", "a/v": "cancelled", "a/w": "cancelled"}


def test_a_stale_claim_is_work_too() -> None:
    load("{key: a}", "{key: b}")
    take("a")
    Lease.objects.update(expires_at=from_micros(1))
    assert conflicts_of("{key: b}", prune=True).keys() == {"a"}


def test_nothing_below_a_held_container_is_pruned() -> None:
    load(LANE)
    take("a/t", hand=True)
    assert conflicts_of("{key: a, tasks: [{key: t, tasks: [{key: v}]}, {key: w}]}", prune=True) == {
        "a/u": "would be pruned and lies below a container that is held by hand"
    }
    load("{key: a, tasks: [{key: t, tasks: [{key: u}, {key: v}]}]}", prune=True)
    assert states()["a/w"] == "cancelled"


@pytest.mark.usefixtures("falling_ids")
def test_nothing_below_a_held_container_is_pruned_whatever_its_id() -> None:
    load("{key: a, tasks: [{key: t, tasks: [{key: u}]}]}")
    load("{key: a, tasks: [{key: t, tasks: [{key: u}, {key: v, tasks: [{key: w}]}]}]}")
    take("a/t", hand=True)
    below = "lies below a container that is held by hand"
    assert conflicts_of("{key: a, tasks: [{key: t, tasks: [{key: u}]}]}", prune=True) == {
        "a/v": f"would be pruned and {below}", "a/w": f"would be pruned and {below}"
    }  # fmt: skip


def test_no_container_that_the_file_keeps_loses_all_of_its_tasks() -> None:
    load(LANE, "{key: b}")
    assert conflicts_of("{key: a, tasks: [{key: t}, {key: w}]}", "{key: b}", prune=True) == {
        "a/t": "is in the file, and all of its tasks would be cancelled"
    }
    assert conflicts_of("{key: a}", "{key: b}", prune=True).keys() == {"a"}
    assert not load("{key: a, tasks: [{key: t}, {key: w}]}", "{key: b}").changed


def test_a_container_may_lose_its_open_tasks_where_others_were_done_or_new_ones_come() -> None:
    load("{key: a, tasks: [{key: t}, {key: u}]}", "{key: b, tasks: [{key: x}]}")
    settle("a/t")
    load("{key: a}", "{key: b, tasks: [{key: y}]}", prune=True)
    assert states() == {
        "a": "done",
        "a/t": "done",
        "a/u": "cancelled",
        "b": "ready",
        "b/x": "cancelled",
        "b/y": "ready",
    }


@pytest.mark.parametrize("before", ["", "needs: [b], "])
@pytest.mark.parametrize("who", ["a", "a/t", "a/u"])
def test_edges_of_what_is_worked_on_and_of_its_ancestors_stay(who: str, before: str) -> None:
    def lane(edges: dict[str, str]) -> str:
        a, t, u = (edges.get(key, "") for key in ("a", "a/t", "a/u"))
        return f"{{key: a, {a}tasks: [{{key: t, {t}tasks: [{{key: u, {u}}}, {{key: v}}]}}, {{key: w}}]}}"

    after = "" if before else "needs: [c], "
    load(lane({who: before}), "{key: b}", "{key: c}")
    if before:
        settle("b")
    take("a/u")
    assert conflicts_of(lane({who: after}), "{key: b}", "{key: c}").keys() == {who}


@pytest.mark.parametrize("who", ["a", "a/t", "a/u"])
def test_edges_around_a_held_container_stay(who: str) -> None:
    load(LANE, "{key: b}")
    take("a/t", hand=True)
    key = who.rpartition("/")[2]
    assert conflicts_of(LANE.replace(f"key: {key}", f"key: {key}, needs: [b]"), "{key: b}").keys() == {who}


def test_edges_beside_the_work_and_onto_it_change() -> None:
    load(LANE, "{key: b}")
    take("a/u")
    load(LANE.replace("key: w", "key: w, needs: [b]"), "{key: b}")
    assert needs() == {("a/w", "b")}
    load(LANE, "{key: b, needs: [a/u]}")
    assert needs() == {("b", "a/u")}


def test_an_edge_of_a_blocked_node_changes() -> None:
    load("{key: a}", "{key: b}")
    block("a")
    load("{key: a, needs: [b]}", "{key: b}")
    assert (states()["a"], needs()) == ("blocked", {("a", "b")})


def block(full_key: str) -> None:
    token = make_worker(f"blocks {full_key}")
    grant = claim(node_id=node(full_key).id, caller=token)
    for _ in range(settings.REJECT_LIMIT):
        reject(
            node_id=grant.node.id, lease_id=grant.lease.id, fence=grant.lease.fence, caller=token, reason="no"
        )  # fmt: skip


@pytest.mark.parametrize("state", ["running", "blocked", "done", "partial", "cancelled"])
def test_no_children_are_put_under_a_leaf_that_was_worked_on(state: str) -> None:
    load("{key: a, tasks: [{key: t}, {key: o}]}")
    match state:
        case "running":
            take("a/t")
        case "blocked":
            block("a/t")
        case "cancelled":
            acts.cancel(node_id=node("a/t").id, caller=LEAD, reason="no")
        case _:
            settle("a/t", state)
    assert conflicts_of("{key: a, tasks: [{key: t, tasks: [{key: u}]}, {key: o}]}") == {
        "a/t": f"would be given tasks and is {state}"
    }


@pytest.mark.parametrize("needed", [False, True])
def test_children_under_a_leaf_that_waits_make_it_a_container(needed: bool) -> None:
    edge = ", needs: [b]" if needed else ""
    load(f"{{key: a{edge}}}", "{key: b}")
    load(f"{{key: a, tasks: [{{key: t}}]{edge}}}", "{key: b}")
    state = "pending" if needed else "ready"
    assert (node("a").leaf, states()["a"], states()["a/t"]) == (False, state, state)


def test_a_task_is_added_beside_the_work_and_below_a_hold() -> None:
    load(LANE)
    take("a/t", hand=True)
    load(LANE.replace("{key: v}", "{key: v}, {key: x}"))
    assert states()["a/x"] == "ready"


def test_a_dry_run_refuses_what_the_import_would() -> None:
    load("{key: a}", "{key: b}")
    take("a")
    with pytest.raises(PlanConflict):
        load("{key: b}", prune=True, dry_run=True)
