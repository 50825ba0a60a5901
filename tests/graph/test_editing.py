"""What the answers of a lead's verbs say about the others."""

from typing import Any

import pytest

from graph import editing
from leases import acts, detail
from leases.claim import claim
from leases.settle import report
from tests.builders import LEAD, make_plan, make_worker, states

pytestmark = pytest.mark.django_db


def test_what_is_reopened_into_pending_was_not_demoted() -> None:
    plan: dict[str, Any] = {"db": {"tasks": {"tables": {}, "index": {"needs": ["db/tables"]}}}}
    ids = make_plan(plan)
    acts.cancel(node_id=ids["db"], caller=LEAD, reason="no")
    edited = editing.reopen(node_id=ids["db"], caller=LEAD, reason="yes")
    assert states(ids) == {"db": "ready", "db/tables": "ready", "db/index": "pending"}
    assert edited.became_ready == [ids["db/tables"]] and edited.demoted == []


def test_what_settled_below_a_container_that_waits_again_is_listed_and_marked() -> None:
    ids = make_plan({"a": {}, "b": {"needs": ["a"], "tasks": {"dropped": {}, "open": {}}}})
    worker = make_worker()
    grant = claim(node_id=ids["a"], caller=worker)
    report(node_id=ids["a"], lease_id=grant.lease.id, fence=grant.lease.fence, caller=worker, outcome="done")
    acts.cancel(node_id=ids["b/dropped"], caller=LEAD, reason="no")
    edited = editing.reopen(node_id=ids["a"], caller=LEAD, reason="again")
    assert states(ids) == {"a": "ready", "b": "pending", "b/dropped": "cancelled", "b/open": "pending"}
    assert edited.demoted == [ids["b/open"]] and edited.settled_dependents == [ids["b/dropped"]]
    assert detail.read(ids["b/dropped"]).marks() == ["upstream_reopened"]
    assert detail.read(ids["b/open"]).marks() == [] == detail.read(ids["b"]).marks()
