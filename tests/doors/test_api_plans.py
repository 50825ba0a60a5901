"""Import over HTTP: JSON or YAML by content type, dry runs, prune, faults, and files that are too large."""

from io import BytesIO
from typing import Any, Final

import pytest
import yaml

from graph.models import Event, Node, Plan
from tests.doors.api import Answer, Api

PLAN: Final[dict[str, Any]] = {
    "plan": "checkout",
    "objectives": [
        {"key": "db", "tasks": [{"key": "tables", "title": "Draw the tables"}, {"key": "index", "needs": ["tables"]}]},
        {"key": "api", "title": "API", "needs": ["db"]},
    ],
}


def send(api: Api, raw: bytes, kind: str, **query: str) -> Answer:
    return api.send("POST", "/api/v1/plans/", raw, kind=kind, query=query)


def as_yaml(plan: dict[str, Any]) -> bytes:
    return yaml.safe_dump(plan).encode()


@pytest.mark.parametrize(
    "kind", ["application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml; charset=utf-8", "TEXT/YAML"]
)
def test_yaml_by_content_type(lead: Api, kind: str) -> None:
    answer = send(lead, as_yaml(PLAN), kind)
    assert (answer.status, answer.json["created"]) == (201, True)
    assert answer.json["added"] == ["db", "db/tables", "db/index", "api"]
    assert answer.json["counts"]["edges_added"] == 2
    assert answer.json["became_ready"] == [Node.objects.get(full_key="db/tables").id]


def test_json_and_again(lead: Api) -> None:
    first = lead.post("plans/", PLAN)
    assert (first.status, first.json["plan"]) == (201, Plan.objects.get().id)
    events = Event.objects.count()
    second = lead.post("plans/", PLAN)
    assert (second.status, second.json["changed"], second.json["created"]) == (200, False, False)
    assert Event.objects.count() == events
    changed = lead.post("plans/", {**PLAN, "objectives": [*PLAN["objectives"], {"key": "web"}]})
    assert (changed.status, changed.json["changed"], changed.json["added"]) == (200, True, ["web"])


def test_a_dry_run_writes_nothing(lead: Api) -> None:
    answer = lead.post("plans/", PLAN, dry_run="true")
    assert (answer.status, answer.json["dry_run"], answer.json["created"], answer.json["plan"]) == (
        200,
        True,
        True,
        None,
    )
    assert len(answer.json["added"]) == 4
    assert not Plan.objects.exists()
    assert lead.post("plans/", PLAN, dry_run="false").status == 201


def test_prune_cancels_what_the_file_no_longer_has(lead: Api) -> None:
    lead.post("plans/", PLAN)
    less = {**PLAN, "objectives": PLAN["objectives"][:1]}
    assert lead.post("plans/", less).json["missing"] == ["api"]
    assert Node.objects.get(full_key="api").state == "pending"
    assert lead.post("plans/", less, prune="true").json["pruned"] == ["api"]
    assert Node.objects.get(full_key="api").state == "cancelled"


def test_every_fault_in_one_answer(lead: Api) -> None:
    plan = {"plan": "x", "objectives": [{"key": "a", "needs": ["b"], "colour": 1}, {"key": "A", "needs": ["c"]}]}
    answer = lead.post("plans/", plan)
    assert (answer.status, answer.code) == (400, "plan_invalid")
    assert len(answer.json["faults"]) >= 4
    assert all({*fault} == {"code", "path", "line", "message", "nearest"} for fault in answer.json["faults"])
    assert not Plan.objects.exists()


@pytest.mark.parametrize("kind", ["application/json", "application/yaml"])
@pytest.mark.parametrize(
    "raw",
    [
        b" ", b"{", b"[]", b"null", b"\xff\xfe", b"\x00", b"plan: [", b"[" * 20_000, b"{" * 20_000,
        b'{"plan": ' * 5_000,
        b'{"plan": "a\\u0000b", "objectives": [{"key": "a"}]}', b'{"plan": "\\ud800", "objectives": [{"key": "a"}]}',
        b"!!python/object/apply:os.system ['true']", b"&a [*a, *a]", b"9" * 10_000, b"plan: " + b"9" * 5_000,
    ],
    ids=lambda raw: repr(raw[:12]),
)  # fmt: skip
def test_what_is_no_plan_is_a_fault(lead: Api, raw: bytes, kind: str) -> None:
    answer = send(lead, raw, kind)
    assert (answer.status, answer.code) == (400, "plan_invalid")
    assert answer.json["faults"]


@pytest.mark.parametrize("kind", ["", "text/plain", "multipart/form-data; boundary=x", "application/xml"])
def test_other_media_types_are_refused(lead: Api, kind: str) -> None:
    answer = send(lead, as_yaml(PLAN), kind)
    assert (answer.status, answer.code) == (415, "unsupported_media_type")


def test_a_file_over_the_limit_is_a_fault_and_is_not_read_whole(lead: Api, settings: Any) -> None:
    settings.PLAN_MAX_BYTES = 200
    answer = send(lead, as_yaml(PLAN) + b"#" * 5_000_000, "application/yaml")
    assert [fault["code"] for fault in answer.json["faults"]] == ["over_limit"]


def test_a_file_larger_than_other_bodies_may_be(lead: Api) -> None:
    many = {"plan": "large", "objectives": [{"key": f"o{n}", "body": "x" * 50_000} for n in range(80)]}
    assert send(lead, as_yaml(many), "application/yaml").json["counts"]["added"] == 80


def test_half_a_file_is_no_file(lead: Api) -> None:
    """What was cut off on its way may be a plan still, with the rest of the nodes missing: prune would cancel them."""
    raw = as_yaml(PLAN)
    environ = {"wsgi.input": BytesIO(raw), "CONTENT_LENGTH": str(len(raw) + 1)}
    answer = lead.send("POST", "/api/v1/plans/", raw, kind="application/yaml", environ=environ)
    assert answer.json["errors"] == {"body": ["ended before its length"]}


def test_a_file_without_a_length_is_refused(lead: Api) -> None:
    environ = {"CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked"}
    assert (
        lead.send("POST", "/api/v1/plans/", as_yaml(PLAN), kind="text/yaml", environ=environ).code == "length_required"
    )
