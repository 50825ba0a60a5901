"""The whole document: what drf-spectacular collects from the views, with our components and the token."""

import threading
from functools import cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator

from graph.importing import configured_limits
from graph.plan_schema import plan_schema
from tasksite.api.schema.components import COMPONENTS, ref

INTRODUCTION = """\
A task graph that workers drain, one lane at a time. Workers claim what is ready, keep their lease with heartbeats and
settle it; leads import plans and act on what went wrong.

Every request carries `Authorization: Bearer <token>`. Any POST may carry an `Idempotency-Key`. Refusals are
`application/problem+json`, and a program goes by their `code`."""


_making = threading.Lock()
"""drf-spectacular cannot make two documents at once."""


def openapi() -> dict[str, Any]:
    """The document; the same for everybody, so it is made once."""
    with _making:
        return made()


@cache
def made() -> dict[str, Any]:
    """It itself: `openapi` lets in one at a time."""
    found: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return found


def complete(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """A hook of drf-spectacular: adds what no view says."""
    components = result.setdefault("components", {})
    components["schemas"] = {**components.get("schemas", {}), **COMPONENTS, **plan_file()}
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for operations in result["paths"].values():
        for operation in operations.values():
            if "requestBody" in operation:
                operation["requestBody"]["required"] = _is_required(operation["requestBody"])
    result["info"]["description"] = INTRODUCTION
    return result


def _is_required(body: dict[str, Any]) -> bool:
    schemas = [content["schema"] for content in body["content"].values()]
    return any("required" in schema or "$ref" in schema for schema in schemas)


def plan_file() -> dict[str, Any]:
    """The JSON Schema of plan files as components: PlanFile, and one for each definition in it."""
    schema = _moved(plan_schema(configured_limits()))
    definitions = schema.pop("$defs")
    schema.pop("$schema")
    return {"PlanFile": schema, **{_name(name): definition for name, definition in definitions.items()}}


def _name(definition: str) -> str:
    return f"PlanFile{definition.capitalize()}"


def _moved(value: Any) -> Any:
    """The same schema, its references turned to where the definitions stand in the document."""
    if isinstance(value, list):
        return [_moved(each) for each in value]
    if not isinstance(value, dict):
        return value
    target = value.get("$ref", "")
    if target.startswith("#/$defs/"):
        return {**value, **ref(_name(target.rpartition("/")[2]))}
    return {name: _moved(each) for name, each in value.items()}
