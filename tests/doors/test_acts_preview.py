"""Before an act the dialog says what it will do, by doing it and taking it back; the notice says what it did."""

import re
from typing import Any

import pytest
from django.db import connection
from django.db.transaction import TransactionManagementError
from django.test import Client
from django.test.utils import CaptureQueriesContext

from graph import editing, feed, transaction
from graph.errors import WrongState
from graph.models import Edge, Event, Node
from leases import acts as lease_acts
from leases.audit import audit
from leases.claim import claim
from leases.models import Lease, Run
from leases.recover import abandon
from leases.settle import reject, report
from tasksite.dashboard import acts, outcome
from tests.builders import LEAD, Tree, make_plan, make_worker, states
from tests.doors.people import HTMX, held, shown, signed_in, words

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead() -> Client:
    return signed_in("ann", lead=True)


def asked(client: Client, verb: str, node_id: str) -> str:
    return shown(client, f"/nodes/{node_id}/{verb}/")


def edge_between(ids: dict[str, str], dependent: str, dependency: str) -> str:
    return Edge.objects.get(dependent=ids[dependent], dependency=ids[dependency]).id


def everything() -> list[Any]:
    return [list(model._default_manager.order_by("pk").values()) for model in (Node, Edge, Event, Lease, Run)]


# The rehearsal


def test_a_rehearsal_answers_as_the_act_will_and_leaves_nothing() -> None:
    ids = make_plan({"a": {"tasks": {"one": {}}}, "b": {"needs": ["a"]}, "c": {"needs": ["b"]}})
    worker = make_worker()
    report(**held(claim(node_id=ids["a/one"], caller=worker)), caller=worker, outcome="done")
    before, horizon = everything(), feed.horizon()
    for act, subject in [
        (acts.REOPEN, ids["a/one"]), (acts.CANCEL, ids["b"]), (acts.WAIVE, edge_between(ids, "c", "b")),
        (acts.UNWAIVE, edge_between(ids, "c", "b")),
    ]:  # fmt: skip
        try:
            rehearsed = acts.rehearse(act, subject, LEAD, None)
        except WrongState:
            assert act is acts.UNWAIVE
            editing.waive(edge_id=subject, caller=LEAD, reason="go on")
            before, horizon = everything(), feed.horizon()
            rehearsed = acts.rehearse(act, subject, LEAD, None)
        assert everything() == before and feed.horizon() == horizon
        done = act.perform(subject, LEAD, "because", None)
        assert rehearsed.node == done.node and rehearsed.moves == done.moves
        assert rehearsed.became_ready == done.became_ready and rehearsed.demoted == done.demoted
        assert rehearsed.settled_dependents == done.settled_dependents
        before, horizon = everything(), feed.horizon()
    assert audit() == []


def test_a_rehearsal_draws_no_number_of_an_event() -> None:
    """On PostgreSQL what was drawn stays drawn: the next event would stand behind a gap, and every page ask again."""
    ids = make_plan({"a": {}, "b": {}})
    last = Event.objects.latest("seq").seq
    acts.rehearse(acts.CANCEL, ids["a"], LEAD, None)
    lease_acts.cancel(node_id=ids["b"], caller=LEAD, reason="no")
    assert Event.objects.filter(seq__gt=last).earliest("seq").seq == last + 1


