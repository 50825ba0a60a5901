"""Requests that nobody would think of, made from our own schema: whatever comes, no answer is a fault of ours.

Every answer is held against the schema too (`tests.doors.api`), so that no status and no member comes unannounced.
"""

import json
from typing import Any, Final
from urllib.parse import quote

import hypothesis
import pytest
import schemathesis
import yaml
from django.db import connection
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from schemathesis import GenerationMode

from graph.models import Edge, Node, Plan
from leases.audit import audit
from leases.models import Lease, Role
from tasksite.api.schema.document import openapi
from tests.builders import make_plan
from tests.doors.api import Api

EXAMPLES: Final = {"nobody": 10, "worker": 50, "lead": 50}
"""Requests to each operation, by who makes them; PostgreSQL is asked half of them again."""

OPERATIONS: Final = [
    (method.upper(), path)
    for path, methods in openapi()["paths"].items()
    for method in methods
]  # fmt: skip

USE: Final = st.sampled_from((True, True, True, False))
"""Whether a request names what is really there."""

FUZZ: Final = hypothesis.settings(
    deadline=None,
    database=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)


def bodies(case: Any) -> tuple[bytes, str]:
    """The body as bytes, and its media type."""
    kind = case.media_type or "application/json"
    if isinstance(case.body, bytes):
        return case.body, kind
    if case.body is None or type(case.body).__name__ == "NotSet":
        return b"", kind
    written = yaml.safe_dump(case.body) if "yaml" in kind else json.dumps(case.body)
    return written.encode("utf-8", "surrogatepass"), kind


def known_ids(path: str) -> list[str]:
    """Ids of what is really there, for the places in this path."""
    model = {"{plan_id}": Plan, "{edge_id}": Edge}.get(
        next((part for part in path.split("/") if "{" in part), ""), Node
    )
    return [*model._default_manager.values_list("id", flat=True)]


@pytest.mark.parametrize("who", EXAMPLES)
@pytest.mark.parametrize(("method", "path"), OPERATIONS, ids=[f"{method} {path}" for method, path in OPERATIONS])
def test_no_answer_is_a_fault_of_ours(db: None, method: str, path: str, who: str) -> None:
    make_plan({"db": {"tasks": {"tables": {}, "index": {"needs": ["db/tables"]}}}, "solo": {"needs": ["db"]}})
    api = Api() if who == "nobody" else Api.as_role(Role(who))
    api.post("claims/")
    ids = st.sampled_from(known_ids(path)) if "{" in path else st.just("")
    leases = [*Lease.objects.values_list("id", flat=True)] or [""]
    operation = schemathesis.openapi.from_dict(openapi())[path][method]
    cases = st.one_of(
        operation.as_strategy(generation_mode=GenerationMode.POSITIVE),
        operation.as_strategy(generation_mode=GenerationMode.NEGATIVE),
    )

    @hypothesis.settings(FUZZ, max_examples=EXAMPLES[who] // (2 if connection.vendor == "postgresql" else 1))
    @hypothesis.seed(0)
    @hypothesis.given(case=cases, id_=ids, use=USE, lease=st.sampled_from(leases))
    def ask(case: Any, id_: str, use: bool, lease: str) -> None:
        if use and isinstance(case.body, dict) and "lease" in case.body:
            case.body = {**case.body, "lease": lease, "fence": 1}  # a new one: it may be an example of the schema's
        raw, kind = bodies(case)
        place = {name: id_ if use else value for name, value in (case.path_parameters or {}).items()}
        url = path.format(
            **{name: quote(str(value).encode("utf-8", "replace"), safe="") for name, value in place.items()}
        )
        query = {name: value for name, value in (case.query or {}).items() if encodable(value)}
        headers = {n: v for n, v in dict(case.headers or {}).items() if isinstance(v, str) and v.isascii()}
        if api.secret:
            headers["Authorization"] = f"Bearer {api.secret}"
        answer = api.send(method, url, raw, kind=kind, query=query, headers=headers)
        assert answer.status < 500, answer.content

    ask()
    assert audit() == []


def encodable(value: Any) -> bool:
    try:
        str(value).encode()
    except UnicodeEncodeError:
        return False
    return True
