"""Imports against each other, and against those who work: either comes first, and nothing is half done."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from graph.actors import Caller
from graph.models import Event, Node, Plan
from graph.plan_file import Format, read_plan
from graph.plan_types import Limits, PlanFile
from leases.acts import import_plan
from leases.audit import audit
from leases.claim import claim
from leases.settle import report
from tests.builders import LEAD, make_worker
from tests.concurrency.crew import Answer, Call, crew
from tests.graph.planning import document

TIMES = 60
IMPORTERS = 6
PLANS = 20
PAIRS = 30

pytestmark = pytest.mark.django_db(transaction=True)


def plan_of(name: str, *objectives: str) -> PlanFile:
    return read_plan(document(*objectives).replace("plan: p", f"plan: {name}").encode(), Format.YAML, Limits())


def importing(plan: PlanFile, *, prune: bool = False) -> Call:
    return Call("leases.acts:import_plan", {"plan": plan, "caller": LEAD, "prune": prune})


def codes(answers: list[Answer]) -> Counter[str]:
    return Counter(answer.code for answer in answers)


def test_of_many_who_make_the_same_plan_one_makes_it_and_the_others_find_it(tmp_path: Path) -> None:
    plans = [plan_of(f"p{n}", "{key: a, needs: [b], tasks: [{key: t}]}", "{key: b}") for n in range(TIMES)]
    with crew(IMPORTERS, tmp_path) as all_of_them:
        answers = all_of_them.run(*[[importing(plan) for plan in plans]] * IMPORTERS)
    for of_one_plan in zip(*answers, strict=True):
        assert codes([*of_one_plan]) == {"": IMPORTERS}
        assert sorted(answer.value.created for answer in of_one_plan) == [False] * (IMPORTERS - 1) + [True]
        assert sum(answer.value.changed for answer in of_one_plan) == 1
        assert len({answer.value.plan_id for answer in of_one_plan}) == 1
    assert (Plan.objects.count(), Node.objects.count()) == (TIMES, 3 * TIMES)
    assert Event.objects.filter(type="plan.imported").count() == TIMES
    assert audit() == []


def test_two_different_files_of_one_plan_are_both_in_it(tmp_path: Path) -> None:
    lefts = [plan_of(f"p{n}", "{key: a, needs: [b]}", "{key: b}", "{key: c}") for n in range(TIMES)]
    rights = [plan_of(f"p{n}", "{key: a, needs: [d]}", "{key: d, tasks: [{key: t}]}") for n in range(TIMES)]
    with crew(2, tmp_path) as both:
        answers = both.run([importing(plan) for plan in lefts], [importing(plan) for plan in rights])
    assert codes([*answers[0], *answers[1]]) == {"": 2 * TIMES}
    for number in range(TIMES):
        nodes = Node.objects.filter(plan__name=f"p{number}")
        assert {*nodes.values_list("full_key", flat=True)} == {"a", "b", "c", "d", "d/t"}
        [needed] = nodes.get(full_key="a").needs.values_list("dependency__full_key", flat=True)
        assert needed in ("b", "d")
    assert audit() == []


def test_a_node_is_pruned_or_claimed_and_never_both(tmp_path: Path) -> None:
    for number in range(TIMES):
        import_plan(plan=plan_of(f"p{number}", "{key: a, tasks: [{key: t}, {key: u}]}", "{key: b}"), caller=LEAD)
    worker = make_worker()
    pruning = [importing(plan_of(f"p{n}", "{key: a, tasks: [{key: u}]}", "{key: b}"), prune=True) for n in range(TIMES)]
    ids = [Node.objects.get(plan__name=f"p{n}", full_key="a/t").id for n in range(TIMES)]
    claims = [Call("leases.claim:claim", {"node_id": node_id, "caller": worker}) for node_id in ids]
    with crew(2, tmp_path) as both:
        pruned, claimed = both.run(pruning, claims)
    met = Counter((first.code, second.code) for first, second in zip(pruned, claimed, strict=True))
    assert met.keys() <= {("", "not_ready"), ("plan_conflict", "")}, met
    assert audit() == []


def edges_while_settling(folder: Path, sabotage: str = "") -> int:
    """Imports add an edge to each of many nodes while the dependencies settle; how many then wait for ever."""
    worker = make_worker()
    keys = [f"n{n}" for n in range(PAIRS)]
    steps = []
    for number in range(PLANS):
        # dependencies first: no place in the walk changes, so that no row but for the lanes' makes anyone wait
        both_of_each = [f"{{key: {prefix}{key}}}" for prefix in ("on-", "") for key in keys]
        import_plan(plan=plan_of(f"p{number}", *both_of_each), caller=LEAD)
        needed = Node.objects.filter(plan__name=f"p{number}", full_key__startswith="on-").values_list("id", flat=True)
        grants = [claim(node_id=node_id, caller=worker) for node_id in needed]
        steps.append([{"node_id": g.node.id, "lease_id": g.lease.id, "fence": g.lease.fence} for g in grants])
    wired = [f"{{key: {key}, needs: [on-{key}]}}" for key in keys] + [f"{{key: on-{key}}}" for key in keys]
    imports = [importing(plan_of(f"p{number}", *wired)) for number in range(PLANS)]
    reports = [Call(f"{__name__}:report_each", {"held": held, "caller": worker}) for held in steps]
    with crew(2, folder, sabotage=sabotage) as both:
        imported, reported = both.run(imports, reports)
    assert codes([*imported, *reported]) == {"": 2 * PLANS}
    return Node.objects.filter(state="pending").count()


def report_each(held: list[dict[str, Any]], caller: Caller) -> None:
    for lease in held:
        report(**lease, caller=caller, outcome="done")


def test_an_edge_that_comes_while_its_dependency_settles_makes_nobody_wait_for_ever(tmp_path: Path) -> None:
    assert edges_while_settling(tmp_path) == 0
    assert audit() == []


@pytest.mark.usefixtures("on_postgresql")
def test_where_imports_hold_no_lanes_some_wait_for_ever(tmp_path: Path) -> None:
    lost = edges_while_settling(tmp_path, sabotage="no_lanes_for_imports")
    print(f"lost where imports hold no lanes: {lost} of {PLANS * PAIRS}")
    assert lost > 0
