"""Two dependencies of one node settle at once: whoever commits last must see the other, or the node waits for ever."""

from pathlib import Path

import pytest
from django.db import connection

from graph.actors import Caller
from graph.models import Node
from tests.builders import make_plan, make_worker
from tests.concurrency.crew import Answer, Call, crew

TIMES = {"postgresql": 1_000, "sqlite": 200}  # SQLite cannot lose one: there writers stand in line
CONTROL_TIMES = 200

pytestmark = pytest.mark.django_db(transaction=True)


def settle_pairs(times: int, folder: Path, sabotage: str = "") -> int:
    """Settle `times` pairs from two processes; how many dependents are not ready afterwards."""
    plan: dict[str, dict[str, list[str]]] = {}
    for i in range(times):
        plan |= {f"left-{i}": {}, f"right-{i}": {}, f"join-{i}": {"needs": [f"left-{i}", f"right-{i}"]}}
    ids = make_plan(plan)
    callers = {"left": make_worker("left"), "right": make_worker("right")}
    with crew(2, folder, sabotage=sabotage) as both:
        claims = [
            [Call("leases.claim:claim", {"node_id": ids[f"{side}-{i}"], "caller": callers[side]}) for i in range(times)]
            for side in callers
        ]
        granted = both.run(*claims)
        reports = [
            [report(answer, callers[side]) for answer in answers]
            for side, answers in zip(callers, granted, strict=True)
        ]
        settled = both.run(*reports)
    assert {answer.code for answers in settled for answer in answers} == {""}
    joins = [ids[f"join-{i}"] for i in range(times)]
    return times - Node.objects.filter(id__in=joins, state="ready").count()


def report(answer: Answer, caller: Caller) -> Call:
    grant = answer.value
    arguments = {"node_id": grant.node.id, "lease_id": grant.lease.id, "fence": grant.lease.fence}
    return Call("leases.settle:report", {**arguments, "caller": caller, "outcome": "done"})


@pytest.mark.slow
def test_no_promotion_is_lost(tmp_path: Path) -> None:
    assert settle_pairs(TIMES[connection.vendor], tmp_path) == 0


@pytest.mark.usefixtures("on_postgresql")
def test_without_the_lock_some_are_lost(tmp_path: Path) -> None:
    lost = settle_pairs(CONTROL_TIMES, tmp_path, sabotage="no_lanes")
    print(f"lost without the lock: {lost} of {CONTROL_TIMES}")
    assert lost > 0
