"""The published JSON Schema and the reader agree on what shape a plan file has."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from graph.errors import PlanInvalid
from graph.plan_file import Format, read_plan
from graph.plan_schema import DIALECT, plan_schema
from graph.plan_types import Limits
from tests.graph.bad_plans import LOCAL_ROOTS, SHAPE

LIMITS = Limits(local_roots=LOCAL_ROOTS)
SCHEMA = plan_schema(LIMITS)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

OF_SHAPE = {
    "wrong_type", "unknown_field", "missing_field", "blank", "bad_key", "bad_name", "key_not_text",
    "control_character", "over_limit", "empty_plan",
}  # fmt: skip
"""Faults that the schema knows, too. The others are about what keys mean, and about repos and refs: of these it
knows some, and never refuses a good one."""


def codes(document: Any) -> set[str]:
    try:
        read_plan(json.dumps(document).encode(), Format.JSON, LIMITS)
    except PlanInvalid as refusal:
        return {fault["code"] for fault in refusal.fields["faults"]}
    return set()


def agree(document: Any) -> None:
    found = codes(document)
    if found & OF_SHAPE:
        assert not VALIDATOR.is_valid(document), (document, found)
    elif "bad_clone" not in found:
        assert VALIDATOR.is_valid(document), document


GOOD: dict[str, Any] = {
    "plan": "p",
    "objectives": [
        {
            "key": "a",
            "title": "A",
            "body": "x",
            "clone": {"repo": "https://example.org/x", "ref": "main"},
            "needs": ["b", {"on": "c", "waived": "why"}, {"on": "b/t"}],
            "tasks": [{"key": "t", "title": "T", "body": "", "needs": ["u"], "tasks": []}, {"key": "u"}],
        },
        {"key": "b", "tasks": [{"key": "t", "tasks": [{"key": "v"}]}]},
        {"key": "c", "title": None, "body": None, "clone": None, "needs": None, "tasks": None},
    ],
}


def test_the_schema_is_one_and_takes_a_good_plan() -> None:
    assert SCHEMA["$schema"] == DIALECT
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert codes(GOOD) == set()
    agree(GOOD)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key or index) inside a document."""
    if isinstance(value, dict | list):
        for place in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, place
            yield from places(value[place])


PLACES = len([*places(GOOD)])

ODD: list[Any] = [
    None, True, 0, 1.5, "", " ", "\t", "x", "a b", "é", "b", "x\u0000", "x\n", "x\u0085", "\u00a0x", "t" * 100,
    "t" * 101, "t" * 501, "t" * 100_001, [], [[]], [None], ["b"], {}, {"key": "z"}, {"on": "b"}, {"repo": "x"},
    {"on": "b", "waived": None}, {"on": "b", "waived": ""}, {"on": "b", "waived": 1}, {"waived": "x"}, [{"key": "z"}],
]  # fmt: skip


@pytest.mark.parametrize("number", range(PLACES))
def test_they_agree_when_any_value_is_replaced(number: int) -> None:
    for odd in ODD:
        document = copy.deepcopy(GOOD)
        container, place = [*places(document)][number]
        container[place] = odd
        agree(document)


@pytest.mark.parametrize("number", range(PLACES))
def test_they_agree_when_any_field_is_left_out_or_added(number: int) -> None:
    for extra in (None, "extra", "clone", "on", "tasks"):
        document = copy.deepcopy(GOOD)
        container, place = [*places(document)][number]
        if isinstance(container, dict):
            del container[place]
            if extra:
                container[extra] = None
        else:
            container.append(extra)
        agree(document)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["plan", "objectives", "key", "tasks", "needs", "on", "waived", "x"]), inner)))  # fmt: skip  # noqa: E501
def test_they_agree_on_documents_of_any_shape(document: Any) -> None:
    if document is not None:  # an empty file has a fault of its own, and no type
        agree(document)


def test_the_schema_refuses_what_the_corpus_has_of_shapes() -> None:
    for name, bad in SHAPE.items():
        assert not VALIDATOR.is_valid(yaml.safe_load(bad.data)), name
