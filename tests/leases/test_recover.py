"""Abandon and recovery: what they end, what they leave alone, and that they do it once."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import override_settings

from graph import editing
from graph.errors import WrongState
from graph.models import Event, Node
from leases import recover
from leases.audit import audit
from leases.claim import Grant, claim
from leases.errors import LeaseExpired, LeaseRefused, StaleFence
from leases.heartbeat import heartbeat
from leases.models import Attempt, Lease, Run
from leases.settle import release, report
from tests.builders import LEAD, make_plan, make_worker, states

pytestmark = pytest.mark.django_db

PLAN: dict[str, Any] = {
    "db": {"tasks": {"tables": {}, "index": {}}},
    "web": {"tasks": {"mock": {}, "page": {}}},
    "solo": {},
}

Clock = Callable[[int], None]


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Sets the clock, in microseconds."""

    def set_(micros: int) -> None:
        monkeypatch.setattr("graph.clock.judged", lambda _: micros)

    return set_


def held(grant: Grant) -> dict[str, Any]:
    return {"node_id": grant.node.id, "lease_id": grant.lease.id, "fence": grant.lease.fence}


def recovered() -> list[str]:
    done = recover.recover_all(actor="recovery")
    assert not done.failed
    return [claim.full_key for claim in done.recovered]


def test_it_ends_what_is_stale_and_leaves_what_lives(at: Clock) -> None:
    ids = make_plan(PLAN)
    worker = make_worker()
    at(0)
    dead = claim(node_id=ids["db/tables"], caller=worker, ttl_s=5)
    hold = claim(node_id=ids["web"], caller=worker, ttl_s=5, hand=True)
    alive = claim(node_id=ids["solo"], caller=worker, ttl_s=6)
    at(dead.lease.expires_at - 1)
    assert recovered() == []
    at(dead.lease.expires_at)
    assert recovered() == ["db/tables", "web"]
    assert states(ids)["db/tables"] == "ready" and states(ids)["solo"] == "running"
    assert {*Lease.objects.filter(ending="recovered").values_list("subject_id", flat=True)} == {
        dead.node.id, dead.objective_lease.subject_id, hold.node.id
    }  # fmt: skip
    assert Attempt.objects.get(id=dead.attempt_id).outcome == "cancelled"
    assert Run.objects.get(id=dead.run_id).outcome == "abandoned"
    assert Run.objects.get(id=dead.objective_run_id).closed_at is None
    assert not Node.objects.get(id=hold.node.id).held
    heartbeat(**held(alive), caller=worker)
    events = Event.objects.filter(type="node.recovered").order_by("seq")
    assert [(event.node, event.data["fence"], event.data["stale"]) for event in events] == [
        (dead.node.id, 1, True), (hold.node.id, 1, True)
    ]  # fmt: skip
    assert recovered() == [] and audit() == []


def test_a_late_report_changes_nothing_and_the_next_claim_has_a_new_fence_and_clone(at: Clock) -> None:
    ids = make_plan(PLAN)
    worker = make_worker()
    at(0)
    late = claim(node_id=ids["solo"], caller=worker, ttl_s=5)
    at(late.lease.expires_at)
    with pytest.raises(LeaseExpired):
        report(**held(late), caller=worker, outcome="done")
    assert recovered() == ["solo"]
    again = claim(node_id=ids["solo"], caller=worker)
    assert (again.lease.fence, again.clone.dir) == (2, f"solo-{ids['solo']}.2")
    with pytest.raises(StaleFence):
        report(**held(late), caller=worker, outcome="done")
    assert states(ids)["solo"] == "running"


def test_a_lease_that_was_marked_is_recovered_whatever_the_clock_says_later(at: Clock) -> None:
    """It gives no right any more; a clock that was set back must not keep its lane taken."""
    ids = make_plan(PLAN)
    worker = make_worker()
    at(0)
    dead = claim(node_id=ids["db/tables"], caller=worker, ttl_s=5)
    at(dead.lease.expires_at)
    with pytest.raises(LeaseRefused):
        claim(node_id=ids["db/index"], caller=worker)
    at(dead.lease.expires_at - 3_000_000)
    with pytest.raises(LeaseExpired):
        heartbeat(**held(dead), caller=worker)
    assert [each.full_key for each in recover.recover_all(actor="recovery", dry_run=True).recovered] == ["db/tables"]
    assert recovered() == ["db/tables"]
    assert states(ids)["db/tables"] == "ready" and audit() == []


def test_a_dry_run_writes_nothing(at: Clock) -> None:
    ids = make_plan(PLAN)
    at(0)
    dead = claim(node_id=ids["solo"], caller=make_worker(), ttl_s=5)
    at(dead.lease.expires_at)
    before = Event.objects.count()
    found = recover.recover_all(actor="recovery", dry_run=True)
    assert [each.full_key for each in found.recovered] == ["solo"] and not found.failed
    assert Event.objects.count() == before and states(ids)["solo"] == "running"


