"""Every refusal that the contract names, produced over HTTP, each with its status and its fields."""

import json
import re
from collections.abc import Callable
from typing import Any, Final

import pytest
from django.db import OperationalError

from graph import errors as graph_errors
from graph.errors import Refusal
from leases import errors as lease_errors
from leases.models import Lease, Role
from tasksite.api import errors as hall_errors
from tasksite.api import problems
from tasksite.api.schema import examples
from tests.builders import make_plan
from tests.doors.api import Answer, Api
from tests.doors.test_api_way import held

TREE: Final = {
    "api": {"tasks": {"schema": {}, "endpoints": {"needs": ["api/schema"]}, "extra": {}}},
    "web": {"needs": ["api"], "tasks": {"page": {}}},
    "solo": {},
}


class Scene:
    """A plan, two workers and a lead."""

    def __init__(self) -> None:
        self.ids = make_plan(TREE)
        self.worker = Api.as_role(Role.WORKER, "first")
        self.other = Api.as_role(Role.WORKER, "second")
        self.lead = Api.as_role(Role.LEAD)

    def claim(self, full_key: str, **body: Any) -> Answer:
        return self.worker.post(f"nodes/{self.ids[full_key]}/claim/", body)

    def verb(self, full_key: str, verb: str, **body: Any) -> Answer:
        return self.worker.post(f"nodes/{self.ids[full_key]}/{verb}/", body)

    def act(self, full_key: str, verb: str, **body: Any) -> Answer:
        return self.lead.post(f"nodes/{self.ids[full_key]}/{verb}/", {"reason": "because", **body})


def ancestor_incomplete(scene: Scene) -> Answer:
    return scene.claim("web/page")


def busy(scene: Scene) -> Answer:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("graph.transaction.TRIES", 1)
        patch.setattr("leases.claim.read_chain", _locked)
        return scene.claim("solo")


def _locked(node_id: str) -> Any:
    raise OperationalError("database is locked")


def container(scene: Scene) -> Answer:
    return scene.claim("api")


def forbidden(scene: Scene) -> Answer:
    return scene.verb("solo", "cancel", reason="no")


def idempotency_mismatch(scene: Scene) -> Answer:
    scene.worker.post("claims/", {"ttl_s": 60}, key="k")
    return scene.worker.post("claims/", {"ttl_s": 61}, key="k")


def invalid(scene: Scene) -> Answer:
    return scene.claim("solo", ttl_s=4, state="done", wish=1)


def lease_closed(scene: Scene) -> Answer:
    shown = held(scene.claim("solo"))
    scene.verb("solo", "release", **shown)
    return scene.verb("solo", "heartbeat", **shown)


def lease_expired(scene: Scene) -> Answer:
    shown = held(scene.claim("solo"))
    Lease.objects.update(expires_at=1)
    return scene.verb("solo", "report", **shown, outcome="done")


def lease_refused(scene: Scene) -> Answer:
    scene.claim("api/schema")
    return scene.claim("api/extra")


def not_found(scene: Scene) -> Answer:
    return scene.worker.get("nodes/01ARZ3NDEKTSV4RRFFQ69G5FAV/")


def not_holder(scene: Scene) -> Answer:
    shown = held(scene.claim("solo"))
    return scene.other.post(f"nodes/{scene.ids['solo']}/heartbeat/", shown)


def not_ready(scene: Scene) -> Answer:
    return scene.claim("api/endpoints")


def plan_conflict(scene: Scene) -> Answer:
    scene.lead.post("plans/", {"plan": "p", "objectives": [{"key": "one"}, {"key": "two"}]})
    scene.worker.post("claims/", {"plan": "p"})
    return scene.lead.post("plans/", {"plan": "p", "objectives": [{"key": "two"}]}, prune="true")


def plan_invalid(scene: Scene) -> Answer:
    return scene.lead.post("plans/", {"plan": "p", "objectives": [{"key": "one", "needs": ["onee"]}]})


