"""Idempotency-Key: the same request again gets the same answer and changes nothing; anything else is a mismatch."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from graph.models import Event, Node
from leases import answers
from leases.models import Answer as Kept
from leases.models import Attempt, Lease, Role, Run
from tests.builders import make_plan, states
from tests.doors.api import Answer, Api
from tests.doors.test_api_way import held

REPLAYED = "Idempotency-Replayed"


def rows() -> dict[str, list[Any]]:
    """Everything a request could change."""
    return {m.__name__: [*m.objects.order_by("pk").values()] for m in (Node, Lease, Run, Attempt, Event, Kept)}


@pytest.fixture
def ids(db: None) -> dict[str, str]:
    return make_plan({"one": {}, "two": {}, "box": {"tasks": {"in": {}}}})


def again(first: Answer, act: Callable[[], Answer]) -> None:
    """The act under its old key: the same bytes, and nothing changes."""
    assert 200 <= first.status < 300
    assert REPLAYED not in first.headers
    before = rows()
    second = act()
    assert (second.status, second.content) == (first.status, first.content)
    assert second.headers[REPLAYED] == "true"
    assert rows() == before


def twice(act: Callable[[], Answer]) -> Answer:
    first = act()
    again(first, act)
    return first


def test_every_verb_is_done_once(worker: Api, lead: Api, ids: dict[str, str]) -> None:
    one, two, box = (f"nodes/{ids[key]}/" for key in ("one", "two", "box"))
    grant = twice(lambda: worker.post(f"{one}claim/", {"ttl_s": 60}, key="claim"))
    twice(lambda: worker.post(f"{one}heartbeat/", held(grant), key="beat"))
    twice(lambda: worker.post(f"{one}reject/", {**held(grant), "reason": "x"}, key="reject"))
    twice(lambda: worker.post(f"{one}report/", {**held(grant), "outcome": "done"}, key="report"))
    assert twice(lambda: worker.post("claims/", {"objective": ids["two"]}, key="next")).json["node"]["id"] == ids["two"]
    twice(lambda: lead.post(f"{two}abandon/", {"reason": "x"}, key="abandon"))
    twice(lambda: lead.post(f"{two}cancel/", {"reason": "x"}, key="cancel"))
    twice(lambda: lead.post(f"{two}reopen/", {"reason": "x"}, key="reopen"))
    hold = twice(lambda: worker.post(f"{box}claim/", {"hand": True}, key="hold"))
    twice(lambda: worker.post(f"{box}release/", held(hold), key="release"))


def test_the_key_is_looked_up_before_the_fence_is(worker: Api, lead: Api, ids: dict[str, str]) -> None:
    """A report whose answer was lost: the lease is closed by now, and the retry is told of the success all the same."""
    path = f"nodes/{ids['one']}/report/"
    report = {**held(worker.post("claims/")), "outcome": "done"}
    first = worker.post(path, report, key="r")
    assert worker.post(path, report).code == "lease_closed"
    again(first, lambda: worker.post(path, report, key="r"))
    lead.post(f"nodes/{ids['one']}/reopen/", {"reason": "x"})
    worker.post("claims/")
    again(first, lambda: worker.post(path, report, key="r"))


def test_another_request_under_the_key_is_a_mismatch(worker: Api, ids: dict[str, str]) -> None:
    path, other = f"nodes/{ids['one']}/claim/", f"nodes/{ids['two']}/claim/"
    first = worker.post(path, {"ttl_s": 60}, key="k")
    before = rows()
    others: list[Callable[[], Answer]] = [
        lambda: worker.post(other, {"ttl_s": 60}, key="k"),
        lambda: worker.post(path, {"ttl_s": 61}, key="k"),
        lambda: worker.send("POST", f"/api/v1/{path}", b'{"ttl_s":60}', headers={"Idempotency-Key": "k"}),
        lambda: worker.send("POST", f"/api/v1/{path}", b"{", headers={"Idempotency-Key": "k"}),
        lambda: worker.post("claims/", {"ttl_s": 60}, key="k"),
    ]
    for act in others:
        answer = act()
        assert (answer.status, answer.code) == (422, "idempotency_mismatch")
    assert rows() == before
    again(first, lambda: worker.post(path, {"ttl_s": 60}, key="k"))


def test_a_key_is_its_token_s_own(worker: Api, ids: dict[str, str]) -> None:
    rival = Api.as_role(Role.WORKER, "rival")
    assert worker.post("claims/", key="k").json["node"]["id"] == ids["one"]
    assert rival.post("claims/", key="k").json["node"]["id"] == ids["two"]


def test_a_refusal_is_not_kept(worker: Api, ids: dict[str, str]) -> None:
    rival = Api.as_role(Role.WORKER, "rival")
    grant = rival.post(f"nodes/{ids['one']}/claim/")
    path = f"nodes/{ids['one']}/claim/"
    before = rows()
    assert worker.post(path, {}, key="k").code == "lease_refused"
    assert worker.send("POST", f"/api/v1/{path}", b"{", headers={"Idempotency-Key": "k"}).code == "invalid"
    assert rows() == before
    rival.post(f"nodes/{ids['one']}/release/", held(grant))
    assert worker.post(path, {}, key="k").status == 201


def test_nothing_to_claim_is_not_kept(worker: Api, db: None) -> None:
    assert worker.post("claims/", key="k").status == 204
    assert not Kept.objects.exists()
    ids = make_plan({"late": {}})
    assert worker.post("claims/", key="k").json["node"]["id"] == ids["late"]


def test_the_marks_of_a_refused_claim_stand_and_its_key_stays_free(worker: Api, lead: Api, ids: dict[str, str]) -> None:
    path = f"nodes/{ids['one']}/claim/"
    worker.post(path)
    Lease.objects.update(expires_at=1)
    refused = worker.post(path, {}, key="k")
    assert (refused.code, refused.json["stale"]) == ("lease_refused", True)
    assert Event.objects.filter(type="lease.expired").count() == 1
    assert not Kept.objects.exists()
    lead.post(f"nodes/{ids['one']}/abandon/", {"reason": "x"})
    assert worker.post(path, {}, key="k").status == 201


def test_an_answer_is_kept_for_24_hours_and_purged_then(
    worker: Api, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead = 0
    monkeypatch.setattr("graph.clock.judged", lambda micros: micros + ahead)
    first = worker.post("claims/", key="k")
    ahead = answers.KEPT - 60_000_000
    again(first, lambda: worker.post("claims/", key="k"))
    assert answers.purge() == 0
    ahead = answers.KEPT + 60_000_000
    assert worker.post("claims/", key="k").json["node"]["id"] == ids["two"]
    assert answers.purge() == 0, "the key has a new answer"
    ahead *= 3
    assert answers.purge() == 1
    assert not Kept.objects.exists()


def test_a_get_has_no_use_for_a_key(worker: Api, ids: dict[str, str]) -> None:
    assert worker.get("status/", headers={"Idempotency-Key": "k"}).status == 200
    assert not Kept.objects.exists()


def test_an_import_is_done_once_and_read_once(lead: Api, db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = {"plan": "p", "objectives": [{"key": "one"}]}
    first = lead.post("plans/", plan, key="k")
    assert first.status == 201
    monkeypatch.setattr("tasksite.api.views.plans.read_file", None)
    again(first, lambda: lead.post("plans/", plan, key="k"))
    assert lead.post("plans/", plan, key="k", prune="true").code == "idempotency_mismatch"
    assert lead.post("plans/", {"plan": "broken"}, key="k").code == "idempotency_mismatch"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("round_", range(5))
def test_one_key_at_once_is_done_once(round_: int) -> None:
    """Sixteen send the same request under one key at the same moment: one does it, all get its answer."""
    ids = make_plan({f"node-{n:02}": {} for n in range(20)})
    worker = Api.as_role(Role.WORKER)
    barrier = threading.Barrier(16)

    def ask(_: int) -> Answer:
        try:
            barrier.wait(60)
            return Api(worker.secret).post("claims/", {"ttl_s": 60}, key="k")
        finally:
            connection.close()

    with ThreadPoolExecutor(16) as pool:
        given = [*pool.map(ask, range(16))]
    assert {(answer.status, answer.content) for answer in given} == {(201, given[0].content)}
    assert sum(REPLAYED in answer.headers for answer in given) == 15
    assert Lease.objects.count() == 1
    assert [*states(ids).values()].count("running") == 1


@pytest.mark.django_db(transaction=True)
def test_without_the_taking_of_the_key_it_would_be_done_more_than_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: look, work, store, and no key taken first. Rivals that look together all work."""
    make_plan({f"node-{n:02}": {} for n in range(20)})
    worker = Api.as_role(Role.WORKER)
    barrier = threading.Barrier(4)

    def careless(*, caller: Any, key: str, fingerprint: str, now: int, work: Any) -> answers.StoredAnswer:
        found = answers.look(caller=caller, key=key, fingerprint=fingerprint, now=now)
        barrier.wait(60)
        return found or answers.StoredAnswer(*work())

    monkeypatch.setattr(answers, "once", careless)

    def ask(_: int) -> Answer:
        try:
            return Api(worker.secret).post("claims/", {"ttl_s": 60}, key="k")
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        given = [*pool.map(ask, range(4))]
    assert len({answer.content for answer in given}) > 1
    assert Lease.objects.count() == 4


def test_two_keys_are_no_third(worker: Api, ids: dict[str, str]) -> None:
    answer = worker.post(f"nodes/{ids['one']}/claim/", key="first,second")
    assert (answer.status, answer.code) == (400, "invalid")
    assert "given once" in answer.json["errors"]["Idempotency-Key"][0]