def test_what_was_settled_between_the_look_and_the_lock_stays_settled(at: Clock) -> None:
    """Recovery looks once and acts later: it judges lease, fence and expiry again."""
    ids = make_plan(PLAN)
    worker = make_worker()
    at(0)
    grants = {key: claim(node_id=ids[key], caller=worker, ttl_s=5) for key in ("db/tables", "web/mock", "solo")}
    at(5_000_000)
    stale = {each.full_key: each for each in recover.recover_all(actor="recovery", dry_run=True).recovered}
    at(4_999_999)
    report(**held(grants["db/tables"]), caller=worker, outcome="done")
    release(**held(grants["web/mock"]), caller=worker)
    heartbeat(**held(grants["solo"]), caller=worker)
    claim(node_id=ids["web/mock"], caller=worker)
    at(5_000_000)
    assert [recover.recover_one(claim=each, actor="recovery") for each in stale.values()] == [False] * 3
    assert states(ids) == {
        "db": "running", "db/tables": "done", "db/index": "ready",
        "web": "running", "web/mock": "running", "web/page": "ready", "solo": "running",
    }  # fmt: skip
    assert audit() == []


def test_one_that_fails_is_told_and_does_not_stop_the_rest(at: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = make_plan(PLAN)
    worker = make_worker()
    at(0)
    for key in ("db/tables", "web/mock", "solo"):
        claim(node_id=ids[key], caller=worker, ttl_s=5)
    at(5_000_000)
    end = recover._end

    def fails(chain: Any, held: Any, *args: Any, **kwargs: Any) -> Any:
        if held.subject_id == ids["web/mock"]:
            raise ValueError("bad row")
        return end(chain, held, *args, **kwargs)

    monkeypatch.setattr(recover, "_end", fails)
    done = recover.recover_all(actor="recovery")
    assert [each.full_key for each in done.recovered] == ["db/tables", "solo"]
    assert [(each.full_key, why) for each, why in done.failed] == [("web/mock", "ValueError: bad row")]
    assert states(ids)["web/mock"] == "running" and states(ids)["solo"] == "ready"


def test_the_third_stale_end_blocks_and_unblock_gives_three_more(at: Clock) -> None:
    ids = make_plan(PLAN)
    worker = make_worker()
    for _ in range(2):
        for end in range(3):
            at(0)
            grant = claim(node_id=ids["solo"], caller=worker, ttl_s=5)
            at(grant.lease.expires_at)
            if end == 1:
                recover.abandon(node_id=ids["solo"], caller=LEAD, reason="stale")
            else:
                assert recovered() == ["solo"]
            assert states(ids)["solo"] == ("blocked" if end == 2 else "ready")
        editing.unblock(node_id=ids["solo"], caller=LEAD, reason="again")
    assert audit() == []


def test_live_ends_count_towards_nothing() -> None:
    ids = make_plan(PLAN)
    worker = make_worker()
    for _ in range(4):
        claim(node_id=ids["solo"], caller=worker)
        recover.abandon(node_id=ids["solo"], caller=LEAD, reason="live")
    assert states(ids)["solo"] == "ready"


@override_settings(STALE_LIMIT=0)
def test_a_limit_of_zero_never_blocks(at: Clock) -> None:
    ids = make_plan(PLAN)
    worker = make_worker()
    for _ in range(5):
        at(0)
        grant = claim(node_id=ids["solo"], caller=worker, ttl_s=5)
        at(grant.lease.expires_at)
        assert recovered() == ["solo"]
    assert states(ids)["solo"] == "ready"


def test_abandon_ends_a_hold_and_judges_the_state_before_the_fence() -> None:
    ids = make_plan(PLAN)
    claim(node_id=ids["web"], caller=make_worker(), hand=True)
    with pytest.raises(StaleFence):
        recover.abandon(node_id=ids["web"], caller=LEAD, reason="no", fence=2)
    with pytest.raises(WrongState):
        recover.abandon(node_id=ids["db"], caller=LEAD, reason="no", fence=2)
    edited = recover.abandon(node_id=ids["web"], caller=LEAD, reason="no", fence=1)
    assert edited.node.state == "running" and not Node.objects.get(id=ids["web"]).held
    assert audit() == []


def test_each_expiry_is_marked_once(at: Clock) -> None:
    ids = make_plan(PLAN)
    worker = make_worker()
    at(0)
    claim(node_id=ids["db/tables"], caller=worker, ttl_s=5)
    claim(node_id=ids["solo"], caller=worker, ttl_s=6)
    at(5_000_000)
    assert recover.mark_expired() == 2  # of the task and of its objective
    assert recover.mark_expired() == 0
    at(6_000_000)
    assert recover.mark_expired() == 1
    assert states(ids)["db/tables"] == "running"
    assert Event.objects.filter(type="lease.expired").count() == 3
    assert audit() == []