def stale_fence(scene: Scene) -> Answer:
    shown = held(scene.claim("solo"))
    return scene.verb("solo", "heartbeat", lease=shown["lease"], fence=shown["fence"] + 1)


def unauthenticated(scene: Scene) -> Answer:
    return Api("ts_" + "x" * 43).get("status/")


def wrong_state(scene: Scene) -> Answer:
    return scene.act("solo", "unblock")


IN_WAY: Final = {"relation", "subject", "holder", "fence", "expires_at", "stale", "conflicts"}

CASES: Final[dict[Callable[[Scene], Answer], tuple[int, set[str]]]] = {
    ancestor_incomplete: (409, {"ancestor", "why", "waiting_on"}),
    busy: (503, set()),
    container: (409, set()),
    forbidden: (403, set()),
    idempotency_mismatch: (422, set()),
    invalid: (400, {"errors"}),
    lease_closed: (409, {"ended_at"}),
    lease_expired: (409, {"expires_at"}),
    lease_refused: (409, IN_WAY),
    not_found: (404, set()),
    not_holder: (403, set()),
    not_ready: (409, {"state", "waiting_on"}),
    plan_conflict: (409, {"nodes"}),
    plan_invalid: (400, {"faults"}),
    stale_fence: (409, {"fence", "current_fence"}),
    unauthenticated: (401, set()),
    wrong_state: (409, {"state", "node"}),
}
"""By code: who produces it, the status, and the members besides those that every refusal has."""


@pytest.mark.django_db
@pytest.mark.parametrize("produce", CASES, ids=lambda produce: produce.__name__)
def test_the_refusal(produce: Callable[[Scene], Answer]) -> None:
    status, fields = CASES[produce]
    answer = produce(Scene())
    assert answer.code == produce.__name__
    assert answer.status == status
    assert set(answer.json) - {"type", "title", "status", "detail", "code"} == fields
    assert answer.headers.get("Retry-After") == ("1" if status == 503 else None)
    assert ("WWW-Authenticate" in answer.headers) == (status == 401)


@pytest.mark.django_db
def test_invalid_names_each_field() -> None:
    errors = invalid(Scene()).json["errors"]
    assert errors == {
        "ttl_s": ["must be from 5 to 3600"],
        "state": ["is set by the server alone"],
        "wish": ["is no field of this request"],
    }


@pytest.mark.django_db
def test_a_refused_claim_names_who_is_in_the_way() -> None:
    scene = Scene()
    grant = scene.claim("api/schema", holder="w/7").json
    answer = scene.claim("api/extra").json
    assert answer["relation"] == "sibling"
    assert (answer["subject"], answer["holder"], answer["fence"]) == (scene.ids["api/schema"], "w/7", 1)
    assert (answer["expires_at"], answer["stale"]) == (grant["lease"]["expires_at"], False)
    assert [each["relation"] for each in answer["conflicts"]] == ["sibling"]
    assert scene.claim("api", hand=True).json["relation"] == "descendant"
    assert scene.claim("api/schema").json["relation"] == "self"
    scene.verb("api/schema", "release", lease=grant["lease"]["id"], fence=1)
    scene.claim("api", hand=True)
    assert scene.claim("api/schema").json["relation"] == "parent"


@pytest.mark.django_db
def test_a_node_that_waits_says_for_what() -> None:
    scene = Scene()
    own = not_ready(scene).json
    assert own["state"] == "pending"
    assert [wait["full_key"] for wait in own["waiting_on"]] == ["api/schema"]
    above = ancestor_incomplete(scene).json
    assert (above["ancestor"]["full_key"], above["why"]) == ("web", "waiting")
    assert [wait["full_key"] for wait in above["waiting_on"]] == ["api"]


