"""One task's way through claim, heartbeat, report, reject, release, and what it does to the graph."""

from typing import Any

import pytest

from graph import editing
from graph.errors import NotFound, NotReady, WrongState
from graph.models import Event, Node
from leases import acts, recover
from leases.claim import Grant, claim, claim_next
from leases.errors import (
    AncestorIncomplete,
    Container,
    LeaseClosed,
    LeaseRefused,
    NotHolder,
    StaleFence,
)  # fmt: skip
from leases.heartbeat import heartbeat
from leases.models import Lease, Run
from leases.settle import reject, release, report
from tests.builders import LEAD, make_plan, make_worker, states

pytestmark = pytest.mark.django_db


def held(grant: Grant) -> dict[str, Any]:
    return {"node_id": grant.node.id, "lease_id": grant.lease.id, "fence": grant.lease.fence}


PAY = {
    "db": {"tasks": {"tables": {}, "index": {"needs": ["db/tables"]}}},
    "api": {"needs": ["db"], "tasks": {"schema": {}, "endpoints": {"needs": ["api/schema"]}}},
    "web": {"tasks": {"mock": {}, "page": {"needs": ["api/schema"]}}},
    "solo": {},
}


def test_a_plan_drains_and_settles_its_containers() -> None:
    ids = make_plan(PAY)
    worker = make_worker()
    order = []
    while grant := claim_next(caller=worker):
        order.append(grant.node.full_key)
        report(**held(grant), caller=worker, outcome="done", summary=grant.node.key, result={"n": len(order)})
    assert set(states(ids).values()) == {"done"}
    assert order == [
        "db/tables", "db/index", "api/schema", "api/endpoints", "web/mock", "web/page", "solo"
    ]  # fmt: skip
    assert not Run.objects.filter(closed_at=None).exists()
    assert not Lease.objects.filter(ended_at=None).exists()


def test_the_grant_carries_fences_runs_inputs_and_the_clone() -> None:
    ids = make_plan(PAY)
    worker = make_worker()
    first = claim(node_id=ids["db/tables"], caller=worker)
    assert (first.lease.fence, first.objective_lease.fence, first.adopted) == (1, 1, False)
    assert states(ids)["db"] == "running"
    assert report(**held(first), caller=worker, outcome="partial", summary="some", result=[1]).became_ready == [
        ids["db/index"]
    ]
    second = claim(node_id=ids["db/index"], caller=worker)
    assert (second.lease.fence, second.objective_lease.fence, second.adopted) == (1, 2, True)
    assert [(i.full_key, i.outcome, i.summary, i.result) for i in second.inputs] == [
        ("db/tables", "partial", "some", [1])
    ]
    assert second.clone.dir == f"db-{ids['db']}.1"
    report(**held(second), caller=worker, outcome="done")
    assert states(ids)["db"] == "partial"
    assert states(ids)["api/schema"] == "ready"


def test_refusals_of_a_claim_in_their_order() -> None:
    ids = make_plan(PAY | {"tree": {"tasks": {"box": {"tasks": {"in": {}}}, "out": {}}}})
    worker = make_worker()
    with pytest.raises(Container):
        claim(node_id=ids["db"], caller=worker)
    with pytest.raises(AncestorIncomplete) as incomplete:
        claim(node_id=ids["api/endpoints"], caller=worker)
    assert incomplete.value.fields["ancestor"]["full_key"] == "api"
    assert [w["full_key"] for w in incomplete.value.fields["waiting_on"]] == ["db"]
    with pytest.raises(NotReady) as waiting:
        claim(node_id=ids["db/index"], caller=worker)
    assert [w["full_key"] for w in waiting.value.fields["waiting_on"]] == ["db/tables"]
    with pytest.raises(NotFound):
        claim(node_id="01ARZ3NDEKTSV4RRFFQ69G5FAV", caller=worker)
    grant = claim(node_id=ids["tree/in"], caller=worker)
    for key, hand, relation in [
        ("tree/in", False, "self"), ("tree/out", False, "sibling"),
        ("tree/box", True, "descendant"), ("tree", True, "descendant"),
    ]:  # fmt: skip
        with pytest.raises(LeaseRefused) as refused:
            claim(node_id=ids[key], caller=worker, hand=hand)
        assert refused.value.fields["relation"] == relation
    release(**held(grant), caller=worker)
    hold = claim(node_id=ids["tree/box"], caller=worker, hand=True)
    assert hold.run_id is None and hold.attempt_id is None
    with pytest.raises(LeaseRefused) as refused:
        claim(node_id=ids["tree/in"], caller=worker)
    assert refused.value.fields["relation"] == "parent"
    with pytest.raises(WrongState):
        report(**held(hold), caller=worker, outcome="done")
    with pytest.raises(WrongState):
        acts.cancel(node_id=ids["tree/in"], caller=LEAD, reason="no")
    release(**held(hold), caller=worker)
    assert claim(node_id=ids["tree"], caller=worker, hand=True).lease.fence == 3


def test_refusals_of_a_settling_verb_in_their_order() -> None:
    ids = make_plan(PAY)
    worker, other = make_worker(), make_worker("other")
    grant = claim(node_id=ids["db/tables"], caller=worker)
    right = held(grant)
    with pytest.raises(NotFound):
        heartbeat(**{**right, "node_id": ids["solo"]}, caller=worker)
    with pytest.raises(NotHolder):
        heartbeat(**right, caller=other)
    with pytest.raises(StaleFence):
        heartbeat(**{**right, "fence": 2}, caller=worker)
    with pytest.raises(WrongState):
        heartbeat(
            node_id=ids["db"], lease_id=grant.objective_lease.id, fence=grant.objective_lease.fence, caller=worker
        )
    assert heartbeat(**right, caller=worker, progress="half").asks == ()
    release(**right, caller=worker)
    with pytest.raises(LeaseClosed):
        heartbeat(**right, caller=worker)
    again = claim(node_id=ids["db/tables"], caller=worker)
    assert again.lease.fence == 2
    with pytest.raises(StaleFence) as stale:
        report(**right, caller=worker, outcome="done")
    assert stale.value.fields["current_fence"] == 2