def test_a_refused_rehearsal_leaves_no_mark_of_a_sweep_either(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = make_plan({"a": {}})
    claim(node_id=ids["a"], caller=make_worker(), ttl_s=5)
    monkeypatch.setattr("graph.clock.judged", lambda micros: micros + 60_000_000)
    with pytest.raises(WrongState):
        acts.rehearse(acts.CANCEL, ids["a"], LEAD, None)
    assert acts.rehearse(acts.ABANDON, ids["a"], LEAD, 1).node.state == "ready"
    assert Lease.objects.get().expired_at is None and states(ids)["a"] == "running"


def test_a_rehearsal_is_a_transaction_of_its_own() -> None:
    @transaction.entry
    def outer() -> None:
        transaction.rehearse(lambda: None)

    with pytest.raises(TransactionManagementError):
        outer()


@pytest.mark.django_db(transaction=True)
def test_what_was_rehearsed_holds_nothing_up_and_commits_nothing() -> None:
    ids = make_plan({"a": {}})
    called: list[str] = []

    def act() -> editing.Edited:
        from django.db.transaction import on_commit

        on_commit(lambda: called.append("rung"))
        return lease_acts.cancel(node_id=ids["a"], caller=LEAD, reason="no")

    assert transaction.rehearse(act).node.state == "cancelled"
    assert not called and not connection.in_atomic_block and states(ids)["a"] == "ready"
    claim(node_id=ids["a"], caller=make_worker())


# What the dialogs say


def test_reopening_names_those_that_fall_back_and_those_that_stay(lead: Client) -> None:
    ids = make_plan({
        "a": {"tasks": {"one": {}}}, "falls": {"needs": ["a"]}, "runs": {"needs": ["a"]}, "ended": {"needs": ["a"]},
    })  # fmt: skip
    worker = make_worker()
    report(**held(claim(node_id=ids["a/one"], caller=worker)), caller=worker, outcome="done")
    report(**held(claim(node_id=ids["ended"], caller=worker)), caller=worker, outcome="done")
    claim(node_id=ids["runs"], caller=worker)
    before = everything()
    said = asked(lead, "reopen", ids["a/one"])
    assert "It becomes ready." in said
    assert (
        "1 will fall back and wait pending: falls 1 will run on running: runs 1 will stay settled done: ended" in said
    )
    assert "1 will open again with it running: a" in said
    assert everything() == before
    done = lead.post(f"/nodes/{ids['a/one']}/reopen/", {"reason": "it was wrong"}, follow=True)
    assert done.redirect_chain == [(f"/nodes/{ids['a/one']}/", 302)]
    told = words(done.content.decode())
    assert (
        "Reopened: a/one is ready now. 1 fell back to waiting: falls. 1 kept running: runs. 1 stayed settled: ended."
        in told
    )
    assert Event.objects.get(type="node.reopened").reason == "it was wrong"


def test_waiving_names_what_becomes_ready_and_unwaiving_what_falls_back(lead: Client) -> None:
    ids = make_plan({"a": {}, "b": {"needs": ["a"], "tasks": {"one": {}, "two": {"needs": ["b/one"]}}}})
    edge = edge_between(ids, "b", "a")
    said = shown(lead, f"/edges/{edge.lower()}/waive/")
    assert "b needs a" in said and "b becomes ready. 1 will be ready ready: b/one" in said
    assert states(ids)["b/one"] == "pending"
    done = lead.post(f"/edges/{edge}/waive/", {"reason": "good enough"}, headers=HTMX)
    assert "Waived: b is ready now. 1 became ready: b/one." in words(done.content.decode())
    said = shown(lead, f"/edges/{edge}/unwaive/")
    assert "b becomes pending. 1 will fall back and wait pending: b/one" in said and "( good enough )" in said
    done = lead.post(f"/edges/{edge}/unwaive/", {"reason": "no"}, headers=HTMX)
    assert "The waiver is taken back: b is pending now. 1 fell back to waiting: b/one." in words(done.content.decode())


def test_cancelling_names_what_goes_with_it_and_what_that_sets_free(lead: Client) -> None:
    ids = make_plan({"a": {"tasks": {"part": {"tasks": {"x": {}, "y": {}}}, "left": {}}}})
    worker = make_worker()
    report(**held(claim(node_id=ids["a/left"], caller=worker)), caller=worker, outcome="done")
    said = asked(lead, "cancel", ids["a/part"])
    assert "It becomes cancelled. 2 will be cancelled cancelled: a/x, cancelled: a/y" in said
    assert "1 will settle with it done: a" in said
    done = lead.post(f"/nodes/{ids['a/part']}/cancel/", {"reason": "no use"}, headers=HTMX)
    assert "Cancelled: a/part is cancelled now. 2 cancelled: a/x, a/y." in words(done.content.decode())
    said = asked(lead, "reopen", ids["a/part"])
    assert "The last cancel of it is undone" in said and "2 will be ready ready: a/x, ready: a/y" in said


def test_long_lists_are_cut(lead: Client) -> None:
    plan: dict[str, Tree] = {f"o{number:02}": {"needs": ["a"]} for number in range(49)}
    ids = make_plan({"a": {}, **plan})
    worker = make_worker()
    report(**held(claim(node_id=ids["a"], caller=worker)), caller=worker, outcome="done")
    said = asked(lead, "reopen", ids["a"])
    assert "49 will fall back and wait" in said and "pending: o11 and 37 more" in said and "o12" not in said
    with CaptureQueriesContext(connection) as queries:
        done = lead.post(f"/nodes/{ids['a']}/reopen/", {"reason": "no"}, headers=HTMX)
    told = words(done.content.decode())
    assert "49 fell back to waiting: o00, o01, o02, o03, o04 and 44 more." in told
    assert len(queries) < 40


def test_abandoning_says_where_the_task_goes(lead: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = make_plan({"a": {}})
    worker = make_worker()
    claim(node_id=ids["a"], caller=worker, ttl_s=5)
    assert "It becomes ready, and nothing else moves." in asked(lead, "abandon", ids["a"])
    Node.objects.update(stale_ends=2)
    monkeypatch.setattr("graph.clock.judged", lambda micros: micros + 60_000_000)
    said = asked(lead, "abandon", ids["a"])
    assert "It becomes blocked" in said and "went stale too often" in said


def test_unblocking_says_whether_it_waits(lead: Client) -> None:
    ids = make_plan({"a": {}, "b": {"needs": ["a"]}})
    worker = make_worker()
    report(**held(claim(node_id=ids["a"], caller=worker)), caller=worker, outcome="done")
    grant = claim(node_id=ids["b"], caller=worker)
    for _ in range(3):
        reject(**held(grant), caller=worker, reason="no")
    assert "It becomes ready" in asked(lead, "unblock", ids["b"])
    editing.reopen(node_id=ids["a"], caller=LEAD, reason="wrong")
    assert "It becomes pending" in asked(lead, "unblock", ids["b"])


# What is refused


def test_a_refusal_stands_in_place_of_the_form(lead: Client) -> None:
    ids = make_plan({"a": {"tasks": {"one": {}}}, "b": {}})
    worker = make_worker()
    claim(node_id=ids["a/one"], caller=worker)
    for verb, key, why in [
        ("cancel", "a", "a/one below it is being worked on."),
        ("cancel", "a/one", "a/one is running, not pending, ready or blocked."),
        ("reopen", "b", "b is ready, not done, partial or cancelled."),
        ("unblock", "b", "b is ready, not blocked."),
        ("abandon", "b", "Nobody holds a claim here now: it is ready."),
    ]:
        markup = lead.get(f"/nodes/{ids[key]}/{verb}/").content.decode()
        assert why in words(markup) and "<textarea" not in markup, verb
        assert 'role="alert"' in markup and "data-close" in markup


def test_the_second_lead_is_told_and_the_page_asks_again(lead: Client) -> None:
    ids = make_plan({"a": {}, "b": {"needs": ["a"]}})
    edge = edge_between(ids, "b", "a")
    assert "<textarea" in lead.get(f"/edges/{edge}/waive/", headers=HTMX).content.decode()
    editing.waive(edge_id=edge, caller=LEAD, reason="first")
    late = lead.post(f"/edges/{edge}/waive/", {"reason": "second"}, headers=HTMX)
    assert late.status_code == 200 and late["HX-Trigger"] == '{"acted": {}}'
    markup = late.content.decode()
    assert "The edge is waived already. Nothing was changed." in words(markup) and "<textarea" not in markup
    assert lead.post(f"/edges/{edge}/waive/", {"reason": "second"}).status_code == 409
    assert Edge.objects.get().waive_reason == "first"


def test_edges_that_are_none_and_people_who_are_no_leads(lead: Client) -> None:
    ids = make_plan({"a": {}, "b": {"needs": ["a"]}})
    edge = edge_between(ids, "b", "a")
    sees = signed_in("sam", lead=False)
    for path in (f"/edges/{edge}/waive/", f"/nodes/{ids['a']}/cancel/", f"/nodes/{ids['a']}/reopen/"):
        assert sees.get(path).status_code == 403 and sees.post(path, {"reason": "x"}).status_code == 403
        assert Client().get(path).status_code == 302
        assert lead.put(path).status_code == 405
        missing = re.sub(r"/\w{26}/", "/01ARZ3NDEKTSV4RRFFQ69G5FAV/", path)
        assert lead.get(missing).status_code == lead.post(missing, {"reason": "x"}).status_code == 404
    assert states(ids) == {"a": "ready", "b": "pending"}


def test_texts_in_dialogs_and_notices_are_escaped(lead: Client) -> None:
    ids = make_plan({"a": {}, "b": {"needs": ["a"]}})
    evil = "<script>alert(1)</script>"
    Node.objects.update(title=evil)
    Node.objects.filter(id=ids["b"]).update(full_key=evil)
    edge = edge_between(ids, "b", "a")
    pages = [lead.get(f"/edges/{edge}/waive/"), lead.get(f"/nodes/{ids['a']}/cancel/")]
    pages.append(lead.post(f"/edges/{edge}/waive/", {"reason": evil}, headers=HTMX))
    pages.append(lead.get(f"/edges/{edge}/unwaive/"))
    for answer in pages:
        assert "<script>alert" not in answer.content.decode() and "&lt;script&gt;" in answer.content.decode()


def test_the_queries_of_a_preview_do_not_grow_with_what_it_moves(lead: Client) -> None:
    def cost(width: int, name: str) -> int:
        ids = make_plan({"a": {}, **{f"o{number}": {"needs": ["a"]} for number in range(width)}}, name=name)
        worker = make_worker(name)
        report(**held(claim(node_id=ids["a"], caller=worker)), caller=worker, outcome="done")
        with CaptureQueriesContext(connection) as queries:
            asked(lead, "reopen", ids["a"])
        return len(queries)

    assert cost(3, "small") == cost(200, "large")


def test_the_groups_of_an_outcome_are_bounded_and_counted() -> None:
    ids = make_plan({"a": {"tasks": {f"t{number}": {} for number in range(20)}}})
    edited = acts.rehearse(acts.CANCEL, ids["a"], LEAD, None)
    [group] = outcome.read(edited, most=5).groups
    assert (group.count, group.left_off, len(group.nodes)) == (20, 15, 5)
    assert {node.state for node in group.nodes} == {"cancelled"}
    abandoned = claim(node_id=ids["a/t0"], caller=make_worker())
    assert abandon(node_id=abandoned.node.id, caller=LEAD, reason="x").moves == ()