@pytest.mark.django_db
def test_the_checks_of_a_lease_come_in_the_contract_s_order() -> None:
    """Not found, then another's token, then the fence, then closed or expired; each hides what comes after."""
    scene = Scene()
    shown = held(scene.claim("solo"))
    path = f"nodes/{scene.ids['solo']}/heartbeat/"
    elsewhere = f"nodes/{scene.ids['api/schema']}/heartbeat/"
    wrong_fence = {**shown, "fence": 9}
    Lease.objects.update(expires_at=1)
    assert scene.other.post(elsewhere, wrong_fence).code == "not_found"
    assert scene.other.post(path, wrong_fence).code == "not_holder"
    assert scene.worker.post(path, wrong_fence).code == "stale_fence"
    assert scene.worker.post(path, shown).code == "lease_expired"
    scene.act("solo", "abandon")
    assert scene.worker.post(path, shown).code == "lease_closed"


@pytest.mark.django_db
def test_an_objective_s_lease_moves_with_the_task_only() -> None:
    scene = Scene()
    lane = scene.claim("api/schema").json["objective_lease"]
    answer = scene.verb("api", "heartbeat", lease=lane["id"], fence=lane["fence"])
    assert (answer.code, answer.json["state"]) == ("wrong_state", "running")
    assert scene.act("api", "abandon").code == "wrong_state"


@pytest.mark.django_db
def test_an_edge_in_the_wrong_state_says_whether_it_is_waived() -> None:
    scene = Scene()
    edge = scene.worker.get(f"nodes/{scene.ids['web']}/").json["needs"][0]["id"]
    answer = scene.lead.post(f"edges/{edge}/unwaive/", {"reason": "because"})
    assert (answer.code, answer.json["waived"]) == ("wrong_state", False)
    assert scene.lead.post("edges/01ARZ3NDEKTSV4RRFFQ69G5FAV/waive/", {"reason": "x"}).code == "not_found"


# The table


def refusals(kind: type[Refusal] = Refusal) -> set[type[Refusal]]:
    return {found for each in kind.__subclasses__() for found in {each, *refusals(each)}}


def test_every_refusal_has_a_status_an_example_and_a_sentence() -> None:
    defined = {
        kind
        for kind in refusals()
        if kind.__module__ in (m.__name__ for m in (graph_errors, lease_errors, hall_errors))
    }
    assert defined == set(problems.STATUS) == set(examples.REFUSALS)
    assert refusals() == defined, "refusals are defined in the errors module of their room"
    codes = [kind.code for kind in defined]
    assert len(codes) == len(set(codes))
    for kind in defined:
        assert problems.title(kind).endswith("."), kind
        assert not {"type", "title", "status", "detail", "code"} & {*examples.REFUSALS[kind].fields}


def test_every_domain_refusal_is_produced_here() -> None:
    domain = {kind.code for kind in problems.STATUS if kind.__module__ != hall_errors.__name__}
    assert {case.__name__ for case in CASES} == domain | {"unauthenticated", "forbidden"}


@pytest.mark.django_db
def test_examples_have_the_fields_that_real_refusals_have() -> None:
    by_code = {kind.code: {*refusal.fields} for kind, refusal in examples.REFUSALS.items()}
    assert {case.__name__: fields for case, (_, fields) in CASES.items()} == {
        case.__name__: by_code[case.__name__] for case in CASES
    }


def test_a_fault_of_the_server_is_a_problem_too_and_is_logged(
    db: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails() -> None:
        raise RuntimeError("a fault of the server")

    monkeypatch.setattr("leases.queries.status", fails)
    answer = Api.as_role(Role.WORKER).get("status/")
    assert (answer.status, answer.code) == (500, "internal")
    assert "a fault of the server" not in json.dumps(answer.json)
    assert "a fault of the server" in caplog.text


def test_a_read_that_finds_the_database_busy_says_so(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr("leases.queries.status", fails)
    answer = Api.as_role(Role.WORKER).get("status/")
    assert (answer.status, answer.code, answer.headers["Retry-After"]) == (503, "busy", "1")


def test_codes_are_snake_case() -> None:
    assert all(re.fullmatch("[a-z]+(_[a-z]+)*", kind.code) for kind in problems.STATUS)
