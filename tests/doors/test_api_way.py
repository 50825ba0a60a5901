"""A task's way through the API, as a worker and a lead see it."""

import json
from typing import Any

from leases.audit import audit
from leases.models import Role
from tests.builders import make_plan
from tests.doors.api import Answer, Api

PAY = {
    "db": {"tasks": {"tables": {}}},
    "api": {"tasks": {"schema": {"needs": ["db/tables"]}, "endpoints": {"needs": ["api/schema"]}}},
    "solo": {},
}


def held(grant: Answer) -> dict[str, Any]:
    assert grant.status == 201, grant.content
    return {"lease": grant.json["lease"]["id"], "fence": grant.json["lease"]["fence"]}


def test_a_task_is_claimed_kept_and_reported(worker: Api) -> None:
    ids = make_plan(PAY)
    grant = worker.post(f"nodes/{ids['db/tables']}/claim/", {"ttl_s": 90, "holder": "w/1"})
    assert grant.status == 201
    assert grant.json["node"]["state"] == "running"
    assert grant.json["node"]["body"] == ""
    assert grant.json["lease"]["expires_in_s"] == 90.0
    assert grant.json["lease"]["expires_at"] == grant.json["objective_lease"]["expires_at"]
    assert grant.json["heartbeat_every_s"] == 30.0
    assert grant.json["attempt"]["number"] == 1
    assert grant.json["clone"] == {"repo": None, "ref": None, "dir": f"db-{ids['db']}.1"}

    beat = worker.post(f"nodes/{ids['db/tables']}/heartbeat/", {**held(grant), "progress": "halfway"})
    assert (beat.status, beat.json["asks"], beat.json["expires_in_s"]) == (200, [], 90.0)
    shown = worker.get(f"nodes/{ids['db/tables']}/").json
    assert (shown["lease"]["progress"], shown["lease"]["holder"], shown["lease"]["live"]) == ("halfway", "w/1", True)

    body = {**held(grant), "outcome": "done", "summary": "nine", "result": {"tables": [1, 2.5, None, "ü"]}}
    report = worker.post(f"nodes/{ids['db/tables']}/report/", body)
    assert report.status == 200
    assert report.json["node"]["state"] == "done"
    assert report.json["became_ready"] == [ids["api/schema"]]
    shown = worker.get(f"nodes/{ids['db/tables']}/").json
    assert shown["lease"] is None
    assert [(run["outcome"], run["summary"], run["result"]) for run in shown["runs"]] == [
        ("done", "nine", {"tables": [1, 2.5, None, "ü"]})
    ]
    assert [attempt["outcome"] for attempt in shown["runs"][0]["attempts"]] == ["done"]
    after = worker.post("claims/", {"objective": ids["api"].lower()})
    assert after.json["inputs"] == [
        {"full_key": "db/tables", "outcome": "done", "summary": "nine", "result": body["result"]}
    ]


def test_claim_next_says_204_when_there_is_nothing(worker: Api) -> None:
    make_plan({"one": {}})
    assert worker.post("claims/").status == 201
    none = worker.post("claims/", {})
    assert (none.status, none.content) == (204, b"")
    assert worker.post("claims/", {"plan": "no such plan"}).status == 204


def test_rejects_open_the_next_attempt_until_the_limit_blocks(worker: Api, lead: Api) -> None:
    ids = make_plan({"one": {}})
    grant = worker.post("claims/")
    path = f"nodes/{ids['one']}/"
    tries = [worker.post(f"{path}reject/", {**held(grant), "reason": "it fails"}).json for _ in range(3)]
    assert [answer["attempt"] and answer["attempt"]["number"] for answer in tries] == [2, 3, None]
    assert tries[-1]["node"]["state"] == "blocked"
    assert worker.get(path).json["rejections"] == 3
    unblocked = lead.post(f"{path}unblock/", {"reason": "mended"})
    assert (unblocked.status, unblocked.json["node"]["state"]) == (200, "ready")


def test_release_gives_the_node_back(worker: Api) -> None:
    ids = make_plan({"one": {}})
    released = worker.post(f"nodes/{ids['one']}/release/", {**held(worker.post("claims/")), "reason": "no time"})
    assert (released.status, released.json["node"]["state"]) == (200, "ready")


def test_a_container_is_held_by_hand(worker: Api) -> None:
    ids = make_plan(PAY)
    grant = worker.post(f"nodes/{ids['db']}/claim/", {"hand": True})
    assert (grant.status, grant.json["run"], grant.json["attempt"]) == (201, None, None)
    assert worker.get(f"nodes/{ids['db']}/").json["marks"] == ["held"]
    assert worker.post(f"nodes/{ids['db']}/release/", held(grant)).status == 200


