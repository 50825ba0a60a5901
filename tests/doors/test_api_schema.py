"""The schema is valid, says what the contract says, and its examples are what the server answers and takes."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pytest
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.validation import validate_schema
from jsonschema import Draft202012Validator, ValidationError

from graph.importing import configured_limits
from graph.plan_file import Format, read_plan
from graph.plan_schema import plan_schema
from tasksite.api.operations import Operation
from tasksite.api.problems import STATUS
from tasksite.api.schema import examples
from tasksite.api.schema.components import COMPONENTS
from tasksite.api.schema.document import made, openapi
from tests.builders import make_plan
from tests.doors.api import Answer, Api, validate
from tests.doors.test_api_access import ROUTES, operation
from tests.doors.test_api_way import held

DOCS: Final = {"get_docs", "get_schema", "get_plan_file_schema"}

CONTRACT: Final = {
    ("POST", "/claims/"), ("POST", "/plans/"),
    *(("POST", f"/nodes/{{node_id}}/{verb}/") for verb in (
        "claim", "heartbeat", "report", "reject", "release", "abandon", "unblock", "reopen", "cancel"
    )),
    *(("POST", f"/edges/{{edge_id}}/{verb}/") for verb in ("waive", "unwaive")),
    *(("GET", path) for path in (
        "/nodes/", "/nodes/{node_id}/", "/nodes/{node_id}/events/", "/events/", "/leases/", "/plans/",
        "/plans/{plan_id}/", "/plans/{plan_id}/graph/", "/status/",
    )),
}  # fmt: skip
"""The calls that the contract names, but for the schema and its page."""

QUERIES: Final = {
    ("GET", "/nodes/"): {"state", "plan", "objective", "kind", "leaf", "free", "q", "cursor", "limit"},
    ("GET", "/events/"): {"after", "type", "plan", "node", "limit"},
    ("GET", "/nodes/{node_id}/events/"): {"after", "type", "limit"},
    ("GET", "/leases/"): {"live", "cursor", "limit"},
    ("GET", "/plans/"): {"cursor", "limit"},
    ("GET", "/plans/{plan_id}/graph/"): {"cursor", "limit"},
    ("POST", "/plans/"): {"dry_run", "prune"},
}


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method.upper(), path.removeprefix("/api/v1"), operation)
        for path, methods in openapi()["paths"].items()
        for method, operation in methods.items()
    ]


def declared() -> dict[str, Operation]:
    found = {operation(view, method).name: operation(view, method) for method, _, view in ROUTES}
    return {name: each for name, each in found.items() if name not in DOCS}


def test_it_is_valid_and_made_without_a_warning() -> None:
    made.cache_clear()
    GENERATOR_STATS.reset()
    validate_schema(openapi())  # type: ignore[no-untyped-call]
    assert not GENERATOR_STATS
    for component in openapi()["components"]["schemas"].values():
        Draft202012Validator.check_schema(component)


def test_many_may_ask_for_it_at_once() -> None:
    made.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        first, *others = pool.map(lambda _: openapi(), range(8))
    assert all(other is first for other in others)


def test_it_has_the_calls_of_the_contract() -> None:
    assert {(method, path) for method, path, _ in operations()} == CONTRACT
    for method, path, each in operations():
        query = {parameter["name"] for parameter in each.get("parameters", []) if parameter["in"] == "query"}
        assert query == QUERIES.get((method, path), set())
        assert each["security"] == [{"token": []}]


def test_every_operation_lists_every_refusal_it_may_make_with_an_example() -> None:
    seen = set()
    for _, _, each in operations():
        wanted = {(STATUS[kind], kind.code) for kind in declared()[each["operationId"]].refusals()}
        shown = set()
        for status, response in each["responses"].items():
            problem = response.get("content", {}).get("application/problem+json")
            if problem is None:
                continue
            codes = problem["schema"]["properties"]["code"]["enum"]
            examples_ = {example["value"]["code"] for example in problem["examples"].values()}
            assert {*codes} == examples_
            for example in problem["examples"].values():
                validate(example["value"], problem["schema"])
            shown |= {(int(status), code) for code in codes}
        assert shown == wanted, each["operationId"]
        seen |= {code for _, code in shown}
    assert seen == {kind.code for kind in STATUS} - {"method_not_allowed"}, "405 answers a method that is not there"


def test_every_answer_and_body_has_an_example_that_fits() -> None:
    for _, _, each in operations():
        for response in each["responses"].values():
            for content in response.get("content", {}).values():
                assert content["examples"], each["operationId"]
                for example in content["examples"].values():
                    validate(example["value"], content["schema"])
        for content in each.get("requestBody", {}).get("content", {}).values():
            for example in content["examples"].values():
                validate(example["value"], content["schema"])


def test_every_component_is_used() -> None:
    text = str(openapi())
    unused = [name for name in COMPONENTS if f"'#/components/schemas/{name}'" not in text]
    assert unused == []


def test_the_bodies_in_the_examples_are_taken(worker: Api, lead: Api) -> None:
    """What the docs show to copy works: only ids and fences are put in."""
    bodies = examples.BODIES
    assert lead.post("plans/", examples.PLAN_FILE).status == 201
    ids = {node["full_key"]: node["id"] for node in worker.get("nodes/").json["results"]}
    schema, endpoints = f"nodes/{ids['api/schema']}/", f"nodes/{ids['api/endpoints']}/"
    grant = worker.post(f"{schema}claim/", bodies["claim_node"])

    def shown(name: str, grant: Answer) -> dict[str, Any]:
        return {**bodies[name], **held(grant)}

    assert worker.post(f"{schema}heartbeat/", shown("heartbeat", grant)).status == 200
    assert worker.post(f"{schema}reject/", shown("reject", grant)).status == 200
    assert worker.post(f"{schema}release/", shown("release", grant)).status == 200
    assert worker.post(f"{schema}report/", shown("report", worker.post("claims/", bodies["claim_next"]))).status == 200
    assert lead.post(f"{schema}reopen/", bodies["reopen"]).status == 200
    edge = worker.get(endpoints).json["needs"][0]["id"]
    assert lead.post(f"edges/{edge}/waive/", bodies["waive"]).status == 200
    assert lead.post(f"edges/{edge}/unwaive/", bodies["unwaive"]).status == 200
    grant = worker.post(f"{schema}claim/", {})
    assert lead.post(f"{schema}abandon/", {**bodies["abandon"], "fence": grant.json["lease"]["fence"]}).status == 200
    grant = worker.post(f"{schema}claim/", {})
    for _ in range(3):
        worker.post(f"{schema}reject/", shown("reject", grant))
    assert lead.post(f"{schema}unblock/", bodies["unblock"]).status == 200
    assert lead.post(f"{schema}cancel/", bodies["cancel"]).status == 200


def test_the_plan_file_in_the_example_is_a_plan() -> None:
    assert read_plan(json.dumps(examples.PLAN_FILE).encode(), Format.JSON, configured_limits()).name
    validate(examples.PLAN_FILE, {"$ref": "#/components/schemas/PlanFile"})


# Where it is served


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        ("application/vnd.oai.openapi+json", "application/vnd.oai.openapi+json"),
        ("application/yaml", "application/yaml"),
        ("application/vnd.oai.openapi", "application/vnd.oai.openapi"),
    ],
)
def test_the_schema_is_served_to_anyone(db: None, accept: str, kind: str) -> None:
    answer = Api().get("schema/", headers={"Accept": accept})
    assert (answer.status, answer.headers["Content-Type"]) == (200, kind)
    if "json" in kind:
        assert answer.json == openapi()
    else:
        assert answer.content.startswith(b"openapi: 3.1")


def test_the_schema_of_plan_files_is_served(db: None) -> None:
    answer = Api().get("schema/plan-file/")
    assert answer.headers["Content-Type"] == "application/schema+json"
    assert answer.json == plan_schema(configured_limits())


def test_the_docs_page_takes_nothing_from_elsewhere(db: None) -> None:
    answer = Api().get("docs/", headers={"Accept": "text/html,*/*;q=0.8"})
    page = answer.content.decode()
    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assets = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert assets and all(asset.startswith("/") and not asset.startswith("//") for asset in assets)
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\bon\w+=|style=", page), "the policy allows nothing inline"
    for asset in assets:
        if asset.startswith("/static/"):
            found = Api().client.get(asset)
            assert found.status_code == 200, asset
            found.close()


def test_real_answers_are_held_against_it(worker: Api) -> None:
    """The control for `tests.doors.api`: an answer that the schema does not know is found out."""
    make_plan({"one": {}})
    good = worker.get("nodes/").json
    validate(good, {"$ref": "#/components/schemas/NodePage"})
    with pytest.raises(ValidationError):
        validate({**good, "more": 1}, {"$ref": "#/components/schemas/NodePage"})
    with pytest.raises(ValidationError):
        validate({"results": [{}], "next": None}, {"$ref": "#/components/schemas/NodePage"})
