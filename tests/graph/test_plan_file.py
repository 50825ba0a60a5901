"""A plan file becomes a frozen plan, or every fault it has."""

import json
import subprocess
import sys
from typing import Any

import pytest

from graph.errors import PlanInvalid
from graph.plan_faults import MOST, MOST_COUNTED, Fault
from graph.plan_file import CONTENT_TYPES, Format, guess_format, read_plan
from graph.plan_types import Clone, Limits, PlanFile
from graph.progress import Progress
from tests.graph.bad_plans import CORPUS, EXACT, HEAVY, LOCAL_ROOTS, MIB
from tests.graph.limited import ORDINARY

TIMES = 5
"""What the heaviest of the corpus may take, in what an ordinary plan of its size does; about 2 was measured."""


def read(text: str | bytes, form: Format = Format.YAML, **limits: Any) -> PlanFile:
    data = text.encode() if isinstance(text, str) else text
    return read_plan(data, form, Limits(local_roots=LOCAL_ROOTS, **limits))


def faults_of(text: str | bytes, form: Format = Format.YAML, **limits: Any) -> list[Fault]:
    with pytest.raises(PlanInvalid) as raised:
        read(text, form, **limits)
    return [Fault(**fault) for fault in raised.value.fields["faults"]]


def needs(plan: PlanFile) -> list[tuple[str, str]]:
    return [(edge.dependent, edge.dependency) for edge in plan.edges]


EXAMPLE = """
plan: checkout-rewrite            # name: importing it again updates this plan
objectives:
  - key: db
    title: Database
  - key: web
    title: Web
    tasks: [{key: mock, title: Mock}]
  - key: api
    title: Payment API
    clone: {repo: "https://example.org/pay.git", ref: main}
    needs: [{on: db, waived: "why"}]
    tasks:
      - key: schema
        title: Design the schema
        body: Markdown for the worker
      - key: endpoints
        title: Write the endpoints
        needs: [schema, web/mock]  # a bare key: a task of this objective, else an objective
        tasks: []                 # subtasks, any depth
"""


def test_the_example_of_the_contract() -> None:
    plan = read(EXAMPLE)
    assert plan.name == "checkout-rewrite"
    assert [(node.full_key, node.parent) for node in plan.nodes] == [
        ("db", None),
        ("web", None),
        ("web/mock", "web"),
        ("api", None),
        ("api/schema", "api"),
        ("api/endpoints", "api"),
    ]
    api = plan.nodes[3]
    assert (api.title, api.clone, api.path, api.line) == (
        "Payment API", Clone("https://example.org/pay.git", "main"), "objectives[2]", 9
    )  # fmt: skip
    assert plan.nodes[4].body == "Markdown for the worker"
    assert [(edge.dependent, edge.dependency, edge.waived) for edge in plan.edges] == [
        ("api", "db", "why"),
        ("api/endpoints", "api/schema", None),
        ("api/endpoints", "web/mock", None),
    ]
    assert plan.warnings == ()


def test_json_gives_the_same_plan_as_yaml() -> None:
    document: dict[str, Any] = {
        "plan": "p",
        "objectives": [
            {"key": "a", "title": "Ä 😀\n\t", "tasks": [{"key": "t", "needs": ["b", {"on": "u", "waived": "w"}]}]},
            {"key": "b", "body": '/ \\ " \u00a0', "clone": {"repo": "git@example.org:x.git"}},
        ],
    }
    document["objectives"][0]["tasks"].append({"key": "u"})
    text = json.dumps(document)
    assert "\\ud83d\\ude00" in text  # as two halves, which YAML would refuse
    assert read(text, Format.JSON) == read(json.dumps(document, ensure_ascii=False))


# The corpus


@pytest.fixture(scope="module")
def limited() -> dict[str, dict[str, Any]]:
    """What each bad plan was answered with, in a child of its own."""
    done = subprocess.run([sys.executable, "-m", "tests.graph.limited"], capture_output=True, check=True)
    answers: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return answers


@pytest.mark.parametrize("name", EXACT)
def test_a_bad_plan_gives_exactly_these_faults(name: str, limited: dict[str, dict[str, Any]]) -> None:
    found = [(fault["code"], fault["path"], fault["line"]) for fault in limited[name]["faults"]]
    assert found == EXACT[name].faults


@pytest.mark.parametrize("name", HEAVY)
def test_a_heavy_plan_is_refused(name: str, limited: dict[str, dict[str, Any]]) -> None:
    assert limited[name]["faults"]
    assert len(limited[name]["faults"]) <= MOST + 1


@pytest.mark.parametrize("name", CORPUS)
def test_a_small_file_costs_a_few_times_an_ordinary_one_and_less_than_200_megabytes(
    name: str, limited: dict[str, dict[str, Any]]
) -> None:
    assert len(CORPUS[name].data) <= MIB
    assert limited[name]["signal"] == 0, "it was ended"
    assert limited[name]["seconds"] < TIMES * limited[ORDINARY]["seconds"]
    assert limited[name]["megabytes"] < 200


