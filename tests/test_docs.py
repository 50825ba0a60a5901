"""What the documents say is what the code does: settings, codes, events, calls, commands, paths, links."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Final

import pytest
from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand
from django.urls import URLPattern
from django.urls import resolve as resolve_url

from graph.errors import Refusal
from graph.events import TYPES
from graph.states import LEAF_MOVES, State
from leases import desk, verdict
from tasksite.api import urls
from tasksite.api.problems import STATUS
from tasksite.environment import Environment

ROOT: Final = Path(__file__).resolve().parent.parent
PAGES: Final = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "benchmarks/README.md"])
FENCE: Final = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
MANAGE: Final = re.compile(r"\bmanage(?:\.py)? ([a-z_]+)((?:[ ][^\n`|#]*)?)")


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def rows(text: str, columns: int) -> Iterator[list[str]]:
    """The rows of the tables with so many columns, without heads and rules."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if len(cells) == columns and set(cells[0]) != {"-"}:
            yield cells


def words(cell: str) -> list[str]:
    """What stands in backticks."""
    return re.findall(r"`([^`]+)`", cell)


def subclasses(kind: type[Refusal]) -> Iterator[type[Refusal]]:
    for each in kind.__subclasses__():
        yield from (each, *subclasses(each))


# Operating


def test_the_settings_table_is_what_the_environment_takes() -> None:
    part = page("docs/operating.md").partition("\n## Settings\n")[2].partition("\n## ")[0]
    told = [(words(cells[0])[0], cells[1].strip("`"), cells[2]) for cells in rows(part, 3) if words(cells[0])]
    taken = [(each.name, each.metadata["default"], each.metadata["meaning"]) for each in fields(Environment)]
    assert told == taken


def test_every_metric_is_told() -> None:
    told = {word for cells in rows(page("docs/operating.md"), 2) for word in words(cells[0]) if "tasksite_" in word}
    tree = ast.parse(page("tasksite/health.py"))
    counted = {"tasksite_info"} | {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("tasksite_")
    }
    assert told == counted


# The API


def test_every_refusal_is_told_with_its_status() -> None:
    told = {words(cells[0])[0]: int(cells[1]) for cells in rows(page("docs/api.md"), 4) if cells[1].isdigit()}
    assert told == {kind.code: status for kind, status in STATUS.items()}
    shipped = {
        kind.code for kind in subclasses(Refusal) if kind.__module__.split(".")[0] in ("graph", "leases", "tasksite")
    }
    assert told.keys() == shipped


def test_every_event_type_is_told() -> None:
    part = page("docs/api.md").partition("| type | when |")[2].partition("\n## ")[0]
    told = {word for cells in rows(part, 2) for word in words(cells[0])}
    assert told == TYPES


def test_every_call_is_told() -> None:
    told = set(re.findall(r"`(GET|POST) ([a-z{}/-]+/)`", page("docs/api.md")))
    there = set()
    for pattern in urls.urlpatterns:
        assert isinstance(pattern, URLPattern)
        path = re.sub(r"<str:\w+>", "{id}", str(pattern.pattern))
        view = pattern.callback.view_class  # type: ignore[attr-defined]
        there |= {(method.upper(), path) for method in ("get", "post") if hasattr(view, method)}
    assert told == there


@pytest.mark.parametrize("name", [path.relative_to(ROOT).as_posix() for path in PAGES])
def test_urls_of_the_api_exist(name: str) -> None:
    text = page(name)
    for path in re.findall(r"(?:\$API|/api/v1)(/[\w${}/-]*)", text):
        path = re.sub(r"\$\w+|\{\w+\}", "01ARZ3NDEKTSV4RRFFQ69G5FAV", path)
        assert path == "/" or resolve_url(f"/api/v1{path}").func is not urls.unknown, path


# The plan file


def faults_in(pattern: str) -> set[str]:
    """The codes that the modules give to faults and warnings, read from their source."""
    found = set()
    for path in ROOT.glob(pattern):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                place = {"add": 0, "stop": 0, "Fault": 0, "scalar": 2}.get(name)
                given = node.args[place] if place is not None and place < len(node.args) else None
                if isinstance(given, ast.Constant) and isinstance(given.value, str):
                    found.add(given.value)
    return found


