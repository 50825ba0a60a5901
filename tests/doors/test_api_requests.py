"""Requests of every wrong kind: each gets a problem with the right status, alike on both databases, and none a 500."""

import json
from io import BytesIO
from typing import Any, Final

import pytest

from graph.models import Node
from tasksite.api.paging import packed
from tests.builders import make_plan, states
from tests.doors.api import Api
from tests.doors.test_api_way import held


@pytest.fixture
def ids(db: None) -> dict[str, str]:
    return make_plan({"one": {}, "two": {"needs": ["one"]}})


# Places and methods


@pytest.mark.parametrize(
    "path", ["/api/", "/api/v1/", "/api/v1/nodes", "/api/v2/nodes/", "/api/v1/nodes/x/y/z/", "/api/v1/%00/"]
)
def test_what_is_not_there_is_a_problem(worker: Api, path: str) -> None:
    for method in ("GET", "POST", "PUT", "DELETE"):
        answer = worker.send(method, path)
        assert (answer.status, answer.code) == (404, "not_found"), method


@pytest.mark.parametrize(
    "node_id", ["x", "%00", "01ARZ3NDEKTSV4RRFFQ69G5FA", "8" * 26, "%F0%9F%98%80", "a" * 5000, "IO" * 13]
)
def test_what_cannot_be_an_id_names_nothing(worker: Api, lead: Api, ids: dict[str, str], node_id: str) -> None:
    for path in (f"nodes/{node_id}/", f"nodes/{node_id}/events/", f"plans/{node_id}/", f"plans/{node_id}/graph/"):
        assert worker.get(path).code == "not_found"
    assert worker.post(f"nodes/{node_id}/claim/").code == "not_found"
    assert lead.post(f"nodes/{node_id}/cancel/", {"reason": "x"}).code == "not_found"
    assert lead.post(f"edges/{node_id}/waive/", {"reason": "x"}).code == "not_found"


def test_ids_are_read_in_lower_case_too(worker: Api, ids: dict[str, str]) -> None:
    assert worker.get(f"nodes/{ids['one'].lower()}/").json["id"] == ids["one"]
    grant = worker.post(f"nodes/{ids['one'].lower()}/claim/")
    shown = {"lease": grant.json["lease"]["id"].lower(), "fence": 1}
    assert worker.post(f"nodes/{ids['one'].lower()}/heartbeat/", shown).status == 200


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY"])
def test_other_methods_are_refused(worker: Api, method: str) -> None:
    answer = worker.send(method, "/api/v1/status/")
    assert (answer.status, answer.code) == (405, "method_not_allowed")
    assert answer.headers["Allow"] == "GET, HEAD"


def test_a_head_is_a_get_without_its_body(worker: Api) -> None:
    answer = worker.send("HEAD", "/api/v1/status/")
    assert (answer.status, answer.content) == (200, b"")


def test_the_answer_is_json_or_none(worker: Api) -> None:
    for accept in ("text/html", "application/xml", "image/*"):
        answer = worker.get("status/", headers={"Accept": accept})
        assert (answer.status, answer.code) == (406, "not_acceptable")
    for accept in ("application/json", "*/*", "application/json, application/problem+json", "text/html, */*;q=0.1"):
        assert worker.get("status/", headers={"Accept": accept}).status == 200


# Bodies


def raw(worker: Api, body: bytes, **more: Any) -> Any:
    return worker.send("POST", "/api/v1/claims/", body, **more)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"{", "is not JSON"),
        (b"nonsense", "is not JSON"),
        (b"{} {}", "is not JSON"),
        (b"[]", "must be a JSON object"),
        (b"null", "must be a JSON object"),
        (b'"text"', "must be a JSON object"),
        (b"1", "must be a JSON object"),
        (b'{"ttl_s": NaN}', "not JSON"),
        (b'{"ttl_s": Infinity}', "not JSON"),
        (b'{"ttl_s": 1e999}', "too large"),
        (b'{"ttl_s": ' + b"9" * 5000 + b"}", "too long"),
        (b'{"ttl_s": 60, "ttl_s": 61}', "twice"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"q":' * 50_000, "nested too deeply"),
        (b'{"q": "\xff"}', "UTF-8"),
        (b'{"q": "\xed\xa0\x80"}', "UTF-8"),
        ('{"q": "x"}'.encode("utf-16"), "UTF-8"),
        (b'\xef\xbb\xbf{"q": "x"}', "is not JSON"),
        (b'{"q": "a\nb"}', "is not JSON"),
        (b'{"q": "a\x00b"}', "is not JSON"),
        (b"{'q': 'x'}", "is not JSON"),
    ],
)
def test_bodies_that_are_no_json_object(worker: Api, body: bytes, fault: str) -> None:
    answer = raw(worker, body)
    assert (answer.status, answer.code) == (400, "invalid")
    assert fault in answer.json["errors"]["body"][0]


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
)
def test_other_media_types_are_refused(worker: Api, kind: str) -> None:
    answer = raw(worker, b"{}", kind=kind)
    assert (answer.status, answer.code) == (415, "unsupported_media_type")


