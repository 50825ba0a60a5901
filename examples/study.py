"""The work of `self-study.yaml`: one function a task, run by the reference worker in the lane's clone.

A worker's command is told its task in TASK_KEY, what its dependencies left in the JSON file TASK_INPUTS_FILE, and
leaves its own summary and result in RESULT_FILE. Exit 0 is done.
"""

import ast
import compileall
import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOMS = ("graph", "leases", "tasksite")
BRANCH = "self-study"


def modules() -> Iterator[Path]:
    for room in ROOMS:
        yield from sorted(path for path in Path(room).rglob("*.py") if "migrations" not in path.parts)


def lines(_: dict[str, Any]) -> tuple[str, Any]:
    counted: Counter[str] = Counter()
    for path in modules():
        counted[path.parts[0]] += len(path.read_text(encoding="utf-8").splitlines())
    return f"{sum(counted.values()):,} lines in {len(counted)} rooms", dict(counted)


def imports(_: dict[str, Any]) -> tuple[str, Any]:
    arrows: Counter[str] = Counter()
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                room = name.partition(".")[0]
                if room in ROOMS and room != path.parts[0]:
                    arrows[f"{path.parts[0]} imports {room}"] += 1
    return f"{len(arrows)} arrows between rooms", dict(arrows)


def functions(_: dict[str, Any]) -> tuple[str, Any]:
    found = [
        (node.end_lineno - node.lineno + 1, f"{path}:{node.name}")
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.end_lineno
    ]
    longest = sorted(found, reverse=True)[:10]
    return f"the longest of {len(found)} functions has {longest[0][0]} lines", {name: size for size, name in longest}


def compile_all(_: dict[str, Any]) -> tuple[str, Any]:
    bad = [str(path) for path in modules() if not compileall.compile_file(path, quiet=2, force=True)]
    if bad:
        raise SystemExit(f"these do not compile: {', '.join(bad)}")
    return "every module compiles", {"modules": len([*modules()])}


def walk(_: dict[str, Any]) -> tuple[str, Any]:
    sys.path.insert(0, os.getcwd())
    from graph import topology

    steps = 0
    for seed in range(300):
        chance = random.Random(seed)
        nodes = [(f"{n:03}", None) for n in range(chance.randrange(2, 40))]
        edges = [(b[0], a[0]) for a in nodes for b in nodes if a < b and chance.random() < 0.1]
        position = topology.walk(nodes, edges)
        if any(position[dependent] <= position[dependency] for dependent, dependency in edges):
            raise SystemExit(f"plan {seed} is out of order")
        steps += len(position)
    return f"{steps:,} nodes of 300 plans stand behind all they need", {"plans": 300, "nodes": steps}


def links(_: dict[str, Any]) -> tuple[str, Any]:
    broken, followed = [], 0
    for page in [*Path(".").glob("*.md"), *Path("docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            followed += 1
            if not (page.parent / target).exists():
                broken.append(f"{page}: {target}")
    return f"{followed} links followed, {len(broken)} broken", {"broken": broken}


def write(inputs: dict[str, Any]) -> tuple[str, Any]:
    page = ["# A study of this repository", ""]
    for full_key, left in inputs.items():
        if "/" not in full_key:
            continue
        page += [f"## {full_key}", "", f"{left['summary']}.", ""]
        page += [f"- {name}: {value}" for name, value in (left["result"] or {}).items()] + [""]
    Path("REPORT.md").write_text("\n".join(page), encoding="utf-8")
    who = ["-c", "user.name=tasksite demo", "-c", "user.email=demo@example.org", "-c", "commit.gpgsign=false"]
    git("checkout", "-q", "-B", BRANCH)
    git("add", "REPORT.md")
    git(*who, "commit", "-q", "--allow-empty", "-m", "A study of this repository")
    git("push", "-q", "--force", "origin", BRANCH)
    return f"REPORT.md on the branch {BRANCH}", {"branch": BRANCH, "commit": git("rev-parse", "HEAD")}


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


TASKS = {
    "survey/lines": lines,
    "survey/imports": imports,
    "survey/functions": functions,
    "checks/compile": compile_all,
    "checks/walk": walk,
    "checks/links": links,
    "report/write": write,
}


def main() -> None:
    inputs = {
        each["full_key"]: each for each in json.loads(Path(os.environ["TASK_INPUTS_FILE"]).read_text(encoding="utf-8"))
    }
    summary, result = TASKS[os.environ["TASK_KEY"]](inputs)
    Path(os.environ["RESULT_FILE"]).write_text(json.dumps({"summary": summary, "result": result}))
    print(f"{os.environ['TASK_KEY']}: {summary}")


if __name__ == "__main__":
    main()
