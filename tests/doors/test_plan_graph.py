"""What the graph of a plan is drawn from: small plans whole, large ones by objectives; and the states of it."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from graph import editing
from graph.models import Edge, Node, Plan
from leases.claim import claim
from tasksite.dashboard import drawing
from tests.builders import LEAD, make_plan, make_worker
from tests.graph.planning import load

pytestmark = pytest.mark.django_db


@pytest.fixture
def watcher(client: Client) -> Client:
    client.force_login(User.objects.create_user("sam", password="pw"))
    return client


def ask(client: Client, what: str, name: str = "plan") -> Any:
    answer = client.get(f"/plans/{Plan.objects.get(name=name).id}/{what}")
    assert answer.status_code == 200, answer.content
    return json.loads(answer.content)


def drawn(client: Client, query: str = "", name: str = "plan") -> tuple[dict[str, int], set[tuple[str, str, int]]]:
    """Nodes with their kinds, and arrows with whether they are waived, all by full key."""
    answer = ask(client, f"graph.json{query}", name)
    keys = [node[2] for node in answer["nodes"]]
    arrows = {(keys[start], keys[end], waived) for start, end, waived in answer["edges"]}
    return {node[2]: node[4] for node in answer["nodes"]}, arrows


TREE: dict[str, Any] = {
    "a": {"tasks": {"one": {}, "two": {"needs": ["a/one"], "tasks": {"deep": {}}}}},
    "b": {"needs": ["a"], "tasks": {"x": {"waived": ["a/one"]}}},
    "c": {"needs": ["b/x"]},
}


def test_a_small_plan_is_drawn_whole(watcher: Client) -> None:
    make_plan(TREE)
    nodes, arrows = drawn(watcher)
    assert nodes == {"a": 2, "a/one": 0, "a/two": 2, "a/deep": 0, "b": 2, "b/x": 0, "c": 0}
    assert arrows == {("a", "b", 0), ("a/one", "a/two", 0), ("a/one", "b/x", 1), ("b/x", "c", 0)}
    answer = ask(watcher, "graph.json")
    for axis, way in enumerate(("right", "down")):
        at = {node[2]: place[axis] for node, place in zip(answer["nodes"], answer["places"][way], strict=True)}
        assert at["a/one"] < at["a/two"] and at["a"] < at["b"] < at["c"]


def test_containers_open_one_by_one(watcher: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "WHOLE", 3)
    ids = make_plan(TREE)
    assert drawn(watcher) == drawn(watcher, "?open=")
    nodes, arrows = drawn(watcher)
    assert nodes == {"a": 1, "b": 1, "c": 0}
    assert arrows == {("a", "b", 0), ("b", "c", 0)}
    nodes, arrows = drawn(watcher, f"?open={ids['a'].lower()}")
    assert nodes == {"a": 2, "a/one": 0, "a/two": 1, "b": 1, "c": 0}
    assert arrows == {("a", "b", 0), ("a/one", "a/two", 0), ("a/one", "b", 1), ("b", "c", 0)}
    nodes, _ = drawn(watcher, f"?open={ids['a']},{ids['a/two']}")
    assert nodes["a/deep"] == 0 and nodes["a/two"] == 2
    nodes, _ = drawn(watcher, f"?open={ids['a/two']}")  # what lies in a closed one is not drawn
    assert nodes == {"a": 1, "b": 1, "c": 0}


def test_states_follow_what_is_drawn(watcher: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = make_plan(TREE)

    def states() -> dict[str, str]:
        graph, found = ask(watcher, "graph.json"), ask(watcher, "states.json")
        assert graph["tag"] == found["tag"]
        assert len(graph["nodes"]) == len(found["states"])
        return {node[2]: graph["names"][int(at)] for node, at in zip(graph["nodes"], found["states"], strict=True)}

    assert states() == dict(Node.objects.values_list("full_key", "state"))
    claim(node_id=ids["a/one"], caller=make_worker())
    assert states() == dict(Node.objects.values_list("full_key", "state"))
    monkeypatch.setattr(drawing, "WHOLE", 3)
    assert ask(watcher, "states.json")["counts"] == {"0": [0, 2], "1": [0, 1]}


def test_the_drawing_is_kept_until_the_plan_is_another(watcher: Client) -> None:
    load("{key: a}", "{key: b, needs: [a]}")
    there = f"/plans/{Plan.objects.get().id}/"
    tag = watcher.get(f"{there}graph.json")["ETag"]
    assert watcher.get(f"{there}graph.json", headers={"If-None-Match": tag}).status_code == 304
    claim(node_id=Node.objects.get(full_key="a").id, caller=make_worker())
    with CaptureQueriesContext(connection) as queries:
        assert watcher.get(f"{there}graph.json")["ETag"] == tag
    assert not [query for query in queries if "graph_edge" in query["sql"]]
    editing.waive(edge_id=Edge.objects.get().id, caller=LEAD, reason="no need")
    waived = watcher.get(f"{there}graph.json", headers={"If-None-Match": tag})
    assert waived.status_code == 200 and waived.json()["edges"] == [[0, 1, 1]]
    load("{key: a}", "{key: b, needs: [a]}", "{key: c}")
    assert len(watcher.get(f"{there}graph.json").json()["nodes"]) == 3


def test_states_are_read_once_a_revision(watcher: Client) -> None:
    ids = make_plan(TREE)
    there = f"/plans/{Plan.objects.get().id}/states.json"
    tag = watcher.get(there)["ETag"]
    assert watcher.get(there, headers={"If-None-Match": tag}).status_code == 304
    with CaptureQueriesContext(connection) as queries:
        watcher.get(there)
    assert not [query for query in queries if "SELECT id, state" in query["sql"]]
    claim(node_id=ids["a/one"], caller=make_worker())
    assert watcher.get(there, headers={"If-None-Match": tag}).status_code == 200


def test_what_is_drawn_is_bounded_and_queries_do_not_grow(watcher: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "WHOLE", 3)
    make_plan(TREE, name="small")
    tasks = {f"t{number}": {"needs": [f"o{lane}" for lane in range(3)]} for number in range(4)}
    make_plan({**{f"o{n}": {} for n in range(60)}, **{f"p{n}": {"tasks": tasks} for n in range(60)}}, name="large")

    def cost(name: str) -> int:
        cache.clear()
        with CaptureQueriesContext(connection) as queries:
            ask(watcher, "graph.json", name)
            ask(watcher, "states.json", name)
        return len(queries)

    assert cost("small") == cost("large")
    assert len(ask(watcher, "graph.json", "large")["edges"]) == 180
    cache.clear()
    monkeypatch.setattr(drawing, "MOST", 100)
    answer = ask(watcher, "graph.json", "large")
    assert len(answer["nodes"]) == 100 and answer["left_off"] == 20
    assert len(ask(watcher, "states.json", "large")["states"]) == 100


def test_who_may_ask_and_for_what(watcher: Client) -> None:
    make_plan({"a": {}})
    there = f"/plans/{Plan.objects.get().id}/"
    for what in ("graph.json", "states.json"):
        assert Client().get(there + what).status_code == 302
        assert watcher.get(f"{there}{what}?open=x").status_code == 400
        assert watcher.get(f"{there}{what}?open=" + "01ARZ3NDEKTSV4RRFFQ69G5FAV," * 401).status_code == 400
        assert watcher.get(f"/plans/01ARZ3NDEKTSV4RRFFQ69G5FAV/{what}").status_code == 404
        assert watcher.post(there + what).status_code == 405
        assert ask(watcher, f"{what}?open=01ARZ3NDEKTSV4RRFFQ69G5FAV")
    page = watcher.get(there).content.decode()
    assert f'data-graph="{there}graph.json"' in page and "The table has the same nodes" in page
