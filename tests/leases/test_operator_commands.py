"""audit, recover, abandon, unblock and the schedules, as an operator meets them."""

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django_q.models import Schedule

from graph.models import Event, Node
from graph.rows import NodeRow
from graph.transaction import LostRace
from leases import sweep
from leases.claim import claim
from leases.jobs import ensure_schedules, purge_answers, report_expiries
from leases.models import Lease
from leases.settle import reject
from tests.builders import make_plan, make_worker, states

pytestmark = pytest.mark.django_db


def told(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_audit_says_what_is_broken_and_exits_1() -> None:
    ids = make_plan({"solo": {}})
    assert told("audit") == "audit: clean\n"
    Node.objects.filter(id=ids["solo"]).update(state="done")
    with pytest.raises(SystemExit) as code:
        told("audit")
    assert code.value.code == 1
    out = StringIO()
    with pytest.raises(SystemExit):
        call_command("audit", "--json", stdout=out)
    assert json.loads(out.getvalue())[0]["promise"]


def test_recover_ends_stale_claims_only() -> None:
    ids = make_plan({"live": {}, "dead": {}})
    worker = make_worker()
    claim(node_id=ids["live"], caller=worker)
    claim(node_id=ids["dead"], caller=worker)
    Lease.objects.filter(subject=ids["dead"]).update(expires_at=1)
    assert "Would recover dead" in told("recover", "--dry-run")
    assert states(ids) == {"live": "running", "dead": "running"}
    assert report_expiries() == 1 and report_expiries() == 0
    assert "Recovered dead" in told("recover")
    assert told("recover") == "Nothing is stale.\n"
    assert states(ids) == {"live": "running", "dead": "ready"}


def test_a_lane_whose_expiry_cannot_be_marked_does_not_stop_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = make_plan({"bad": {}, "good": {}})
    worker = make_worker()
    for node_id in ids.values():
        claim(node_id=node_id, caller=worker)
    Lease.objects.update(expires_at=1)
    mark = sweep.mark

    def failing(objective: NodeRow, now: int) -> int:
        if objective.id == ids["bad"]:
            raise LostRace("something else wrote here")
        return mark(objective, now)

    monkeypatch.setattr(sweep, "mark", failing)
    assert report_expiries() == 1
    assert [*Event.objects.filter(type="lease.expired").values_list("node", flat=True)] == [ids["good"]]


def test_abandon_and_unblock_by_plan_and_key() -> None:
    ids = make_plan({"solo": {}}, name="mine")
    worker = make_worker()
    claim(node_id=ids["solo"], caller=worker)
    assert told("abandon", "mine", "solo", "--reason", "lost") == "solo is ready.\n"
    assert Event.objects.get(type="node.abandoned").reason == "lost"
    with pytest.raises(CommandError, match="wrong_state"):
        told("abandon", "mine", "solo", "--reason", "again")
    with pytest.raises(CommandError, match="There is no node"):
        told("unblock", "mine", "other", "--reason", "x")
    grant = claim(node_id=ids["solo"], caller=worker)
    for _ in range(3):
        reject(node_id=ids["solo"], lease_id=grant.lease.id, fence=grant.lease.fence, caller=worker, reason="no")
    assert told("unblock", "mine", "solo", "--reason", "go on") == "solo is ready.\n"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("mine", "solo", "--reason", " "), "argument --reason: must not be blank"),
        (("mine", "solo", "--reason", "\udce4"), "argument --reason: is not UTF-8"),
        (("mine", "s\udce4", "--reason", "x"), "argument KEY: is not UTF-8"),
        (("mine", "solo"), "the following arguments are required: --reason"),
    ],
)
@pytest.mark.parametrize("command", ["abandon", "unblock"])
def test_what_cannot_be_stored_is_refused_with_a_sentence(command: str, arguments: tuple[str, ...], why: str) -> None:
    make_plan({"solo": {}}, name="mine")
    with pytest.raises(CommandError, match=why):
        told(command, *arguments)


def test_schedules_are_written_once() -> None:
    ensure_schedules()
    ensure_schedules()
    assert sorted(Schedule.objects.values_list("name", flat=True)) == ["purge answers", "report expiries"]
    assert purge_answers() == 0
