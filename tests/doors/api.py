"""The API as its callers use it: over HTTP, with a token, every answer held against the schema."""

import json
from functools import cache
from typing import Any, Final

from django.test import Client
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from leases.models import Role
from leases.tokens import create_token
from tasksite.api.schema.document import openapi

BASE: Final = "/api/v1/"
DOCUMENT: Final = "urn:openapi"


class Answer:
    """One answer; `json` is its body, read."""

    def __init__(self, response: Any) -> None:
        self.response = response
        self.status: int = response.status_code
        self.headers = response.headers
        self.content: bytes = response.content
        kind = response.headers.get("Content-Type", "")
        self.json: Any = json.loads(self.content) if "json" in kind and self.content else None

    @property
    def code(self) -> str:
        """The code of a refusal, held against the rules for all of them."""
        assert self.headers["Content-Type"] == "application/problem+json", self.content
        assert self.json["status"] == self.status
        assert self.json["type"] == f"urn:tasksite:problem:{self.json['code']}"
        assert self.json["title"] and self.json["detail"]
        return str(self.json["code"])


class Api:
    """A caller with one token, or with none."""

    def __init__(self, secret: str | None = None) -> None:
        self.secret = secret
        self.client = Client(raise_request_exception=False)

    @classmethod
    def as_role(cls, role: Role, name: str | None = None) -> "Api":
        return cls(create_token(name=name or f"some {role}", role=role)[1])

    def get(self, path: str, **query: Any) -> Answer:
        headers = query.pop("headers", {})
        return self.send("GET", path, query=query, headers=headers)

    def post(self, path: str, body: Any = None, *, key: str | None = None, **query: Any) -> Answer:
        headers = {} if key is None else {"Idempotency-Key": key}
        raw = b"" if body is None else json.dumps(body).encode()
        return self.send("POST", path, raw, query=query, headers=headers)

    def send(
        self,
        method: str,
        path: str,
        raw: bytes = b"",
        *,
        kind: str = "application/json",
        query: Any = None,
        headers: dict[str, str] | None = None,
        environ: dict[str, Any] | None = None,
    ) -> Answer:
        given = dict(headers or {})
        if self.secret is not None:
            given.setdefault("Authorization", f"Bearer {self.secret}")
        url = path if path.startswith(("/", "http")) else BASE + path
        response = self.client.generic(
            method, url, raw, content_type=kind, query_params=query or None, headers=given, **(environ or {})
        )
        answer = Answer(response)
        check(method, url, answer)
        return answer


def check(method: str, url: str, answer: Answer) -> None:
    """The schema knows this status for this operation, and the body is as it says."""
    operation = described(method, url)
    if operation is None:
        return
    assert str(answer.status) in operation["responses"], f"{method} {url}: the schema has no {answer.status}"
    content = operation["responses"][str(answer.status)].get("content")
    if content is None or method == "HEAD":
        assert not answer.content
        return
    kind = answer.headers["Content-Type"]
    assert kind in content, f"{method} {url}: {kind}, not {', '.join(content)}"
    validate(answer.json, content[kind]["schema"])


def described(method: str, url: str) -> dict[str, Any] | None:
    """What the schema says of this operation; None where it has no such URL or method."""
    parts = url.partition("?")[0].split("/")
    for path, operations in openapi()["paths"].items():
        wanted = path.split("/")
        if len(wanted) == len(parts) and all(w == p or w.startswith("{") for w, p in zip(wanted, parts, strict=True)):
            found: dict[str, Any] | None = operations.get("get" if method == "HEAD" else method.lower())
            return found
    return None


def validate(value: Any, schema: dict[str, Any]) -> None:
    Draft202012Validator(_absolute(schema), registry=_registry()).validate(value)


def _absolute(value: Any) -> Any:
    if isinstance(value, list):
        return [_absolute(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: DOCUMENT + each if name == "$ref" and isinstance(each, str) else _absolute(each)
        for name, each in value.items()
    }


@cache
def _registry() -> Registry[Any]:
    registry: Registry[Any] = Registry()
    resource = DRAFT202012.create_resource(openapi())
    found: Registry[Any] = registry.with_resource(DOCUMENT, resource)
    return found
