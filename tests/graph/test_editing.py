"""What the answers of a lead's verbs say about the others."""

from typing import Any

import pytest

from graph import editing
from leases import acts
from tests.builders import LEAD, make_plan, states

pytestmark = pytest.mark.django_db


def test_what_is_reopened_into_pending_was_not_demoted() -> None:
    plan: dict[str, Any] = {"db": {"tasks": {"tables": {}, "index": {"needs": ["db/tables"]}}}}
    ids = make_plan(plan)
    acts.cancel(node_id=ids["db"], caller=LEAD, reason="no")
    edited = editing.reopen(node_id=ids["db"], caller=LEAD, reason="yes")
    assert states(ids) == {"db": "ready", "db/tables": "ready", "db/index": "pending"}
    assert edited.became_ready == [ids["db/tables"]] and edited.demoted == []
