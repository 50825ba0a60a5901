"""Export gives a file that makes the same plan again."""

from typing import Any

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings

from graph.errors import NotFound
from graph.exporting import export_plan, to_yaml
from graph.models import Edge, Event, Node, Plan
from graph.plan_file import Format, read_plan
from graph.plan_types import Limits, PlanFile
from leases import acts
from leases.acts import import_plan
from leases.models import Attempt, Lease, Run
from tests.builders import LEAD
from tests.graph.plan_making import plan_files
from tests.graph.planning import load, needs, node, settle, states, take

pytestmark = pytest.mark.django_db

Written = tuple[set[Any], set[Any]]


def written(plan: PlanFile) -> Written:
    """What a file says: nodes with parents and texts, edges with waivers."""
    return {node[:6] for node in plan.nodes}, {edge[:3] for edge in plan.edges}


def clear() -> None:
    """An empty database again. Rows point at rows of the same table, which the ORM deletes one by one."""
    with connection.cursor() as cursor:
        for table in (Attempt, Run, Lease, Event, Edge, Node, Plan):
            cursor.execute(f"DELETE FROM {table._meta.db_table}")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plan_files())
def test_export_and_import_into_an_empty_database_give_the_same_plan(plan: PlanFile) -> None:
    clear()
    import_plan(plan=plan, caller=LEAD)
    exported = export_plan(plan.name)
    assert exported.warnings == ()
    assert written(exported) == written(plan)

    text = to_yaml(exported)
    again = read_plan(text.encode(), Format.YAML, Limits())
    assert again.warnings == ()
    assert (again.name, *written(again)) == (plan.name, *written(plan))
    assert not import_plan(plan=again, caller=LEAD, prune=True).changed

    clear()
    import_plan(plan=again, caller=LEAD)
    assert written(export_plan(plan.name)) == written(plan)


def test_an_export_reads_like_a_hand_written_file() -> None:
    load(
        "{key: a, title: A, body: \"# Do\\n\\n- this 😀\\n\", clone: {repo: 'git@example.org:x', ref: main}, "
        "tasks: [{key: '1.0'}, {key: u, needs: ['1.0', b, c/t], tasks: [{key: v}]}]}",
        "{key: b}",
        "{key: c, needs: [{on: b, waived: why}], tasks: [{key: t}]}",
    )
    assert (
        to_yaml(export_plan("p"))
        == """\
plan: p
objectives:
- key: a
  title: A
  body: |
    # Do

    - this 😀
  clone:
    repo: git@example.org:x
    ref: main
  tasks:
  - key: '1.0'
    title: '1.0'
  - key: u
    title: u
    needs:
    - '1.0'
    - b
    - c/t
    tasks:
    - key: v
      title: v
- key: b
  title: b
- key: c
  title: c
  needs:
  - 'on': b
    waived: why
  tasks:
  - key: t
    title: t
"""
    )


@pytest.mark.usefixtures("falling_ids")
def test_tasks_stand_below_their_container_whatever_their_ids() -> None:
    load("{key: a, tasks: [{key: t}]}", "{key: b}")
    load("{key: a, tasks: [{key: t, tasks: [{key: u}, {key: v, needs: [u]}]}]}", "{key: b}", "{key: c}")
    exported = export_plan("p")
    assert [kept.full_key for kept in exported.nodes] == ["c", "a", "a/t", "a/u", "a/v", "b"]
    again = read_plan(to_yaml(exported).encode(), Format.YAML, Limits())
    clear()
    import_plan(plan=again, caller=LEAD)
    assert written(export_plan("p")) == written(exported)
    assert [kept.full_key for kept in export_plan("p").nodes] == [kept.full_key for kept in exported.nodes]


def test_cancelled_nodes_are_left_out_and_edges_to_them_with_a_warning() -> None:
    load("{key: a, needs: [b/t], tasks: [{key: x}]}", "{key: b, tasks: [{key: t, needs: [c]}, {key: u}]}", "{key: c}")
    acts.cancel(node_id=node("b/t").id, caller=LEAD, reason="no")
    exported = export_plan("p")
    assert [kept.full_key for kept in exported.nodes] == ["a", "a/x", "b", "b/u", "c"]
    assert exported.edges == ()
    assert [str(warning) for warning in exported.warnings] == [
        "a needs b/t: left out, because b/t is cancelled. [edge_left_out]"
    ]
    clear()
    import_plan(plan=read_plan(to_yaml(exported).encode(), Format.YAML, Limits()), caller=LEAD)
    assert states() == {"a": "ready", "a/x": "ready", "b": "ready", "b/u": "ready", "c": "ready"}


def test_what_was_worked_on_is_exported_as_work_to_do() -> None:
    load("{key: a, tasks: [{key: t}, {key: u, needs: [t]}]}", "{key: b}")
    settle("a/t")
    take("b")
    exported = export_plan("p")
    clear()
    import_plan(plan=exported, caller=LEAD)
    assert states() == {"a": "ready", "a/t": "ready", "a/u": "pending", "b": "ready"}


def test_an_edge_that_no_file_can_say_is_left_out_with_a_warning() -> None:
    load("{key: a, tasks: [{key: t, needs: [b]}]}", "{key: b}")
    settle("b")
    settle("a/t")
    load("{key: a, tasks: [{key: t, needs: []}, {key: b}]}", "{key: b}")
    assert needs() == {("a/t", "b")}
    [warning] = export_plan("p").warnings
    assert (warning.code, warning.message) == (
        "edge_left_out", "a/t needs b: left out, because a task of the same objective has the key b."
    )  # fmt: skip


def test_a_plan_of_which_nothing_is_left_says_so() -> None:
    load("{key: a}")
    acts.cancel(node_id=node("a").id, caller=LEAD, reason="no")
    exported = export_plan("p")
    assert (to_yaml(exported), [warning.code for warning in exported.warnings]) == (
        "plan: p\nobjectives: []\n", ["empty_plan"]
    )  # fmt: skip


def test_a_plan_that_is_not_there() -> None:
    with pytest.raises(NotFound):
        export_plan("p")