def test_a_charset_is_no_other_media_type(worker: Api) -> None:
    assert raw(worker, b"{}", kind="Application/JSON; charset=utf-8").status == 204


def test_a_body_that_is_too_large_is_not_read(worker: Api) -> None:
    answer = raw(worker, b'{"q": "' + b"x" * 1_100_000 + b'"}')
    assert (answer.status, answer.code) == (413, "too_large")


def test_a_body_without_a_length_is_refused(worker: Api) -> None:
    environ = {"CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked"}
    answer = raw(worker, b"{}", environ=environ)
    assert (answer.status, answer.code) == (411, "length_required")


def test_a_body_that_ends_early_is_a_fault_of_the_client(worker: Api) -> None:
    answer = raw(worker, environ={"wsgi.input": BytesIO(b"{}"), "CONTENT_LENGTH": "200"}, body=b"")
    assert answer.json["errors"] == {"body": ["ended before its length"]}


# Fields

SURROGATE: Final = "\ud800"
TEXTS: Final = ["a\x00b", SURROGATE, 7, 1.5, True, [], {}, ["x"]]


@pytest.mark.parametrize("value", [*TEXTS, "x" * 201, "", "  ", "a\nb", "\x1b[2J", "\x7f", "\x85"])
def test_a_holder_is_one_visible_line(worker: Api, ids: dict[str, str], value: Any) -> None:
    answer = worker.post("claims/", {"holder": value})
    assert (answer.status, [*answer.json["errors"]]) == (400, ["holder"])


@pytest.mark.parametrize("value", [4, 3601, 0, -1, 2**63, 10**400, 60.0, "60", True, [], {}])
def test_a_ttl_is_a_whole_number_of_its_range(worker: Api, ids: dict[str, str], value: Any) -> None:
    answer = worker.post(f"nodes/{ids['one']}/claim/", {"ttl_s": value})
    assert (answer.status, [*answer.json["errors"]]) == (400, ["ttl_s"])
    assert states(ids)["one"] == "ready"


@pytest.mark.parametrize(
    ("field", "value"),
    [("hand", 1), ("hand", "true"), ("hand", []), ("plan", "a\x00"), ("plan", 1)]
    + [("objective", value) for value in ("x", "", 1, "\x00" * 26, "\u0131" * 26)]
    + [("q", value) for value in ("x" * 201, "\x00", SURROGATE, 5)],
)  # fmt: skip
def test_wrong_wishes(worker: Api, ids: dict[str, str], field: str, value: Any) -> None:
    path = f"nodes/{ids['one']}/claim/" if field == "hand" else "claims/"
    answer = worker.post(path, {field: value})
    assert (answer.status, [*answer.json["errors"]]) == (400, [field])


@pytest.mark.parametrize(
    "wishes", [{"ttl_s": None, "holder": None}, {"plan": None, "objective": None, "q": None}, {}, None]
)
def test_null_is_as_good_as_absent(worker: Api, ids: dict[str, str], wishes: Any) -> None:
    assert worker.post("claims/", wishes).status == 201


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("lease", ["x", "", None, 1, "\x00", SURROGATE]),
        ("fence", [None, -1, 2**63, 1.0, "1", True, 10**400]),
        ("outcome", [None, "cancelled", "", "DONE", 1, ["done"], {}]),
        ("summary", ["\x00", SURROGATE, "x" * 10_001, 5, ["x"]]),
        ("result", ["\x00", SURROGATE, {"a": ["\x00"]}, {"\x00": 1}, {SURROGATE: 1}, "x" * 65_535, ["x"] * 20_000]),
    ],
)
def test_wrong_reports(worker: Api, ids: dict[str, str], field: str, values: list[Any]) -> None:
    good = {**held(worker.post("claims/")), "outcome": "done"}
    path = f"nodes/{ids['one']}/report/"
    for value in values:
        answer = worker.post(path, {**good, field: value})
        assert (answer.status, [*answer.json["errors"]]) == (400, [field]), value
    assert states(ids)["one"] == "running"


