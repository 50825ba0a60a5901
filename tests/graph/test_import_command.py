"""`manage.py import_plan` and `export_plan`: exit codes, what they print and where."""

import json
import re
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from graph.models import Event, Plan
from leases.management.commands.import_plan import Bars
from tests.graph.bad_plans import MEANING
from tests.graph.planning import document, everything, load, states, take

pytestmark = pytest.mark.django_db


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def run(name: str, *args: Any) -> tuple[int, str, str]:
    """Exit code, standard output, standard error."""
    out, err = StringIO(), StringIO()
    code = 0
    try:
        call_command(name, *args, stdout=out, stderr=err)
    except SystemExit as exit_:
        code = int(exit_.code or 0)
    except CommandError as error:
        code = error.returncode
        err.write(str(error))
    return code, out.getvalue(), err.getvalue()


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.yaml"
    path.write_text(document("{key: a, needs: [b]}", "{key: b, tasks: [{key: t}]}"))
    return path


def test_a_plan_is_imported_and_summed_up(plan: Path) -> None:
    assert run("import_plan", plan) == (0, "p created: added 3, edges added 1.\n1 became ready.\n", "")
    assert states() == {"a": "pending", "b": "ready", "b/t": "ready"}
    assert run("import_plan", plan) == (0, "p unchanged.\n", "")


def test_who_imports_is_the_user_of_the_shell(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "ada")
    run("import_plan", plan)
    assert {*Event.objects.values_list("actor", flat=True)} == {"ada"}


def test_a_dry_run_prints_each_difference_and_writes_nothing(plan: Path) -> None:
    code, out, _ = run("import_plan", plan, "--dry-run")
    assert (code, out.splitlines()) == (
        0,
        [
            "+ a",
            "+ b",
            "+ b/t",
            "+ a needs b",
            "p would be created: added 3, edges added 1.",
            "1 would become ready.",
            "Dry run: nothing was written.",
        ],
    )
    assert not Plan.objects.exists()


def test_a_re_import_prints_each_difference(plan: Path) -> None:
    run("import_plan", plan)
    plan.write_text(document("{key: a, title: A}", "{key: b, tasks: [{key: u}]}", "{key: c}"))
    code, out, _ = run("import_plan", plan, "--prune")
    assert (code, out.splitlines()) == (
        0,
        [
            "+ b/u",
            "+ c",
            "~ a: title",
            "- a needs b",
            "x b/t: pruned",
            "p updated: added 2, changed 1, pruned 1, edges removed 1.",
            "3 became ready.",
        ],
    )


def test_the_answer_as_json(plan: Path) -> None:
    code, out, err = run("import_plan", plan, "--json")
    answer = json.loads(out)
    assert (code, err, answer["created"], answer["added"]) == (0, "", True, ["a", "b", "b/t"])


@pytest.mark.parametrize("name", MEANING)
def test_faults_go_to_standard_error_one_a_line(name: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_bytes(MEANING[name].data)
    code, out, err = run("import_plan", path)
    assert (code, out) == (1, "")
    assert [re.findall(r"\[(\w+)\]$", line)[0] for line in err.splitlines()] == [
        code for code, _, _ in MEANING[name].faults
    ]
    for line, (_, where, number) in zip(err.splitlines(), MEANING[name].faults, strict=True):
        assert line.startswith(f"line {number}, {where}: ")


def test_faults_as_json(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(document("{key: a, needs: [bb]}", "{key: b}"))
    code, out, err = run("import_plan", path, "--json")
    answer = json.loads(err)
    assert (code, out, answer["code"]) == (1, "", "plan_invalid")
    assert answer["faults"] == [
        {
            "code": "unknown_key",
            "path": "objectives[0].needs[0]",
            "line": 3,
            "message": "There is no node 'bb'.",
            "nearest": "b",
        }
    ]


def test_a_conflict_is_refused_with_the_nodes(plan: Path) -> None:
    run("import_plan", plan)
    take("b/t")
    plan.write_text(document("{key: a}"))
    before = everything()
    assert run("import_plan", plan, "--prune") == (
        1,
        "",
        "b would be pruned and has work going on below it [plan_conflict]\n"
        "b/t would be pruned and is being worked on [plan_conflict]\n",
    )
    code, _, err = run("import_plan", plan, "--prune", "--json")
    assert (code, [node["full_key"] for node in json.loads(err)["nodes"]]) == (1, ["b", "b/t"])
    assert everything() == before


def test_warnings_go_to_standard_error(plan: Path) -> None:
    plan.write_text(document("{key: a, needs: [b, b]}", "{key: b}"))
    code, _, err = run("import_plan", plan)
    assert (code, err) == (
        0, "warning: line 3, objectives[0].needs[1]: 'b' is needed already: one edge is made. [repeated_edge]\n"
    )  # fmt: skip


def test_json_is_told_by_the_files_name(tmp_path: Path) -> None:
    path = tmp_path / "PLAN.JSON"
    path.write_text('{"plan": "p", "objectives": [{"key": "a", "title": "\\ud83d\\ude00"}]}')
    assert run("import_plan", path)[0] == 0


@pytest.mark.parametrize("text", [document("{key: a}"), '{"plan": "p", "objectives": [{"key": "a"}]}'])
def test_a_dash_reads_standard_input(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(text.encode())))
    assert run("import_plan", "-")[0] == 0
    assert states() == {"a": "ready"}


def test_a_file_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    code, out, err = run("import_plan", tmp_path / "none.yaml")
    assert (code, out, err) == (2, "", f"{tmp_path}/none.yaml: No such file or directory")


def test_on_a_terminal_bars_show_how_far_a_long_import_is(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(Bars, "DELAY_S", 0)
    assert run("import_plan", plan)[0] == 0
    for part in ("lines read", "nodes", "edges", "events"):
        assert f"{part}:" in terminal.getvalue()


def test_export_prints_a_file_that_imports_as_it_stands(tmp_path: Path) -> None:
    load("{key: a, title: Ä 😀, needs: [b]}", "{key: b, tasks: [{key: t}]}")
    code, out, err = run("export_plan", "p")
    assert (code, err) == (0, "")
    path = tmp_path / "plan.yaml"
    path.write_text(out)
    assert run("import_plan", path) == (0, "p unchanged.\n", "")


def test_export_warns_on_standard_error(tmp_path: Path) -> None:
    load("{key: a, needs: [b]}", "{key: b}", "{key: c}")
    path = tmp_path / "plan.yaml"
    path.write_text(document("{key: c}"))
    run("import_plan", path, "--prune")
    load("{key: a}", "{key: c, needs: [a]}")
    run("import_plan", path, "--prune")
    code, out, err = run("export_plan", "p")
    assert (code, out, err) == (0, "plan: p\nobjectives:\n- key: c\n  title: c\n", "")


def test_export_of_a_plan_that_is_not_there() -> None:
    assert run("export_plan", "nothing") == (1, "", "There is no plan 'nothing'.")
