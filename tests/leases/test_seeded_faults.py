"""The checks have teeth: each fault that is planted in the services is caught by the audit or a directed check."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError

from graph import editing, transaction
from graph.errors import Refusal
from graph.models import Node
from graph.plan_types import PlanFile, PlanNode
from graph.transaction import LostRace
from leases import acts, recover, settle
from leases.audit import audit
from leases.claim import Grant, claim, claim_next
from leases.errors import LeaseExpired, LeaseRefused, NotHolder, StaleFence
from leases.heartbeat import heartbeat
from leases.models import Role
from leases.settle import reject
from tests.builders import LEAD, make_plan, make_worker, states
from tests.doors.api import Api
from tests.leases.seeded import FAULTS

pytestmark = pytest.mark.django_db

PLAN: dict[str, Any] = {
    "db": {"tasks": {"tables": {}, "box": {"tasks": {"index": {"needs": ["db/tables"]}}}}},
    "api": {"needs": ["db"], "tasks": {"schema": {}}},
    "solo": {},
}

Clock = Callable[[int], None]
"""Sets the clock, in microseconds."""


def held(grant: Grant) -> dict[str, Any]:
    return {"node_id": grant.node.id, "lease_id": grant.lease.id, "fence": grant.lease.fence}


def a_plan_drains(at: Clock, patch: pytest.MonkeyPatch) -> None:
    ids = make_plan(PLAN)
    worker = make_worker()
    assert audit() == []
    for outcome in ("partial", "done", "done", "done"):
        grant = claim_next(caller=worker)
        assert grant is not None and audit() == []
        settle.report(**held(grant), caller=worker, outcome=outcome)
        assert audit() == []
    assert {*states(ids).values()} == {"done", "partial"}


def every_commit_is_sound(at: Clock, patch: pytest.MonkeyPatch) -> None:
    ids = make_plan(PLAN)
    worker = make_worker()
    grant = claim(node_id=ids["db/tables"], caller=worker)
    once = transaction._once
    found: list[Any] = []

    def watched(service: Callable[[], Any]) -> Any:
        try:
            return once(service)
        finally:
            found.extend(audit())

    patch.setattr(transaction, "_once", watched)
    settle.report(**held(grant), caller=worker, outcome="done")
    assert not found and states(ids)["db/index"] == "ready"


def a_wrong_fence_is_refused(at: Clock, patch: pytest.MonkeyPatch) -> None:
    ids = make_plan(PLAN)
    worker = make_worker()
    grant = claim(node_id=ids["solo"], caller=worker)
    for wrong in (0, 2):
        with pytest.raises(StaleFence):
            settle.report(**{**held(grant), "fence": wrong}, caller=worker, outcome="done")
    assert states(ids)["solo"] == "running"


def another_token_is_refused(at: Clock, patch: pytest.MonkeyPatch) -> None:
    ids = make_plan(PLAN)
    grant = claim(node_id=ids["solo"], caller=make_worker())
    with pytest.raises(NotHolder):
        settle.report(**held(grant), caller=make_worker("other"), outcome="done")


def rights_end_at_the_expiry(at: Clock, patch: pytest.MonkeyPatch) -> None:
    ids = make_plan(PLAN)
    worker = make_worker()
    grant = claim(node_id=ids["solo"], caller=worker)
    at(grant.lease.expires_at - 1)
    grant_until = heartbeat(**held(grant), caller=worker).expires_at
    at(grant_until)
    with pytest.raises(LeaseExpired):
        settle.report(**held(grant), caller=worker, outcome="done")
    assert recover.recover_all(actor="recovery").recovered


def what_is_marked_stays_stale(at: Clock, patch: pytest.MonkeyPatch) -> None:
    ids = make_plan(PLAN)
    worker = make_worker()
    at(0)
    grant = claim(node_id=ids["solo"], caller=worker)
    at(grant.lease.expires_at)
    with pytest.raises(LeaseRefused):
        claim(node_id=ids["solo"], caller=worker)
    at(0)
    with pytest.raises(LeaseExpired):
        heartbeat(**held(grant), caller=worker)


def a_heartbeat_moves_both(at: Clock, patch: pytest.MonkeyPatch) -> None:
    ids = make_plan(PLAN)
    worker = make_worker()
    at(0)
    grant = claim(node_id=ids["db/tables"], caller=worker)
    at(1)
    heartbeat(**held(grant), caller=worker)
    assert audit() == []


def fences_rise_over_an_import(at: Clock, patch: pytest.MonkeyPatch) -> None:
    ids = make_plan({"solo": {}})
    worker = make_worker()
    assert settle.release(**held(claim(node_id=ids["solo"], caller=worker)), caller=worker).node.state == "ready"
    plan = PlanFile("plan", (PlanNode("solo", "solo", "another title", "", None, None, "", 0),), ())
    assert acts.import_plan(plan=plan, caller=LEAD).changed
    assert claim(node_id=ids["solo"], caller=worker).lease.fence == 2
    assert audit() == []


def a_retry_is_answered_alike(at: Clock, patch: pytest.MonkeyPatch) -> None:
    ids = make_plan(PLAN)
    api = Api.as_role(Role.WORKER)
    grant = api.post(f"nodes/{ids['solo']}/claim/", {}).json
    body = {"lease": grant["lease"]["id"], "fence": grant["lease"]["fence"], "outcome": "done"}
    answers = [api.post(f"nodes/{ids['solo']}/report/", body, key="once") for _ in range(2)]
    assert [each.status for each in answers] == [200, 200]
    assert answers[0].content == answers[1].content


def recovery_looks_twice(at: Clock, patch: pytest.MonkeyPatch) -> None:
    ids = make_plan(PLAN)
    worker = make_worker()
    at(0)
    grant = claim(node_id=ids["solo"], caller=worker, ttl_s=5)
    at(5_000_000)
    (stale,) = recover.recover_all(actor="recovery", dry_run=True).recovered
    at(4_999_999)
    heartbeat(**held(grant), caller=worker)
    at(5_000_000)
    assert not recover.recover_one(claim=stale, actor="recovery")
    assert states(ids)["solo"] == "running"


def the_third_rejection_blocks(at: Clock, patch: pytest.MonkeyPatch) -> None:
    ids = make_plan(PLAN)
    worker = make_worker()
    for _ in range(2):
        grant = claim(node_id=ids["solo"], caller=worker)
        ends = [reject(**held(grant), caller=worker, reason="no").attempt is None for _ in range(3)]
        assert ends == [False, False, True]
        editing.unblock(node_id=ids["solo"], caller=LEAD, reason="again")
    assert audit() == []


def the_third_stale_end_blocks(at: Clock, patch: pytest.MonkeyPatch) -> None:
    ids = make_plan(PLAN)
    worker = make_worker()
    for state in ("ready", "ready", "blocked"):
        at(0)
        at(claim(node_id=ids["solo"], caller=worker).lease.expires_at)
        recover.recover_all(actor="recovery")
        assert states(ids)["solo"] == state


def reopening_demotes(at: Clock, patch: pytest.MonkeyPatch) -> None:
    ids = make_plan({"db": {}, "api": {"needs": ["db"]}})
    worker = make_worker()
    settle.report(**held(claim(node_id=ids["db"], caller=worker)), caller=worker, outcome="done")
    editing.reopen(node_id=ids["db"], caller=LEAD, reason="wrong")
    assert audit() == []


def a_waiver_is_followed(at: Clock, patch: pytest.MonkeyPatch) -> None:
    ids = make_plan(PLAN)
    editing.waive(edge_id=Node.objects.get(id=ids["api"]).needs.get().id, caller=LEAD, reason="go")
    assert audit() == []


def a_hold_is_noted(at: Clock, patch: pytest.MonkeyPatch) -> None:
    ids = make_plan(PLAN)
    claim(node_id=ids["db"], caller=make_worker(), hand=True)
    assert audit() == []


def an_unclean_end_gives_a_new_clone(at: Clock, patch: pytest.MonkeyPatch) -> None:
    ids = make_plan(PLAN)
    worker = make_worker()
    claim(node_id=ids["solo"], caller=worker)
    recover.abandon(node_id=ids["solo"], caller=LEAD, reason="gone")
    assert claim(node_id=ids["solo"], caller=worker).clone.dir.endswith(".2")


CHECKS = {
    check.__name__: check
    for check in [
        a_plan_drains, every_commit_is_sound, a_wrong_fence_is_refused, another_token_is_refused,
        rights_end_at_the_expiry, what_is_marked_stays_stale, a_heartbeat_moves_both, fences_rise_over_an_import,
        a_retry_is_answered_alike, recovery_looks_twice, the_third_rejection_blocks, the_third_stale_end_blocks,
        reopening_demotes, a_waiver_is_followed, a_hold_is_noted, an_unclean_end_gives_a_new_clone,
    ]
}  # fmt: skip

CAUGHT = (AssertionError, pytest.fail.Exception, LostRace, IntegrityError, Refusal)
"""A check that fails or is refused what it is due, or a guard of the services or of the schema that speaks up."""


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return lambda micros: monkeypatch.setattr("graph.clock.judged", lambda _: micros)


@pytest.mark.parametrize("check", CHECKS)
def test_without_a_fault_every_check_passes(check: str, at: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    CHECKS[check](at, monkeypatch)


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_caught(fault: str, at: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, check = FAULTS[fault]
    plant(monkeypatch)
    with pytest.raises(CAUGHT):
        CHECKS[check](at, monkeypatch)


def test_every_check_catches_something() -> None:
    assert {check for _, check in FAULTS.values()} == CHECKS.keys()