def test_an_ordinary_plan_has_no_fault(limited: dict[str, dict[str, Any]]) -> None:
    assert limited[ORDINARY]["faults"] == []


@pytest.mark.parametrize("name", EXACT)
def test_a_fault_is_one_printable_line(name: str, limited: dict[str, dict[str, Any]]) -> None:
    for fault in limited[name]["faults"]:
        assert str(Fault(**fault)).isprintable()


# References


def test_a_bare_key_is_a_task_of_this_objective_before_it_is_an_objective() -> None:
    plan = read("plan: p\nobjectives: [{key: x}, {key: a, tasks: [{key: x}, {key: t, needs: [x]}]}]")
    assert needs(plan) == [("a/t", "a/x")]


def test_a_bare_key_never_means_the_node_itself() -> None:
    plan = read("plan: p\nobjectives: [{key: x}, {key: a, tasks: [{key: x, needs: [x]}]}]")
    assert needs(plan) == [("a/x", "x")]


def test_in_an_objectives_own_needs_a_bare_key_is_an_objective() -> None:
    plan = read("plan: p\nobjectives: [{key: x}, {key: a, needs: [x], tasks: [{key: y}]}, {key: b, needs: [a/y]}]")
    assert needs(plan) == [("a", "x"), ("b", "a/y")]


def test_a_subtask_is_named_by_its_objective_at_any_depth() -> None:
    plan = read("plan: p\nobjectives: [{key: a, tasks: [{key: t, tasks: [{key: u}]}]}, {key: b, needs: [a/u]}]")
    assert needs(plan) == [("b", "a/u")]


def test_the_same_edge_twice_is_one_edge_and_a_warning() -> None:
    plan = read("plan: p\nobjectives:\n- key: a\n  needs:\n  - {on: b, waived: why}\n  - b\n- key: b")
    assert [(edge.dependency, edge.waived) for edge in plan.edges] == [("b", "why")]
    assert [(warning.code, warning.path, warning.line) for warning in plan.warnings] == [
        ("repeated_edge", "objectives[0].needs[1]", 6)
    ]


@pytest.mark.parametrize(
    ("reference", "meant"),
    [
        ("SCHEMA", "api/schema"),
        ("schem", "schema"),
        ("mock", "web/mock"),
        ("web/mok", "web/mock"),
        ("Web/Mock", "web/mock"),
        ("wb", "web"),
        ("nothing-like-it", None),
    ],
)
def test_an_unknown_key_comes_with_the_nearest(reference: str, meant: str | None) -> None:
    text = EXAMPLE.replace("[schema, web/mock]", f"[{reference}]")
    assert [(fault.code, fault.nearest) for fault in faults_of(text)] == [("unknown_key", meant)]


def test_an_unknown_field_comes_with_the_nearest() -> None:
    [fault] = faults_of("plan: p\nobjectives: [{key: a, titel: x}]")
    assert (fault.code, fault.nearest) == ("unknown_field", "title")


def test_a_cycle_is_named_whole_and_in_order() -> None:
    [fault] = faults_of("plan: p\nobjectives: [{key: a, needs: [b/t]}, {key: b, needs: [c], tasks: [{key: t}]}, {key: c, needs: [a]}]")  # fmt: skip  # noqa: E501
    assert fault.message == "A cycle: a needs b/t, which is in b, which needs c, which needs a."


# Texts


def test_text_is_stored_as_nfc_and_measured_so() -> None:
    decomposed = "e\u0301" * 500
    plan = read(f"plan: e\u0301\nobjectives: [{{key: a, title: {decomposed}, body: e\u0301}}]")
    assert (plan.name, plan.nodes[0].title, plan.nodes[0].body) == ("é", "é" * 500, "é")


def test_tab_newline_and_any_other_character_are_text() -> None:
    text = "\t\n\u00a0\u200b\u2028\ufeff\ufffd\U0010ffff \U0001d518"
    plan = read(json.dumps({"plan": "p", "objectives": [{"key": "a", "title": "x", "body": text}]}), Format.JSON)
    assert plan.nodes[0].body == text


def test_a_title_left_out_is_the_key_and_an_empty_field_is_as_if_left_out() -> None:
    plan = read("plan: p\nobjectives:\n- key: a\n  title:\n  body:\n  needs:\n  tasks: null\n  clone: ~\n- key: b")
    assert [(n.title, n.body, n.clone) for n in plan.nodes] == [("a", "", None), ("b", "", None)]


def test_a_field_named_on_is_no_boolean_and_quotes_make_any_key_a_text() -> None:
    plan = read("plan: p\nobjectives: [{key: '1.10'}, {key: 'no', needs: [{on: '1.10'}]}, {key: 1e3}]")
    assert [node.key for node in plan.nodes] == ["1.10", "no", "1e3"]
    assert needs(plan) == [("no", "1.10")]