def test_a_lead_reopens_and_the_worker_is_told(worker: Api, lead: Api) -> None:
    ids = make_plan(PAY)
    first = worker.post(f"nodes/{ids['db/tables']}/claim/")
    worker.post(f"nodes/{ids['db/tables']}/report/", {**held(first), "outcome": "done"})
    second = worker.post(f"nodes/{ids['api/schema']}/claim/")
    reopened = lead.post(f"nodes/{ids['db/tables']}/reopen/", {"reason": "a table is missing"})
    assert reopened.json["running_dependents"] == [ids["api/schema"]]
    beat = worker.post(f"nodes/{ids['api/schema']}/heartbeat/", held(second))
    assert beat.json["asks"] == ["upstream_reopened"]
    shown = worker.get(f"nodes/{ids['api/schema']}/").json
    assert shown["marks"] == ["upstream_reopened"]
    assert [each["full_key"] for each in shown["upstream_reopened"]] == ["db/tables"]


def test_a_lead_cancels_waives_and_abandons(worker: Api, lead: Api) -> None:
    ids = make_plan(PAY)
    waiting = worker.get(f"nodes/{ids['api/schema']}/").json
    edge = waiting["needs"][0]["id"]
    assert [wait["full_key"] for wait in waiting["waiting_on"]] == ["db/tables"]
    waived = lead.post(f"edges/{edge}/waive/", {"reason": "the mock will do"})
    assert waived.json["node"]["id"] == ids["api/schema"]
    assert worker.get(f"nodes/{ids['api/schema']}/").json["needs"][0]["waive_reason"] == "the mock will do"
    assert lead.post(f"edges/{edge}/unwaive/", {"reason": "no"}).status == 200

    grant = worker.post(f"nodes/{ids['db/tables']}/claim/")
    abandoned = lead.post(
        f"nodes/{ids['db/tables']}/abandon/", {"reason": "gone", "fence": grant.json["lease"]["fence"]}
    )
    assert (abandoned.status, abandoned.json["node"]["state"]) == (200, "ready")
    cancelled = lead.post(f"nodes/{ids['db']}/cancel/", {"reason": "dropped"})
    assert (cancelled.status, cancelled.json["node"]["state"]) == (200, "cancelled")


def test_status_counts_and_lists_claims(worker: Api) -> None:
    make_plan(PAY)
    grant = worker.post("claims/")
    status = worker.get("status/").json
    assert (status["counts"]["running"], status["counts"]["ready"]) == (1, 1)
    assert status["containers"]["running"] == 1
    assert [(lease["id"], lease["fence"]) for lease in status["live"]] == [(grant.json["lease"]["id"], 1)]
    assert status["stale"] == []
    assert {lease["moves_with"] for lease in worker.get("leases/").json["results"]} == {None, grant.json["lease"]["id"]}


def test_a_lead_may_do_what_a_worker_may_under_the_name_of_its_token(db: None) -> None:
    ids = make_plan({"one": {}})
    someone = Api.as_role(Role.LEAD, "night shift")
    grant = someone.post("claims/")
    assert someone.get(f"nodes/{ids['one']}/").json["lease"]["holder"] == "night shift"
    assert someone.post(f"nodes/{ids['one']}/report/", {**held(grant), "outcome": "partial"}).status == 200


def test_a_reopening_under_a_waiver_is_told_when_the_waiver_is_taken_away(worker: Api, lead: Api) -> None:
    ids = make_plan(PAY)
    first = worker.post(f"nodes/{ids['db/tables']}/claim/")
    worker.post(f"nodes/{ids['db/tables']}/report/", {**held(first), "outcome": "done"})
    second = worker.post(f"nodes/{ids['api/schema']}/claim/")
    edge = worker.get(f"nodes/{ids['api/schema']}/").json["needs"][0]["id"]
    assert lead.post(f"edges/{edge}/waive/", {"reason": "for now"}).status == 200
    assert lead.post(f"nodes/{ids['db/tables']}/reopen/", {"reason": "x"}).json["running_dependents"] == []
    beat = f"nodes/{ids['api/schema']}/heartbeat/"
    assert worker.post(beat, held(second)).json["asks"] == []
    assert lead.post(f"edges/{edge}/unwaive/", {"reason": "after all"}).status == 200
    assert worker.post(beat, held(second)).json["asks"] == ["upstream_reopened"]


RESULT = {"z": [1e308] * 3, "a": {"é": 0.1, "": None}, "m": -0.0}


def test_a_result_comes_out_as_it_went_in(worker: Api) -> None:
    ids = make_plan({"one": {}, "two": {"needs": ["one"]}})
    grant = worker.post(f"nodes/{ids['one']}/claim/")
    worker.post(f"nodes/{ids['one']}/report/", {**held(grant), "outcome": "done", "result": RESULT})
    (given,) = worker.post(f"nodes/{ids['two']}/claim/").json["inputs"]
    (run,) = worker.get(f"nodes/{ids['one']}/").json["runs"]
    told = worker.get("events/", type="run.closed").json["results"][0]["data"]
    for result in (given["result"], run["result"], told["result"]):
        assert json.dumps(result) == json.dumps(RESULT)
    assert audit() == []
