"""Eight `manage.py work` processes drain a plan as long and as ragged as a real one, over HTTP, on either database."""

import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graph.models import Event, Node
from leases.audit import audit
from leases.models import Role
from leases.tokens import create_token
from tests.processes import environment, manage, serve

WORKERS = 8
GIVEN = Path(__file__).resolve().parents[3] / "shared" / "plans" / "beads-700.yaml"
"""A real plan of 694 nodes, where it lies beside the repository."""

pytestmark = pytest.mark.django_db(transaction=True)


def ragged(objectives: int = 60) -> dict[str, Any]:
    """Mostly single leaves, some long lanes, needs across lanes: the shape of a real tracker."""
    chance = random.Random(7)
    made: list[dict[str, Any]] = []
    for n in range(objectives):
        objective: dict[str, Any] = {"key": f"lane-{n}", "title": f"Lane {n}", "body": "Some **words**, and 🐝."}
        if chance.random() < 0.3:
            objective["tasks"] = [
                {"key": f"t.{i}", "title": f"Task {i}", "needs": [f"t.{i - 1}"] if i and chance.random() < 0.5 else []}
                for i in range(chance.randrange(2, 12))
            ]
        if n and chance.random() < 0.4:
            objective["needs"] = [f"lane-{chance.randrange(n)}"]
        made.append(objective)
    return {"plan": "ragged", "objectives": made}


@pytest.fixture(params=["ragged", "given"])
def plan(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "ragged":
        path = tmp_path / "plan.json"
        path.write_text(json.dumps(ragged()))
        return path
    if not GIVEN.exists():
        pytest.skip("the plan is not beside this repository")
    return GIVEN


def ready_by_the_file(path: Path) -> set[str]:
    """Brute force: the leaves that no edge of their own or of an ancestor holds back, straight from the file."""
    import yaml

    ready: set[str] = set()

    def walk(nodes: list[dict[str, Any]], objective: str, waiting: bool) -> None:
        for node in nodes:
            held = waiting or any(not isinstance(need, dict) for need in node.get("needs") or [])
            full = f"{objective}/{node['key']}" if objective else node["key"]
            below = node.get("tasks") or []
            if not below and not held:
                ready.add(full)
            walk(below, objective or node["key"], held)

    walk(yaml.safe_load(path.read_text())["objectives"], "", False)
    return ready


def run(folder: Path, *arguments: str) -> str:
    done = subprocess.run(manage(*arguments), env=environment(folder), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_eight_workers_drain_it(plan: Path, tmp_path: Path) -> None:
    run(tmp_path, "import_plan", str(plan))
    assert set(Node.objects.filter(leaf=True, state="ready").values_list("full_key", flat=True)) == (
        ready_by_the_file(plan)
    )
    if plan == GIVEN:
        assert Node.objects.count() == 694
        assert Event.objects.filter(type="edge.added").count() == 356
    before = Event.objects.count()
    run(tmp_path, "import_plan", str(plan))
    assert Event.objects.count() == before
    _, secret = create_token(name="fleet", role=Role.WORKER)
    with serve(tmp_path) as server:
        crew = [
            subprocess.Popen(
                manage("work", "--url", server.url, "--token", secret, "--holder", f"worker-{n}",
                       "--exec", "true", "--dir", str(tmp_path / f"clones-{n}"), "--poll", "0.05"),
                env=environment(tmp_path),
            )
            for n in range(WORKERS)
        ]  # fmt: skip
        try:
            wait_until_drained()
        finally:
            for member in crew:
                member.terminate()
            codes = [member.wait(60) for member in crew]
    assert codes == [0] * WORKERS
    assert set(Node.objects.values_list("state", flat=True)) == {"done"}
    assert audit() == []
    assert list(overlaps()) == []
    holders = Event.objects.filter(type="lease.claimed").values_list("actor", flat=True)
    assert len(set(holders)) > 1, "several workers took part"


def wait_until_drained() -> None:
    import time

    deadline = time.monotonic() + 240
    while Node.objects.exclude(state="done").exists():
        assert time.monotonic() < deadline, "it did not drain"
        time.sleep(0.2)


def overlaps() -> Iterator[tuple[str, str]]:
    """From the events alone: leaf runs of one lane that were open at once."""
    objectives = set(Node.objects.filter(leaf=False, parent=None).values_list("id", flat=True))
    open_run: dict[str, str] = {}
    for event in Event.objects.filter(type__in=["run.opened", "run.closed"]).order_by("seq"):
        if event.node in objectives:
            continue
        if event.type == "run.closed":
            open_run.pop(event.objective)
        elif event.objective in open_run:
            yield event.objective, event.run
        else:
            open_run[event.objective] = event.run
