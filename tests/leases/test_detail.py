"""One node whole: its runs, newest first."""

import pytest

from graph import editing
from leases import detail
from leases.claim import Grant, claim
from leases.settle import release, report
from tests.builders import LEAD, make_plan, make_worker

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("falling_ids")]


def finish(node_id: str) -> Grant:
    """A new worker claims the node and reports it done."""
    worker = make_worker(f"works on {node_id} {len(detail.read(node_id).runs)}")
    grant = claim(node_id=node_id, caller=worker)
    report(node_id=node_id, lease_id=grant.lease.id, fence=grant.lease.fence, caller=worker, outcome="done")
    return grant


def give_back(node_id: str) -> Grant:
    worker = make_worker(f"gives back {node_id} {len(detail.read(node_id).runs)}")
    grant = claim(node_id=node_id, caller=worker)
    release(node_id=node_id, lease_id=grant.lease.id, fence=grant.lease.fence, caller=worker)
    return grant


def runs(node_id: str) -> list[str]:
    return [run.id for run in detail.read(node_id).runs]


def test_runs_of_a_task_stand_newest_first_whatever_their_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = make_plan({"a": {"tasks": {"t": {}}}})
    made = [give_back(ids["a/t"]).run_id, give_back(ids["a/t"]).run_id, finish(ids["a/t"]).run_id]
    assert runs(ids["a/t"]) == made[::-1]
    monkeypatch.setattr("leases.detail.MOST_RUNS", 1)
    shown = detail.read(ids["a/t"])
    assert ([run.id for run in shown.runs], shown.left_off) == (made[-1:], {"runs": 2})


def test_runs_of_an_objective_go_by_its_own_fence() -> None:
    """A task's lease opens each of them, and one that was never claimed before has a low fence."""
    ids = make_plan({"a": {"tasks": {"t": {}, "u": {}}}})
    made = [give_back(ids["a/t"]).objective_run_id]
    finish(ids["a/t"])
    finish(ids["a/u"])
    for key in ("a/t", "a/u", "a/t"):
        editing.reopen(node_id=ids[key], caller=LEAD, reason="again")
        made.append(finish(ids[key]).objective_run_id)
    assert len({*made}) == 4
    assert runs(ids["a"]) == made[::-1]
