"""A first import: nodes, edges, order, states and events; a second one of the same file; dry runs."""

import random

import pytest
from django.db.transaction import TransactionManagementError

from graph.importing import LISTED, apply_plan, configured_limits
from graph.models import Edge, Event, Node, Plan
from graph.plan_file import Format, read_plan
from graph.plan_types import Limits
from graph.topology import walk
from graph.writing import EDGE_COLUMNS, NODE_COLUMNS
from leases.acts import import_plan
from tests.builders import LEAD
from tests.graph.planning import document, events, everything, load, node, states

pytestmark = pytest.mark.django_db

SHOP = (
    "{key: api, title: Payment API, clone: {repo: 'https://example.org/pay.git', ref: main},"
    " needs: [{on: db, waived: why}], tasks: [{key: schema, body: Markdown},"
    " {key: endpoints, needs: [schema, web/mock], tasks: [{key: get}, {key: put}]}]}",
    "{key: db}",
    "{key: web, tasks: [{key: mock}, {key: page, needs: [api]}]}",
)


def test_a_new_plan_is_written_whole() -> None:
    result = load(*SHOP)
    assert (result.created, result.changed, result.dry_run) == (True, True, False)
    api, get = node("api"), node("api/get")
    assert (api.title, api.clone_repo, api.clone_ref, api.objective_id, api.leaf) == (
        "Payment API", "https://example.org/pay.git", "main", api.id, False
    )  # fmt: skip
    assert (get.key, get.title, get.parent_id, get.objective_id, get.leaf) == (
        "get", "get", node("api/endpoints").id, api.id, True
    )  # fmt: skip
    assert node("api/schema").body == "Markdown"
    edges = Edge.objects.values_list("dependent__full_key", "dependency__full_key", "waived", "waive_reason")
    assert {*edges} == {
        ("api", "db", True, "why"),
        ("api/endpoints", "api/schema", False, ""),
        ("api/endpoints", "web/mock", False, ""),
        ("web/page", "api", False, ""),
    }


def test_what_is_satisfied_is_ready_at_the_end_of_the_import() -> None:
    result = load(*SHOP)
    assert states() == {
        "api": "ready",
        "api/schema": "ready",
        "api/endpoints": "pending",
        "api/get": "pending",
        "api/put": "pending",
        "db": "ready",
        "web": "ready",
        "web/mock": "ready",
        "web/page": "pending",
    }
    ready = [node("db").id, node("api/schema").id, node("web/mock").id]  # in pool order: waived edges count there
    assert result.brief()["became_ready"] == ready


def test_ids_rise_in_document_order_and_positions_are_those_of_the_walk() -> None:
    load(*SHOP)
    names = [*Node.objects.order_by("id").values_list("full_key", flat=True)]
    assert names == [
        "api", "api/schema", "api/endpoints", "api/get", "api/put", "db", "web", "web/mock", "web/page"
    ]  # fmt: skip
    assert positions() == stored_positions()


def positions() -> dict[str, int]:
    """The walk over what is stored."""
    nodes = [*Node.objects.values_list("id", "parent_id")]
    return walk(nodes, [*Edge.objects.values_list("dependent_id", "dependency_id")])


def stored_positions() -> dict[str, int]:
    return dict(Node.objects.values_list("id", "position"))


def test_each_node_edge_and_promotion_has_its_event() -> None:
    load(*SHOP)
    happened = events()
    assert happened[0] == ("plan.imported", "")
    names = Node.objects.order_by("id").values_list("full_key", flat=True)
    assert happened[1:10] == [("node.added", key) for key in names]
    assert sorted(happened[10:14]) == [
        ("edge.added", "api"),
        ("edge.added", "api/endpoints"),
        ("edge.added", "api/endpoints"),
        ("edge.added", "web/page"),
    ]
    assert {*happened[14:]} == {("node.ready", key) for key, state in states().items() if state == "ready"}
    first = Event.objects.order_by("seq")[0]
    assert (first.actor, first.data["name"], first.data["created"], first.data["added"]) == ("lead", "p", True, 9)


def test_the_same_file_again_changes_nothing_and_adds_no_event() -> None:
    load(*SHOP)
    before, plan = everything(), Plan.objects.values().get()
    result = load(*SHOP, prune=True)
    assert (result.created, result.changed) == (False, False)
    assert everything() == before
    assert Plan.objects.values().get() == plan


def test_a_dry_run_of_a_new_plan_writes_nothing() -> None:
    result = load(*SHOP, dry_run=True)
    assert (result.plan_id, result.created, result.changed) == (None, True, True)
    assert result.brief()["counts"]["added"] == 9
    assert everything() == [[], [], []]
    assert not Plan.objects.exists()