def test_every_fault_of_a_plan_file_is_told() -> None:
    part = page("docs/plan-file.md").partition("\n## Faults\n")[2].partition("\n## ")[0]
    told = {word for cells in rows(part, 2) for word in words(cells[0])}
    assert told == faults_in("graph/plan_*.py") | faults_in("graph/difference.py") | faults_in("graph/exporting.py")


# How it works


def test_the_drawn_moves_are_the_legal_ones() -> None:
    text = page("docs/how-it-works.md")
    assert text.count("flowchart") == 1
    drawn = {(State(a), State(b)) for a, b in re.findall(r"^    ([a-z]+) --> ([a-z]+):", text, re.MULTILINE)}
    assert drawn == {(start, end) for start, ends in LEAF_MOVES.items() for end in ends}
    assert "[*] --> pending" in text


@pytest.mark.parametrize("name", [path.relative_to(ROOT).as_posix() for path in PAGES])
def test_paths_in_the_tree_exist(name: str) -> None:
    rooms = "graph|leases|tasksite|templates|tests|benchmarks|docs|examples"
    named = set(re.findall(rf"(?<![\w/.<-])((?:{rooms})/[\w./-]*)", page(name)))
    named = {path.rstrip(".") for path in named}
    assert [path for path in sorted(named) if not (ROOT / path).exists() and not (ROOT / "docs" / path).exists()] == []
    if name == "docs/how-it-works.md":
        assert len(named) > 20


# Commands


def parsers(command: str) -> set[str]:
    """Every option that a command takes."""
    owner = get_commands()[command]
    loaded = owner if isinstance(owner, BaseCommand) else load_command_class(owner, command)
    parser = loaded.create_parser("manage.py", command)
    return {option for action in parser._actions for option in action.option_strings}


@pytest.mark.parametrize("name", [path.relative_to(ROOT).as_posix() for path in PAGES])
def test_commands_and_their_options_exist(name: str) -> None:
    for command, rest in MANAGE.findall(page(name)):
        assert command in get_commands(), f"manage.py {command}"
        unknown = set(re.findall(r"(?<!\S)--[a-z-]+", rest)) - parsers(command)
        assert not unknown, f"manage.py {command} takes no {unknown}"


def test_the_readme_names_the_two_commands() -> None:
    text = page("README.md")
    targets = set(re.findall(r"^([a-z-]+):", page("Makefile"), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z-]+)(?=[`\s])", "\n".join(FENCE.findall(text)) + "".join(words(text))))
    assert {"run", "test"} <= named <= targets


def test_every_command_of_ours_is_told() -> None:
    told = {command for command, _ in MANAGE.findall(page("docs/operating.md"))}
    ours = {path.stem for path in ROOT.glob("*/management/commands/[a-z]*.py")}
    assert ours <= told


# The worker


def test_what_the_worker_sets_and_reads_is_told() -> None:
    told = set(re.findall(r"`((?:TASK_[A-Z_]+|[A-Z]+_FILE))`", page("docs/worker.md")))
    tree = ast.parse(Path(desk.__file__).read_text(encoding="utf-8"))
    there = {
        key.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Dict)
        for key in node.keys
        if isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value.isupper()
    }
    assert told == there
    assert f"0 done · {verdict.PARTIAL} partial · {verdict.RELEASE} give the task back" in page("docs/worker.md")


def test_the_options_of_the_worker_are_told() -> None:
    told = {word.split()[0] for cells in rows(page("docs/worker.md"), 2) for word in words(cells[0]) if "--" in word}
    assert told | {"--exec", "--dir"} == parsers("work") - parsers("check") - {"--tag", "-t"}


# Links


def anchor(heading: str) -> str:
    """As the usual renderers make it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path: Path) -> None:
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, section = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        assert there.exists(), target
        if section:
            headings = re.findall(r"^#+ (.+)$", FENCE.sub("", there.read_text(encoding="utf-8")), re.MULTILINE)
            assert section in map(anchor, headings), target
