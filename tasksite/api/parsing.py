"""Reading requests: bodies and queries, each fault named at its field, and nothing that is unknown let through."""

import json
from collections.abc import Mapping
from typing import Any, Final, Self

from django.http import HttpRequest
from rest_framework.request import Request

from graph.errors import Invalid
from tasksite.api.errors import LengthRequired, TooLarge, UnsupportedMediaType
from tasksite.api.fields import Field, Wrong, clean

BODY_LIMIT: Final = 1024 * 1024
"""Bytes of a JSON body; a plan has a limit of its own."""

SERVER_OWNED: Final = {
    "actor", "at", "attempt", "created_at", "expires_at", "expires_in_s", "full_key", "generation", "id",
    "key", "kind", "leaf", "node", "objective", "parent", "plan", "position", "role", "run", "seq", "state",
    "subject", "title", "token",
}  # fmt: skip
"""Names that answers carry and no request may set."""


class Fields:
    """The fields of a body or the parameters of a query."""

    def __init__(self, **fields: Field) -> None:
        self.fields = fields

    def __or__(self, more: "Fields") -> Self:
        return type(self)(**self.fields, **more.fields)

    def _checked(self, given: Mapping[str, Any], unknown: str) -> tuple[dict[str, Any], dict[str, list[str]]]:
        errors: dict[str, list[str]] = {}
        values: dict[str, Any] = {}
        for name, field in self.fields.items():
            value = given.get(name)
            try:
                if value is not None:
                    values[name] = field.check(value)
                elif field.required:
                    raise Wrong("must be given")
            except Wrong as wrong:
                errors[name] = [str(wrong)]
        for name in (name for name in given if name not in self.fields):
            errors[shown(name)] = ["is set by the server alone" if name in SERVER_OWNED else unknown]
        return values, errors


class Body(Fields):
    """A JSON object. A field that is null is as good as absent."""

    def read(self, request: Request) -> dict[str, Any]:
        """The values that were given. Raises Invalid, UnsupportedMediaType, TooLarge, LengthRequired."""
        values, errors = self._checked(read_json(request), "is no field of this request")
        if errors:
            raise Invalid(errors)
        return values

    def schema(self) -> dict[str, Any]:
        properties = {
            name: dict(field.schema) if field.required else _or_null(field.schema)
            for name, field in self.fields.items()
        }
        schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
        required = [name for name, field in self.fields.items() if field.required]
        return schema | {"required": required} if required else schema


class Query(Fields):
    """The parameters behind the question mark, each at most once."""

    def read(self, request: Request) -> dict[str, Any]:
        """The values that were given. Raises Invalid."""
        given = request.query_params
        if not given and not any(field.required for field in self.fields.values()):
            return {}
        values, errors = self._checked(given, "is no parameter of this URL")
        for name, several in given.lists():
            if len(several) > 1:
                errors[shown(name)] = ["must be given once"]
        if errors:
            raise Invalid(errors)
        return values


NO_QUERY: Final = Query()
NO_BODY: Final = Body()


def shown(name: Any) -> str:
    """A name that a client made up, fit to be quoted."""
    quoted = "".join(char if char.isprintable() else "?" for char in str(name))
    return quoted[:100] or "?"


def media_type(request: Request) -> str:
    kind: str = request.META.get("CONTENT_TYPE", "")
    return kind.partition(";")[0].strip().lower()


def announced(request: Request) -> int:
    """How many bytes the body has, as the client says. Raises LengthRequired, UnsupportedMediaType."""
    if request.META.get("HTTP_CONTENT_ENCODING", "identity").lower() not in ("", "identity"):
        raise UnsupportedMediaType("The body is taken as it is: no Content-Encoding.")
    length = request.META.get("CONTENT_LENGTH") or ""
    if not length and request.META.get("HTTP_TRANSFER_ENCODING"):
        raise LengthRequired()
    return int(length) if length.isdecimal() else 0


def raw_body(request: Request) -> bytes:
    """The body, once its length is known to be allowed. Raises TooLarge, and Invalid where it ends too early."""
    length = announced(request)
    if length > BODY_LIMIT:
        raise TooLarge(f"A body has at most {BODY_LIMIT} bytes here.")
    underlying: HttpRequest = request._request
    return whole_body(underlying.body, length)


def whole_body(body: bytes, length: int) -> bytes:
    """The body, if it is as long as it should be: half a file may be a good file, and mean something else."""
    if len(body) < length:
        raise Invalid({"body": ["ended before its length"]})
    return body


def read_json(request: Request) -> dict[str, Any]:
    """The JSON object in the body; no body is an empty one."""
    raw = raw_body(request)
    if not raw:
        return {}
    if media_type(request) != "application/json":
        raise UnsupportedMediaType("The body must be application/json.")
    try:
        value = _DECODER.decode(raw.decode())
    except Wrong as wrong:
        raise Invalid({"body": [str(wrong)]}) from None
    except UnicodeDecodeError:
        raise Invalid({"body": ["must be UTF-8"]}) from None
    except RecursionError:
        raise Invalid({"body": ["is nested too deeply"]}) from None
    except json.JSONDecodeError as error:
        raise Invalid({"body": [f"is not JSON: {error}"]}) from None
    except ValueError:
        raise Invalid({"body": ["has a number that is too long"]}) from None
    if not isinstance(value, dict):
        raise Invalid({"body": ["must be a JSON object"]})
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Wrong("names a field twice")
    return found


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise Wrong("has a number that is too large")
    return number


def _constant(name: str) -> Any:
    raise Wrong(f"has {name}, which is not JSON")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_constant=_constant)


def _or_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema (OpenAPI 3.1 spelling) of the same field where null is as good as absent."""
    if "type" not in schema:
        return dict(schema)
    nullable = {**schema, "type": [schema["type"], "null"]}
    if "enum" in schema:
        nullable["enum"] = [*schema["enum"], None]
    return nullable


def idempotency_key(request: Request) -> str | None:
    """The header's value, or None where it is not given. Raises Invalid."""
    key: str | None = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if key is None:
        return None
    if not 1 <= len(key) <= 255 or not key.isascii() or not key.isprintable() or "," in key:
        # Two headers arrive as one with a comma between, and would be a third key.
        raise Invalid({"Idempotency-Key": ["must be given once: 1 to 255 printable ASCII characters, no comma"]})
    return clean(key)
