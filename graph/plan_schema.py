"""The plan file's JSON Schema, for editors and other programs. A test holds it and the reader together.

It says what shape a file has. What it cannot say, the reader checks alone: unique keys, references, cycles,
depth, limits on the whole, lengths after normalization, refs, and which local paths the operator allowed.
"""

from typing import Any, Final

from graph.plan_reader import CLONE, KEY, NAME_LENGTH, NEED, OBJECTIVE, PLAN, REF_LENGTH, REPO_LENGTH, TASK
from graph.plan_shapes import Shape
from graph.plan_types import Limits

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_END: Final = r"(?![\s\S])"
"""The end of the text. A dollar is that in some dialects; in others a newline may follow it."""

_TEXT: Final = rf"^[^\u0000-\u0008\u000b-\u001f\u007f-\u009f]*{_END}"
_SOME_TEXT: Final = rf"^(?=[\s\S]*\S)[^\u0000-\u0008\u000b-\u001f\u007f-\u009f]*{_END}"
_NAME: Final = rf"^(?!\s)[^\u0000-\u001f\u007f-\u009f]+(?<!\s){_END}"
_REPO: Final = r"^(https://|ssh://|/|[A-Za-z0-9_][A-Za-z0-9._-]*@)"


def plan_schema(limits: Limits) -> dict[str, Any]:
    """The schema of a file held to these limits."""
    reference = {"type": "string", "description": "A task of this objective, else an objective; or objective/task."}
    fields: dict[str, Any] = {
        "plan": _text(_NAME, NAME_LENGTH, "Name of the plan: importing it again updates this plan."),
        "objectives": {"type": "array", "items": {"$ref": "#/$defs/objective"}, "minItems": 1},
        "key": {"type": "string", "pattern": f"^{KEY}{_END}", "description": "Unique in its objective, case aside."},
        "title": _or_empty(_text(_SOME_TEXT, limits.title, "The key, where it is left out.")),
        "body": _or_empty(_text(_TEXT, limits.body, "Markdown for the worker.")),
        "needs": _or_empty({"type": "array", "items": {"anyOf": [reference, {"$ref": "#/$defs/need"}]}}),
        "tasks": _or_empty({"type": "array", "items": {"$ref": "#/$defs/task"}}),
        "clone": _or_empty({"$ref": "#/$defs/clone"}),
        "repo": _text(_REPO, REPO_LENGTH, "https, ssh, or a local path that the operator allowed."),
        "ref": _or_empty(_text(_TEXT, REF_LENGTH, "Branch, tag or commit; what HEAD names, where it is left out.")),
        "on": reference,
        "waived": _or_empty(_text(_SOME_TEXT, limits.reason, "Why the edge does not count from the start.")),
    }
    defs = {"objective": OBJECTIVE, "task": TASK, "need": NEED, "clone": CLONE}
    return {
        "$schema": DIALECT,
        "title": "Plan",
        **_mapping(PLAN, fields, required=("plan", "objectives")),
        "$defs": {name: _mapping(shape, fields) for name, shape in defs.items()},
    }


def _mapping(shape: Shape, fields: dict[str, Any], required: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {field: fields[field] for field in shape.fields},
        "required": list(required or shape.required),
        "additionalProperties": False,
    }


def _text(pattern: str, longest: int, description: str) -> dict[str, Any]:
    return {"type": "string", "pattern": pattern, "maxLength": longest, "description": description}


def _or_empty(schema: dict[str, Any]) -> dict[str, Any]:
    """A field that may be left out may also be left empty."""
    return {"anyOf": [schema, {"type": "null"}]}
