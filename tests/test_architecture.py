"""The rooms and their doors: who may import whom, read from the source, imports inside functions included."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parent.parent
ROOMS: Final = ("graph", "leases", "tasksite")
LONGEST: Final = 400

FORBIDDEN: Final = {
    "graph": {"leases", "tasksite", "tests", "benchmarks"},
    "leases": {"tasksite", "tests", "benchmarks"},
    "tasksite": {"tests", "benchmarks"},
}
"""Room → what it may not know. The data goes downward: tasksite → leases → graph."""

WITHOUT_DJANGO: Final = (
    "graph/topology.py",
    "graph/plan_*.py",
    *(f"leases/{part}.py" for part in ("client", "channel", "grants", "problems")),
    *(f"leases/{part}.py" for part in ("worker", "attempt", "pulse", "group", "clones", "desk", "verdict")),
)
"""Pure, or meant to be copied into other people's programs."""

TRANSACTIONS: Final = {"graph/transaction.py"}
"""Where a transaction may begin."""


def modules(*patterns: str) -> list[Path]:
    found = sorted({path for pattern in patterns for path in ROOT.glob(pattern) if "migrations" not in path.parts})
    assert found, f"no module matches {patterns}"
    return found


def sources() -> list[Path]:
    return modules(*(f"{room}/**/*.py" for room in ROOMS))


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports(tree: ast.AST, package: str) -> Iterator[str]:
    """Every module that is imported anywhere in the tree, by its full name; `import_module("x")` too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: -(node.level - 1) or None] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and called(node) in ("import_module", "__import__", "import_string"):
            yield from (arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str))


def called(node: ast.Call) -> str:
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def imported_by(path: Path) -> set[str]:
    package = ".".join(path.relative_to(ROOT).parent.parts)
    return set(imports(ast.parse(path.read_text()), package))


def tops(names: set[str]) -> set[str]:
    return {each.split(".")[0] for each in names}


@pytest.mark.parametrize("path", sources(), ids=name)
def test_nothing_looks_upward(path: Path) -> None:
    assert not tops(imported_by(path)) & FORBIDDEN[path.relative_to(ROOT).parts[0]]


@pytest.mark.parametrize("path", modules("graph/**/*.py"), ids=name)
def test_the_graph_never_names_leases(path: Path) -> None:
    """Not as a table or a model in a string either; only prose may."""
    tree = ast.parse(path.read_text())
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            assert not re.search(r"\bleases[_.]\w|^leases$", node.value), f"line {node.lineno}"


@pytest.mark.parametrize("path", modules(*WITHOUT_DJANGO), ids=name)
def test_what_is_pure_knows_no_django(path: Path) -> None:
    """Nor does anything of ours that it imports."""
    seen: set[Path] = set()
    waiting = [path]
    while waiting:
        module = waiting.pop()
        seen.add(module)
        names = imported_by(module)
        assert "django" not in tops(names), f"{name(module)} imports Django"
        waiting += [each for each in ours(names) if each not in seen]


def ours(names: set[str]) -> set[Path]:
    """The files of those names that are modules in our rooms."""
    found = {ROOT.joinpath(*each.split(".")).with_suffix(".py") for each in names if each.split(".")[0] in ROOMS}
    return {path for path in found if path.is_file()}


@pytest.mark.parametrize("path", sources(), ids=name)
def test_only_entry_services_begin_transactions(path: Path) -> None:
    if name(path) in TRANSACTIONS:
        return
    used = {node.attr for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)}
    taken = {each.rpartition(".")[2] for each in imported_by(path) if each.startswith("django.db.transaction.")}
    assert not {"atomic", "set_autocommit", "Atomic"} & (used | taken)


@pytest.mark.parametrize("path", sources(), ids=name)
def test_no_signals(path: Path) -> None:
    assert not {each for each in imported_by(path) if each.startswith(("django.dispatch", "django.db.models.signals"))}


@pytest.mark.parametrize("path", [*sources(), *modules("tests/**/*.py")], ids=name)
def test_modules_stay_small(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= LONGEST


def test_half_of_the_modules_are_short() -> None:
    lengths = sorted(len(path.read_text().splitlines()) for path in sources() if path.stat().st_size)
    assert lengths[len(lengths) // 2] <= 150


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import leases.models", "leases.models"),
        ("def f():\n    from leases import models", "leases.models"),
        ("def f():\n    from leases.models import Lease as L", "leases.models"),
        ("from .inner import thing", "graph.inner.thing"),
        ("from . import inner", "graph.inner"),
        ("import importlib\nimportlib.import_module('leases.models')", "leases.models"),
    ],
)
def test_the_reader_of_imports_overlooks_none(source: str, found: str) -> None:
    assert found in set(imports(ast.parse(source), "graph"))
