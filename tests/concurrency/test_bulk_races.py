"""Leads who do the same to the same rows at the same moment."""

from collections import Counter
from pathlib import Path

import pytest

from graph.models import Event
from leases.audit import audit
from leases.claim import claim
from leases.models import Lease
from tasksite.dashboard import acts
from tasksite.dashboard.bulk import Target
from tests.builders import LEAD, make_plan, make_worker
from tests.concurrency.crew import Call, crew

LEADS = 4
LANES = 20

pytestmark = pytest.mark.django_db(transaction=True)


def test_each_claim_is_abandoned_by_one_lead_and_refused_to_the_rest(tmp_path: Path) -> None:
    ids = make_plan({f"lane-{n:02}": {} for n in range(LANES)})
    worker = make_worker()
    targets = [Target(node_id, key, claim(node_id=node_id, caller=worker).lease.fence) for key, node_id in ids.items()]
    arguments = {"act": acts.ABANDON, "targets": targets, "caller": LEAD, "reason": "gone"}
    with crew(LEADS, tmp_path) as crowd:
        answers = crowd.run(*[[Call("tasksite.dashboard.bulk:perform", arguments)]] * LEADS)
    outcomes = [answer.value for mine in answers for answer in mine]
    done = Counter(edited.node.full_key for outcome in outcomes for edited in outcome.done)
    refused = Counter(name for outcome in outcomes for name, _ in outcome.refused)
    assert done == Counter(dict.fromkeys(ids, 1))
    assert refused == Counter(dict.fromkeys(ids, LEADS - 1))
    assert Event.objects.filter(type="node.abandoned").count() == LANES
    assert not Lease.objects.filter(ended_at=None).exists()
    assert audit() == []
