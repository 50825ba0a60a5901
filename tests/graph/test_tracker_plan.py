"""A plan of the size and shape of a real issue tracker goes in whole, and the ready set is what its file says."""

from typing import Any

import pytest
import yaml

from graph.exporting import export_plan, to_yaml
from graph.models import Edge, Event, Node
from graph.plan_file import Format, read_plan
from graph.plan_types import Limits
from leases.acts import import_plan
from leases.audit import audit
from tests.builders import LEAD
from tests.graph.tracker import texts

pytestmark = pytest.mark.django_db

TEXTS = texts()


def ready_by_reading(document: Any) -> set[str]:
    """What may start, by the file alone: nothing needed, neither by the node nor by what it lies in."""
    ready = set()

    def visit(item: Any, lane: str, satisfied: bool) -> None:
        satisfied = satisfied and not item.get("needs")
        if satisfied:
            ready.add(f"{lane}/{item['key']}" if lane else item["key"])
        for task in item.get("tasks", []):
            visit(task, lane or item["key"], satisfied)

    for objective in document["objectives"]:
        visit(objective, "", True)
    return ready


def count(items: Any) -> int:
    return sum(1 + count(item.get("tasks", [])) for item in items)


def edges(items: Any) -> int:
    return sum(len(item.get("needs", [])) + edges(item.get("tasks", [])) for item in items)


@pytest.mark.parametrize("name", TEXTS)
def test_it_goes_in_whole_and_a_second_time_changes_nothing(name: str) -> None:
    plan = read_plan(TEXTS[name].encode(), Format.YAML, Limits())
    assert plan.warnings == ()
    import_plan(plan=plan, caller=LEAD)
    document = yaml.safe_load(TEXTS[name])
    assert Node.objects.count() == count(document["objectives"])
    assert Edge.objects.count() == edges(document["objectives"])
    assert {*Node.objects.filter(state="ready").values_list("full_key", flat=True)} == ready_by_reading(document)
    assert {*Node.objects.values_list("state", flat=True)} <= {"ready", "pending"}
    assert audit() == []

    happened = Event.objects.count()
    again = import_plan(plan=read_plan(TEXTS[name].encode(), Format.YAML, Limits()), caller=LEAD, prune=True)
    assert not again.changed
    assert Event.objects.count() == happened


@pytest.mark.parametrize("name", TEXTS)
def test_it_comes_out_as_it_went_in(name: str) -> None:
    plan = read_plan(TEXTS[name].encode(), Format.YAML, Limits())
    import_plan(plan=plan, caller=LEAD)
    exported = read_plan(to_yaml(export_plan(plan.name)).encode(), Format.YAML, Limits())
    assert {node[:6] for node in exported.nodes} == {node[:6] for node in plan.nodes}
    assert {edge[:3] for edge in exported.edges} == {edge[:3] for edge in plan.edges}


@pytest.mark.skipif("real" not in TEXTS, reason="no copy of the real plan lies beside the repository")
def test_the_real_plan_has_694_nodes_and_356_edges() -> None:
    plan = read_plan(TEXTS["real"].encode(), Format.YAML, Limits())
    assert (len(plan.nodes), len(plan.edges)) == (694, 356)