def test_the_third_rejection_blocks_and_unblock_gives_exactly_three_more() -> None:
    ids = make_plan({"solo": {}})
    worker = make_worker()
    for _ in range(2):
        grant = claim(node_id=ids["solo"], caller=worker)
        assert grant.lease is grant.objective_lease
        for number in (2, 3):
            answer = reject(**held(grant), caller=worker, reason="no")
            assert answer.attempt is not None and answer.attempt.number == number
        assert reject(**held(grant), caller=worker, reason="no").attempt is None
        assert states(ids) == {"solo": "blocked"}
        editing.unblock(node_id=ids["solo"], caller=LEAD, reason="again")
        assert states(ids) == {"solo": "ready"}


def test_reopening_demotes_the_waiting_and_marks_the_others() -> None:
    ids = make_plan(PAY)
    worker = make_worker()
    for key in ("db/tables", "db/index", "api/schema"):
        report(**held(claim(node_id=ids[key], caller=worker)), caller=worker, outcome="done")
    page = claim(node_id=ids["web/page"], caller=worker)
    edited = editing.reopen(node_id=ids["api/schema"], caller=LEAD, reason="wrong")
    assert edited.node.state == "ready"
    assert edited.demoted == [ids["api/endpoints"]]
    assert edited.running_dependents == [ids["web/page"]]
    assert heartbeat(**held(page), caller=worker).asks == ("upstream_reopened",)
    edited = editing.reopen(node_id=ids["db/tables"], caller=LEAD, reason="wrong")
    assert edited.node.state == "ready"
    assert set(edited.demoted) == {ids["api/schema"]}
    assert set(edited.settled_dependents) == {ids["db/index"]}
    assert edited.running_dependents == [ids["api"]]
    assert states(ids)["db"] == "running"


def test_cancel_and_reopen_of_a_container_and_its_run() -> None:
    ids = make_plan(PAY)
    worker = make_worker()
    report(**held(claim(node_id=ids["db/tables"], caller=worker)), caller=worker, outcome="done")
    edited = acts.cancel(node_id=ids["db"], caller=LEAD, reason="enough")
    assert edited.node.state == "done"
    assert edited.became_ready == [ids["api/schema"]]
    assert not Run.objects.filter(closed_at=None).exists()
    edited = editing.reopen(node_id=ids["db"], caller=LEAD, reason="not enough")
    assert edited.node.state == "running"
    assert states(ids)["db/index"] == "ready" and states(ids)["api/schema"] == "pending"
    with pytest.raises(WrongState):
        editing.reopen(node_id=ids["db"], caller=LEAD, reason="twice")


def test_abandon_ends_the_claim_and_raises_the_generation() -> None:
    ids = make_plan(PAY)
    worker = make_worker()
    grant = claim(node_id=ids["db/tables"], caller=worker)
    with pytest.raises(StaleFence):
        recover.abandon(node_id=ids["db/tables"], caller=LEAD, reason="gone", fence=9)
    with pytest.raises(WrongState):
        recover.abandon(node_id=ids["db"], caller=LEAD, reason="gone")
    edited = recover.abandon(node_id=ids["db/tables"], caller=LEAD, reason="gone", fence=1)
    assert edited.node.state == "ready"
    again = claim(node_id=ids["db/tables"], caller=worker)
    assert again.clone.dir.endswith(".2") and again.lease.fence == 2
    with pytest.raises(StaleFence):
        report(**held(grant), caller=worker, outcome="done")


def test_a_stale_claim_blocks_its_lane_until_recovery(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = make_plan(PAY)
    worker = make_worker()
    grant = claim(node_id=ids["db/tables"], caller=worker, ttl_s=5)
    later = [grant.lease.expires_at]
    monkeypatch.setattr("graph.clock.judged", lambda micros: later[0])
    with pytest.raises(AncestorIncomplete):
        claim(node_id=ids["api/schema"], caller=worker)
    with pytest.raises(LeaseRefused) as refused:
        claim(node_id=ids["db/index"], caller=worker)
    assert refused.value.fields["relation"] == "sibling" and refused.value.fields["stale"]
    assert Event.objects.filter(type="lease.expired").count() == 2
    assert recover.mark_expired() == 0
    done = recover.recover_all(actor="recovery")
    assert [claim.full_key for claim in done.recovered] == ["db/tables"] and not done.failed
    assert recover.recover_all(actor="recovery").recovered == ()
    assert Node.objects.get(id=ids["db/tables"]).state == "ready"


def test_waive_and_unwaive() -> None:
    ids = make_plan(PAY)
    edge = Node.objects.get(id=ids["api"]).needs.get()
    edited = editing.waive(edge_id=edge.id, caller=LEAD, reason="go")
    assert edited.became_ready == [ids["api/schema"]]
    with pytest.raises(WrongState):
        editing.waive(edge_id=edge.id, caller=LEAD, reason="go")
    worker = make_worker()
    claim(node_id=ids["api/schema"], caller=worker)
    edited = editing.unwaive(edge_id=edge.id, caller=LEAD, reason="stop")
    assert edited.demoted == [] and edited.running_dependents == [ids["api"], ids["api/schema"]]