@pytest.mark.parametrize(
    "result",
    [
        0, -0.5, 1e308, 10**300, True, False, "", "x" * 65_534, "é" * 32_000, [], {}, [None], {"": ""},
        {"n": {"e": {"s": "t"}}}, "\U0001f600\t\n\r\u2028<script>", "\\u0000", json.loads("[" * 100 + "]" * 100),
    ],
    ids=lambda result: repr(result)[:20],
)  # fmt: skip
def test_any_json_is_kept_as_a_result(worker: Api, ids: dict[str, str], result: Any) -> None:
    report = {**held(worker.post("claims/")), "outcome": "done", "result": result, "summary": "\r\n\x1b[0m é"}
    assert worker.post(f"nodes/{ids['one']}/report/", report).status == 200
    assert numbers_apart(worker.get(f"nodes/{ids['one']}/").json["runs"][0]["result"]) == numbers_apart(result)
    assert numbers_apart(worker.post("claims/").json["inputs"][0]["result"]) == numbers_apart(result)


def numbers_apart(value: Any) -> Any:
    """The value with numbers as JSON has them: 1e308 is the same as a one with 308 zeros, which PostgreSQL writes."""
    return json.loads(json.dumps(value), parse_int=float)


def test_a_result_that_is_nested_too_deeply_is_refused(worker: Api, ids: dict[str, str]) -> None:
    report = {**held(worker.post("claims/")), "outcome": "done", "result": json.loads("[" * 102 + "]" * 102)}
    assert worker.post(f"nodes/{ids['one']}/report/", report).json["errors"] == {
        "result": ["must not be nested more than 100 levels deep"]
    }


def test_progress_is_measured_in_bytes(worker: Api, ids: dict[str, str]) -> None:
    shown = held(worker.post("claims/"))
    path = f"nodes/{ids['one']}/heartbeat/"
    assert worker.post(path, {**shown, "progress": "é" * 512}).status == 200
    for value in ("é" * 513, "x" * 1025, "\x00", SURROGATE, 1):
        assert [*worker.post(path, {**shown, "progress": value}).json["errors"]] == ["progress"]
    assert worker.post(path, {**shown, "progress": None}).status == 200
    assert worker.get(f"nodes/{ids['one']}/").json["lease"]["progress"] == "é" * 512


@pytest.mark.parametrize("verb", ["abandon", "unblock", "reopen", "cancel"])
@pytest.mark.parametrize("reason", [None, "", " \n\t", "\x00", SURROGATE, "x" * 10_001, 1, []])
def test_an_act_needs_a_reason(lead: Api, ids: dict[str, str], verb: str, reason: Any) -> None:
    answer = lead.post(f"nodes/{ids['one']}/{verb}/", {"reason": reason})
    assert (answer.status, [*answer.json["errors"]]) == (400, ["reason"])


def test_unknown_and_owned_fields_are_refused_by_name(worker: Api, lead: Api, ids: dict[str, str]) -> None:
    answer = lead.post(
        f"nodes/{ids['one']}/cancel/", {"reason": "x", "state": "done", "id": 1, "pruned": True, SURROGATE: 1}
    )
    assert answer.json["errors"] == {
        "state": ["is set by the server alone"],
        "id": ["is set by the server alone"],
        "pruned": ["is no field of this request"],
        "?": ["is no field of this request"],
    }
    assert states(ids)["one"] == "ready"
    grant = {**held(worker.post("claims/")), "expires_at": "2099-01-01T00:00:00Z", "token": "x"}
    assert [*worker.post(f"nodes/{ids['one']}/heartbeat/", grant).json["errors"]] == ["expires_at", "token"]


# Queries