@pytest.mark.parametrize(
    "repo",
    [
        "https://example.org/pay.git",
        "https://example.org:8443/~me/pay",
        "https://[2001:db8::1]/pay",
        "ssh://git@example.org/pay.git",
        "ssh://example.org:2222/pay.git",
        "git@example.org:team/pay.git",
        "/srv/repos",
        "/srv/repos/pay",
        "/srv/repos/pay/",
    ],
)
def test_a_repo_is_https_ssh_or_an_allowed_path(repo: str) -> None:
    plan = read(f"plan: p\nobjectives: [{{key: a, clone: {{repo: '{repo}', ref: feature/x-1.2_ä}}}}]")
    assert plan.nodes[0].clone == Clone(repo, "feature/x-1.2_ä")


def test_no_local_path_is_allowed_where_the_operator_named_none() -> None:
    with pytest.raises(PlanInvalid):
        read_plan(b"plan: p\nobjectives: [{key: a, clone: {repo: /srv/repos}}]", Format.YAML, Limits())


@pytest.mark.parametrize("before", ["è", "é", "Å", "…", "\u2029x"])
def test_text_that_looks_like_a_directive_is_text(before: str) -> None:
    assert read(f"plan: p\nobjectives: [{{key: a, title: '{before}%TAG'}}]").nodes[0].title == f"{before}%TAG"


# Limits and formats


@pytest.mark.parametrize(
    ("limits", "where"),
    [
        ({"nodes": 5}, "objectives[2].tasks[1]"),
        ({"edges": 2}, "objectives[2].tasks[1].needs[1]"),
        ({"bytes": 100}, ""),
        ({"title": 10}, "objectives[2].title"),
        ({"body": 22}, "objectives[2].tasks[0].body"),
        ({"reason": 2}, "objectives[2].needs[0].waived"),
        ({"depth": 1}, "objectives[1].tasks[0]"),
    ],
)
def test_a_limit_is_named_where_it_is_passed(limits: dict[str, Any], where: str) -> None:
    found = faults_of(EXAMPLE, **limits)
    assert ("over_limit", where) in [(fault.code, fault.path) for fault in found]


def test_a_plan_as_large_as_the_limits_is_taken() -> None:
    limits: dict[str, Any] = {
        "nodes": 6,
        "edges": 3,
        "bytes": len(EXAMPLE),
        "title": 19,
        "body": 23,
        "reason": 3,
        "depth": 2,
    }
    assert len(read(EXAMPLE, **limits).nodes) == 6


def test_faults_beyond_the_most_that_an_answer_lists_are_counted() -> None:
    found = faults_of("plan: p\nobjectives: [" + "a," * (MOST + 7) + "]")
    assert len(found) == MOST + 1
    assert (found[-1].code, found[-1].message) == ("more_faults", "7 more faults are not listed.")


def test_reading_stops_where_more_faults_say_nothing_new() -> None:
    found = faults_of("plan: p\nobjectives: [" + "a," * (MOST_COUNTED + 7) + "]")
    assert found[-1].message == f"{MOST_COUNTED - MOST} more faults are not listed; there reading stopped."


@pytest.mark.parametrize("form", Format)
def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(form: Format) -> None:
    text = '{"plan": "p",\n"objectives":\n[{"key": "a", "title": 5}]}'.replace("\n", "\r\n")
    [fault] = faults_of(b"\xef\xbb\xbf" + text.encode(), form)
    assert (fault.code, fault.line) == ("wrong_type", 3)


def test_a_block_of_windows_lines_is_stored_with_newlines() -> None:
    plan = read("plan: p\r\nobjectives:\r\n- key: a\r\n  body: |\r\n    x\r\n    y\r\n")
    assert plan.nodes[0].body == "x\ny\n"


@pytest.mark.parametrize(
    ("data", "form"),
    [
        (b'{"plan": 1}', Format.JSON),
        (b'\xef\xbb\xbf\r\n {\n"plan"', Format.JSON),
        (b"{}", Format.JSON),
        (b"{plan: p}", Format.YAML),
        (b"plan: p", Format.YAML),
        (b"", Format.YAML),
    ],
)
def test_a_file_without_a_name_is_told_by_its_start(data: bytes, form: Format) -> None:
    assert guess_format(data) is form


def test_every_format_has_a_content_type() -> None:
    assert {*CONTENT_TYPES.values()} == {*Format}


def test_progress_sees_every_line() -> None:
    seen: list[int] = []

    class Watch(Progress):
        def over(self, rows: Any, what: str, total: int, place: Any = None) -> Any:
            for row in rows:
                seen.append(place(row))
                assert place(row) <= total + 1
                yield row

    read_plan(EXAMPLE.encode(), Format.YAML, Limits(), Watch())
    assert seen == sorted(seen)
    assert seen[-1] == EXAMPLE.count("\n") + 1