def test_a_dry_run_tells_what_the_import_then_does() -> None:
    load(*SHOP)
    before = everything()
    again = (
        SHOP[0].replace("Markdown", "changed").replace("{on: db, waived: why}", ""),
        "{key: new, needs: [web]}",
        "{key: web, tasks: [{key: mock}]}",
    )
    foretold = load(*again, prune=True, dry_run=True)
    assert everything() == before
    done = load(*again, prune=True)
    assert foretold.difference == done.difference
    assert {kind: n for kind, n in done.brief()["counts"].items() if n} == {
        "added": 1, "updated": 1, "edges_added": 1, "edges_removed": 2, "pruned": 2, "missing": 2
    }  # fmt: skip


def test_plans_of_different_names_do_not_touch_each_other() -> None:
    load("{key: a}")
    text = document("{key: a, needs: [b]}", "{key: b}").replace("plan: p", "plan: q")
    import_plan(plan=read_plan(text.encode(), Format.YAML, Limits()), caller=LEAD, prune=True)
    assert [*Node.objects.order_by("id").values_list("plan__name", "full_key", "state")] == [
        ("p", "a", "ready"), ("q", "a", "pending"), ("q", "b", "ready")
    ]  # fmt: skip


def test_texts_are_stored_as_they_are() -> None:
    body = "😀 \u2028 \t é \\N \\. %s {} '\" \n\n end"
    plan = read_plan(document("{key: a}").encode(), Format.YAML, Limits())
    [only] = plan.nodes
    odd = type(plan)(plan.name, (only._replace(title="\\.", body=body),), ())
    import_plan(plan=odd, caller=LEAD)
    assert (node("a").title, node("a").body) == ("\\.", body)
    added = Event.objects.get(type="node.added")
    assert (added.data["title"], added.data["body"]) == ("\\.", body)


def test_an_answer_lists_a_thousand_of_each_kind_and_counts_all() -> None:
    result = load(*(f"{{key: n{number}}}" for number in range(LISTED + 5)))
    brief = result.brief()
    assert (len(brief["added"]), brief["counts"]["added"]) == (LISTED, LISTED + 5)


@pytest.mark.parametrize("seed", range(20))
def test_the_ready_set_of_a_random_plan_is_that_of_a_brute_force_reading(seed: int) -> None:
    load(*random_objectives(seed))
    waits_for: dict[str, set[str]] = {key: set() for key in states()}
    for edge in Edge.objects.select_related("dependent", "dependency").filter(waived=False):
        waits_for[edge.dependent.full_key].add(edge.dependency.full_key)
    ready = set()
    for key in waits_for:
        above: Node | None = node(key)
        satisfied = True
        while above is not None:
            satisfied = satisfied and not waits_for[above.full_key]
            above = above.parent
        if satisfied:
            ready.add(key)
    assert {key for key, state in states().items() if state == "ready"} == ready
    assert positions() == stored_positions()


def random_objectives(seed: int) -> list[str]:
    """Objectives with nested tasks; every edge points at what the document has earlier."""
    chance = random.Random(seed)
    earlier: list[str] = []
    lines = []
    for number in range(chance.randint(1, 8)):
        tasks = []
        for task in range(chance.randint(0, 5)):
            subtasks = ", ".join(f"{{key: t{task}s{subtask}}}" for subtask in range(chance.randint(0, 2)))
            needs = chance.sample(earlier, min(len(earlier), chance.randint(0, 2)))
            tasks.append(f"{{key: t{task}, needs: [{', '.join(needs)}], tasks: [{subtasks}]}}")
            earlier.append(f"o{number}/t{task}")
        lines.append(f"{{key: o{number}, tasks: [{', '.join(tasks)}]}}")
        earlier.append(f"o{number}")
    return lines


def test_an_import_runs_inside_an_entry_service_only() -> None:
    plan = read_plan(document("{key: a}").encode(), Format.YAML, Limits())
    with pytest.raises(TransactionManagementError):
        apply_plan(plan=plan, actor="nobody")


def test_bulk_writes_name_every_column_of_the_models() -> None:
    assert {*NODE_COLUMNS} == {field.column for field in Node._meta.concrete_fields}
    assert {*EDGE_COLUMNS} == {field.column for field in Edge._meta.concrete_fields}


def test_the_limits_are_the_operators() -> None:
    limits = configured_limits()
    assert (limits.nodes, limits.edges, limits.bytes) == (200_000, 1_000_000, 64 * 1024 * 1024)
    assert (limits.title, limits.body, limits.depth, limits.local_roots) == (500, 100_000, 10, ())