NOBODY: Final = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ("nodes/", {"format": "xml"}, "format"),
        ("nodes/", {"page": "1"}, "page"),
        ("nodes/", {"state": "open"}, "state"),
        ("nodes/", {"state": ""}, "state"),
        ("nodes/", {"leaf": "yes"}, "leaf"),
        ("nodes/", {"free": "1"}, "free"),
        ("nodes/", {"kind": "leaf"}, "kind"),
        ("nodes/", {"objective": "x"}, "objective"),
        ("nodes/", {"limit": "0"}, "limit"),
        ("nodes/", {"limit": "501"}, "limit"),
        ("nodes/", {"limit": "1e2"}, "limit"),
        ("nodes/", {"limit": "\uff19"}, "limit"),
        ("nodes/", {"q": "\x00"}, "q"),
        ("nodes/", {"plan": "\x00"}, "plan"),
        ("nodes/", {"q": "x" * 201}, "q"),
        ("nodes/", {"state": ["ready", "ready"]}, "state"),
        ("nodes/", {"cursor": "x"}, "cursor"),
        ("nodes/", {"cursor": ""}, "cursor"),
        ("nodes/", {"cursor": "é"}, "cursor"),
        ("nodes/", {"cursor": "AAAA"}, "cursor"),
        ("nodes/", {"cursor": "eC45OTk5OTk5OTk5OTk5OTk5OTk5OTk5"}, "cursor"),
        ("events/", {"after": "-1"}, "after"),
        ("events/", {"after": str(2**63)}, "after"),
        ("events/", {"after": "x"}, "after"),
        ("events/", {"type": "node.exploded"}, "type"),
        ("events/", {"node": "x"}, "node"),
        ("leases/", {"live": "maybe"}, "live"),
        ("plans/", {"name": "x"}, "name"),
        ("plans/", {"cursor": "_w"}, "cursor"),
        ("nodes/", {"cursor": packed("a\x00b", 1)}, "cursor"),
        ("nodes/", {"cursor": packed(NOBODY, 2**63)}, "cursor"),
        ("plans/", {"cursor": packed("\x00")}, "cursor"),
        ("leases/", {"cursor": packed(1, "\x00")}, "cursor"),
        ("leases/", {"cursor": packed(10**30, NOBODY)}, "cursor"),
        ("status/", {"x": "1"}, "x"),
    ],
)
def test_wrong_queries(worker: Api, path: str, query: dict[str, Any], field: str) -> None:
    answer = worker.get(path, **query)
    assert (answer.status, [*answer.json["errors"]]) == (400, [field])


def test_a_verb_takes_no_query(worker: Api, ids: dict[str, str]) -> None:
    assert worker.post("claims/", {}, ttl_s="60").json["errors"] == {"ttl_s": ["is no parameter of this URL"]}


def test_bytes_that_are_no_text_in_a_query_find_nothing(worker: Api, ids: dict[str, str]) -> None:
    assert worker.send("GET", "/api/v1/nodes/?q=%ff%fe").json["results"] == []


def test_too_many_parameters_are_refused(worker: Api) -> None:
    url = "/api/v1/nodes/?" + "&".join(f"x{n}=1" for n in range(1_500))
    assert worker.send("GET", url).code == "invalid"


def test_a_wrong_host_is_a_problem(worker: Api) -> None:
    answer = worker.send("GET", "/api/v1/status/", environ={"HTTP_HOST": "evil.example.org"})
    assert (answer.status, answer.code) == (400, "invalid")


@pytest.mark.parametrize("key", ["", "é", "x" * 256, "a\tb"])
def test_a_wrong_key_is_refused(worker: Api, ids: dict[str, str], key: str) -> None:
    answer = worker.post("claims/", {}, key=key)
    assert (answer.status, [*answer.json["errors"]]) == (400, ["Idempotency-Key"])
    assert states(ids)["one"] == "ready"


def test_a_name_is_looked_for_as_it_is_stored(worker: Api, db: None) -> None:
    composed, apart = "caf\u00e9", "cafe\u0301"
    make_plan({"a": {}}, name=composed)
    Node.objects.update(title=composed)
    for query in ({"plan": apart}, {"q": apart}):
        assert len(worker.get("nodes/", **query).json["results"]) == 1
    assert worker.get("events/", plan=apart).json["results"]
    assert worker.post("claims/", {"plan": apart}).status == 201


def test_a_body_is_taken_as_it_is(worker: Api, ids: dict[str, str]) -> None:
    answer = worker.send("POST", f"/api/v1/nodes/{ids['one']}/claim/", b"{}", headers={"Content-Encoding": "gzip"})
    assert (answer.status, answer.code) == (415, "unsupported_media_type")
