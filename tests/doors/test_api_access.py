"""Who may call what: the matrix of route and role, from the URL resolver, and what a token must be."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from django.contrib.auth.models import User
from django.urls import URLPattern, get_resolver
from django.urls.resolvers import URLResolver

from graph.fields import from_micros
from leases.models import Role, Token
from leases.tokens import create_token
from tasksite.api.operations import Operation, operation_of
from tasksite.api.roles import Access
from tasksite.api.views.base import ApiView
from tests.builders import make_plan
from tests.doors.api import Answer, Api

NOBODY: Final = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

EXPECTED: Final = {
    Access.ANYONE: {"get_docs", "get_schema", "get_plan_file_schema"},
    Access.LEAD: {"abandon", "unblock", "reopen", "cancel", "waive", "unwaive", "import_plan"},
    Access.WORKER: {
        "claim_next", "claim_node", "heartbeat", "report", "reject", "release", "list_nodes", "get_node",
        "list_node_events", "list_events", "list_leases", "list_plans", "get_plan", "get_plan_graph", "get_status",
    },
}  # fmt: skip
"""As the contract has it; a new operation must be added here on purpose."""


def routes() -> list[tuple[str, str, Any]]:
    """Every (method, path, view class) below /api/v1/."""

    def walk(patterns: list[Any], prefix: str) -> Iterator[tuple[str, Any]]:
        for each in patterns:
            path = prefix + str(each.pattern)
            if isinstance(each, URLResolver):
                yield from walk(each.url_patterns, path)
            elif isinstance(each, URLPattern) and path.startswith("api/v1/"):
                yield path, each.callback

    found = []
    for path, callback in walk(get_resolver().url_patterns, ""):
        view = callback.view_class
        methods = [method.upper() for method in ("get", "post", "put", "patch", "delete") if hasattr(view, method)]
        for name in ("node_id", "edge_id", "plan_id"):
            path = path.replace(f"<str:{name}>", NOBODY)
        found += [(method, f"/{path}", view) for method in methods]
    return found


ROUTES: Final = routes()


def operation(view: Any, method: str) -> Operation:
    found = operation_of(view, method)
    assert found is not None, f"{method} of {view.__name__} declares nobody who may call it"
    return found


def test_every_route_declares_who_may_call_it() -> None:
    declared: dict[Access, set[str]] = {}
    for method, _, view in ROUTES:
        assert issubclass(view, ApiView)
        found = operation(view, method)
        declared.setdefault(found.access, set()).add(found.name)
    assert declared == EXPECTED


@pytest.mark.parametrize(("method", "path", "view"), ROUTES, ids=[f"{method} {path}" for method, path, _ in ROUTES])
def test_the_matrix(worker: Api, lead: Api, method: str, path: str, view: Any) -> None:
    access = operation(view, method).access
    nobody = Api()
    statuses = {
        "nobody": nobody.send(method, path).status,
        "worker": worker.send(method, path).status,
        "lead": lead.send(method, path).status,
    }
    refused = {who: status for who, status in statuses.items() if status in (401, 403)}
    assert (
        refused
        == {
            Access.ANYONE: {},
            Access.WORKER: {"nobody": 401},
            Access.LEAD: {"nobody": 401, "worker": 403},
        }[access]
    )


def test_a_route_without_a_declaration_is_closed(lead: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    from tasksite.api.views.state import Status

    def get(self: Status, request: Any) -> Any:
        raise AssertionError("it was let in")

    monkeypatch.setattr(Status, "get", get)
    answer = Answer(lead.client.get("/api/v1/status/", headers={"Authorization": f"Bearer {lead.secret}"}))
    assert (answer.status, answer.code) == (403, "forbidden")


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", "Bearer x", "Basic dTpw", "Token {}", "{}", "Bearer {}x", "Bearer {} {}", "Bearer é"],
)
def test_what_is_no_token(db: None, header: str) -> None:
    secret = create_token(name="w", role=Role.WORKER)[1]
    answer = Api().get("status/", headers={"Authorization": header.format(secret, secret)})
    assert (answer.status, answer.code) == (401, "unauthenticated")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer ")


def test_the_scheme_is_read_in_any_case(db: None) -> None:
    secret = create_token(name="w", role=Role.WORKER)[1]
    assert Api().get("status/", headers={"Authorization": f"bEARER {secret}"}).status == 200


def test_expired_and_revoked_tokens_are_refused(worker: Api) -> None:
    assert worker.get("status/").status == 200
    Token.objects.update(expires_at=from_micros(1))
    assert worker.get("status/").code == "unauthenticated"
    Token.objects.update(expires_at=None, revoked_at=from_micros(1))
    assert worker.get("status/").code == "unauthenticated"


def test_a_session_is_no_token(db: None) -> None:
    """No cookie opens the API, so that no other site can make a browser call it."""
    nobody = Api()
    nobody.client.force_login(User.objects.create_superuser("root"))
    assert nobody.get("status/").code == "unauthenticated"
    assert nobody.post("claims/").code == "unauthenticated"


def test_authentication_is_one_statement(worker: Api, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        assert worker.get("status/", wrong="query").status == 400


def test_the_secret_is_in_no_answer_and_no_table(worker: Api, lead: Api) -> None:
    ids = make_plan({"one": {}})
    worker.post("claims/")
    assert worker.secret and lead.secret
    for path in ("status/", "leases/", "events/", f"nodes/{ids['one']}/", "plans/", "nodes/"):
        content = lead.get(path).content.decode()
        assert worker.secret not in content and lead.secret not in content
    for token in Token.objects.all():
        assert worker.secret not in str(vars(token))
