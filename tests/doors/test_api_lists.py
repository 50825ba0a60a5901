"""Lists: which nodes they show and in what order, their pages, their entity tags."""

import itertools
from typing import Any, Final

import pytest

from graph.models import Edge, Node, Plan
from leases.models import Lease
from leases.queries import NodeFilter, count
from tests.builders import make_plan
from tests.doors.api import Answer, Api
from tests.doors.test_api_way import held

FOREST: Final = {
    "db": {"tasks": {"tables": {}, "index": {"needs": ["db/tables"]}}},
    "api": {"needs": ["db"], "tasks": {"schema": {}, "box": {"tasks": {"in": {}}}}},
    "web": {"tasks": {"page": {}, "Mock-100%": {}}},
    "solo": {},
}


def keys(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.content
    return [node["full_key"] for node in answer.json["results"]]


def pages(api: Api, path: str, **query: Any) -> list[dict[str, Any]]:
    """All entries, page after page."""
    found: list[dict[str, Any]] = []
    answer = api.get(path, **query)
    while True:
        assert answer.status == 200, answer.content
        found += answer.json["results"]
        if answer.json["next"] is None:
            return found
        answer = api.send("GET", answer.json["next"].removeprefix("http://testserver"))


def brute_force(params: dict[str, str]) -> list[str]:
    """What the contract says that a list shows, from whole tables and in Python."""
    plans = {plan.id: plan.name for plan in Plan.objects.all()}
    taken = {*Lease.objects.filter(ended_at=None).values_list("objective_id", flat=True)}
    default = "true" if params.get("state") == "ready" else "any"
    shown = []
    for node in Node.objects.all():
        leaf = params.get("leaf", default)
        fits = [
            params.get("state") in (None, node.state),
            params.get("plan") in (None, node.plan_id, plans[node.plan_id]),
            params.get("objective") in (None, node.objective_id),
            params.get("kind") in (None, node.kind),
            leaf == "any" or node.leaf == (leaf == "true"),
            params.get("free") != "true" or node.objective_id not in taken,
            fold(params.get("q", "")) in fold(node.full_key) or fold(params.get("q", "")) in fold(node.title),
        ]
        if all(fits):
            shown.append(node)
    return [node.full_key for node in sorted(shown, key=lambda node: (node.plan_id, node.position))]


def fold(text: str) -> str:
    return "".join(char.lower() if char.isascii() else char for char in text)


@pytest.fixture
def forest(db: None) -> dict[str, str]:
    return make_plan(FOREST, "first") | {f"2:{key}": id_ for key, id_ in make_plan(FOREST, "second").items()}


def test_lists_show_what_a_reading_of_the_tables_shows(worker: Api, forest: dict[str, str]) -> None:
    """Every pair of filters, with two lanes taken and a task done; on pages of three."""
    grant = worker.post(f"nodes/{forest['db/tables']}/claim/")
    worker.post(f"nodes/{forest['db/tables']}/report/", {**held(grant), "outcome": "done"})
    worker.post(f"nodes/{forest['web/page']}/claim/")
    worker.post(f"nodes/{forest['2:solo']}/claim/")
    second = Plan.objects.get(name="second").id
    values = {
        "state": ["pending", "ready", "running", "done", "cancelled"],
        "plan": ["first", second, second.lower(), "nowhere"],
        "objective": [forest["db"], forest["2:api"]],
        "kind": ["objective", "task"],
        "leaf": ["true", "false", "any"],
        "free": ["true", "false"],
        "q": ["", "api", "TITLE OF S", "%", "_", "100%"],
    }
    single = [(name, value) for name, choices in values.items() for value in choices]
    combined = [dict(pair) for pair in itertools.combinations(single, 2) if pair[0][0] != pair[1][0]]
    for params in [{}, *(dict([one]) for one in single), *combined]:
        exact = {**params, "plan": params["plan"].upper()} if params.get("plan") == second.lower() else params
        wanted = brute_force(exact)
        assert [node["full_key"] for node in pages(worker, "nodes/", limit="3", **params)] == wanted, params
        assert keys(worker.get("nodes/", **params)) == wanted, params


def test_the_pool_is_the_ready_leaves_in_the_order_of_the_walk(worker: Api, forest: dict[str, str]) -> None:
    assert keys(worker.get("nodes/", state="ready", plan="first")) == ["db/tables", "web/page", "web/Mock-100%", "solo"]
    assert keys(worker.get("nodes/", state="ready", plan="first", leaf="false")) == ["db", "web"]
    assert len(keys(worker.get("nodes/", state="ready", leaf="any"))) == 12


def test_the_pool_and_claim_next_and_the_count_agree(worker: Api, forest: dict[str, str]) -> None:
    while True:
        pool = keys(worker.get("nodes/", state="ready", free="true"))
        assert count(NodeFilter(state="ready", leaf=True, free=True)) == len(pool)
        grant = worker.post("claims/")
        if grant.status == 204:
            assert not pool
            return
        assert grant.json["node"]["full_key"] == pool[0]


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("ZÜRICH", []),
        ("Zürich", ["a"]),
        ("zürich", ["a"]),
        ("zÜrich", []),
        ("50%", ["b"]),
        ("5_%", []),
        ("under_score", ["c"]),
        ("underxscore", []),
        ("back\\slash", ["d"]),
        ("İ", ["e"]),
        ("i", ["a"]),
        ("K", ["d"]),
        ("'; DROP TABLE graph_node; --", []),
        ("straße", ["f"]),
        ("STRASSE", []),
    ],
)
def test_a_search_folds_ascii_and_nothing_else(worker: Api, q: str, found: list[str]) -> None:
    """Alike on both databases, one of which knows only ASCII by itself; and nothing in it is a wildcard."""
    titles = {"a": "Zürich", "b": "50% off", "c": "under_score", "d": "back\\slash", "e": "\u0130\u212a", "f": "straße"}
    ids = make_plan({key: {} for key in titles})
    for key, title in titles.items():
        Node.objects.filter(id=ids[key]).update(title=title)
    assert keys(worker.get("nodes/", q=q)) == found


def test_pages_hold_while_their_entries_change(worker: Api, forest: dict[str, str]) -> None:
    """A keyset cursor says where the last page ended, so what went before it cannot shift what follows."""
    first = worker.get("nodes/", state="ready", limit="2")
    worker.post(f"nodes/{forest['db/tables']}/claim/")
    second = worker.send("GET", first.json["next"].removeprefix("http://testserver"))
    assert keys(first) + keys(second) == ["db/tables", "web/page", "web/Mock-100%", "solo"]


def test_the_next_url_keeps_the_filters(worker: Api, forest: dict[str, str]) -> None:
    following = worker.get("nodes/", state="ready", q="e", limit="1").json["next"]
    assert following.startswith("http://testserver/api/v1/nodes/?")
    assert "state=ready" in following and "q=e" in following and "limit=1" in following


# Entity tags


def test_an_unchanged_pool_answers_304(worker: Api, forest: dict[str, str]) -> None:
    first = worker.get("nodes/", state="ready")
    tag = first.headers["ETag"]
    for given in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        same = worker.get("nodes/", state="ready", headers={"If-None-Match": given})
        assert (same.status, same.content, same.headers["ETag"]) == (304, b"", tag)
        assert "Content-Type" not in same.headers
    for given in ('"other"', "", "nonsense", tag.strip('"')):
        assert worker.get("nodes/", state="ready", headers={"If-None-Match": given}).status == 200
    worker.post("claims/")
    changed = worker.get("nodes/", state="ready", headers={"If-None-Match": tag})
    assert changed.status == 200
    assert changed.headers["ETag"] != tag


def test_a_304_costs_the_query_alone(worker: Api, forest: dict[str, str], django_assert_num_queries: Any) -> None:
    tag = worker.get("nodes/", state="ready").headers["ETag"]
    with django_assert_num_queries(2):  # the token, the rows
        assert worker.get("nodes/", state="ready", headers={"If-None-Match": tag}).status == 304


def test_every_list_carries_a_tag(worker: Api, forest: dict[str, str]) -> None:
    plan = Plan.objects.get(name="first").id
    worker.post("claims/")
    for path in ("nodes/", "plans/", "leases/", "events/", f"nodes/{forest['db']}/events/", f"plans/{plan}/graph/"):
        tag = worker.get(path).headers["ETag"]
        assert worker.get(path, headers={"If-None-Match": tag}).status == 304, path


def test_a_lease_that_turns_stale_changes_the_list(worker: Api, forest: dict[str, str]) -> None:
    grant = worker.post("claims/")
    tag = worker.get("leases/").headers["ETag"]
    Lease.objects.filter(id=grant.json["lease"]["id"]).update(expired_at=1)
    assert worker.get("leases/", headers={"If-None-Match": tag}).status == 200


# Leases, plans, the graph


def test_leases_live_and_stale(worker: Api, forest: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    one = worker.post("claims/", {"ttl_s": 5}).json["lease"]["id"]
    two = worker.post("claims/", {"ttl_s": 600}).json["lease"]["id"]
    solo = worker.post(f"nodes/{forest['solo']}/claim/", {"ttl_s": 700}).json["lease"]["id"]
    monkeypatch.setattr("graph.clock.judged", lambda micros: micros + 100_000_000)
    primary = {
        live: [lease["id"] for lease in pages(worker, "leases/", limit="1", **query) if lease["moves_with"] is None]
        for live, query in {"any": {}, "true": {"live": "true"}, "false": {"live": "false"}}.items()
    }
    assert primary == {"any": [one, two, solo], "true": [two, solo], "false": [one]}
    assert all(lease["stale"] and not lease["live"] for lease in pages(worker, "leases/", live="false"))
    status = worker.get("status/").json
    assert [lease["id"] for lease in status["live"]] == [two, solo]
    assert [lease["id"] for lease in status["stale"]] == [one]
    assert status["stale"][0]["act"] == {
        "verb": "abandon",
        "node": forest["db/tables"],
        "command": "manage.py abandon --reason TEXT -- first db/tables",
    }
    assert status["stale"][0]["expires_in_s"] < 0
    assert 100 <= status["stale"][0]["age_s"] < 200
    assert worker.get(f"nodes/{forest['db/tables']}/").json["marks"] == ["stale"]


def test_plans_with_their_counts(worker: Api, forest: dict[str, str]) -> None:
    found = pages(worker, "plans/", limit="1")
    assert [plan["name"] for plan in found] == ["first", "second"]
    assert {state: n for state, n in found[0]["counts"].items() if n} == {"ready": 4, "pending": 3}
    assert {state: n for state, n in found[0]["containers"].items() if n} == {"ready": 2, "pending": 2}
    assert worker.get(f"plans/{found[1]['id'].lower()}/").json == found[1]
    assert worker.get("plans/01ARZ3NDEKTSV4RRFFQ69G5FAV/").code == "not_found"


def test_the_graph_of_a_plan_whole_and_in_pages(worker: Api, forest: dict[str, str]) -> None:
    plan = Plan.objects.get(name="first").id
    whole = worker.get(f"plans/{plan}/graph/").json
    assert whole["next"] is None
    nodes = Node.objects.filter(plan=plan).order_by("position")
    assert [node["id"] for node in whole["nodes"]] == [node.id for node in nodes]
    edges = {(edge["id"], edge["dependent"], edge["dependency"], edge["waived"]) for edge in whole["edges"]}
    stored = Edge.objects.filter(dependent__plan=plan).values_list("id", "dependent_id", "dependency_id", "waived")
    assert edges == {*stored}
    answer, paged = worker.get(f"plans/{plan}/graph/", limit="3"), list[Answer]()
    while answer.json["next"]:
        paged.append(answer)
        answer = worker.send("GET", answer.json["next"].removeprefix("http://testserver"))
    paged.append(answer)
    assert [node for each in paged for node in each.json["nodes"]] == whole["nodes"]
    assert [edge for each in paged for edge in each.json["edges"]] == whole["edges"]


# One node


def test_a_node_shows_why_it_waits(worker: Api, forest: dict[str, str]) -> None:
    index = worker.get(f"nodes/{forest['db/index']}/").json
    assert [wait["full_key"] for wait in index["waiting_on"]] == ["db/tables"]
    assert [(each["full_key"], each["waiting_on"]) for each in index["ancestors"]] == [("db", [])]
    inside = worker.get(f"nodes/{forest['api/in']}/").json
    assert inside["waiting_on"] == []
    assert [each["full_key"] for each in inside["ancestors"]] == ["api", "api/box"]
    assert [wait["full_key"] for wait in inside["ancestors"][0]["waiting_on"]] == ["db"]
    db = worker.get(f"nodes/{forest['db']}/").json
    assert [edge["node"]["full_key"] for edge in db["needed_by"]] == ["api"]
    assert [child["full_key"] for child in db["children"]] == ["db/tables", "db/index"]


def test_long_lists_of_a_node_are_cut_and_what_is_left_off_is_counted(
    worker: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = make_plan({"hub": {"needs": [f"spoke-{n}" for n in range(5)]}, **{f"spoke-{n}": {} for n in range(5)}})
    monkeypatch.setattr("graph.queries.MOST_EDGES", 3)
    monkeypatch.setattr("leases.detail.MOST_RUNS", 2)
    shown = worker.get(f"nodes/{ids['hub']}/").json
    assert (len(shown["needs"]), shown["left_off"]) == (3, {"needs": 2})
    for _ in range(4):
        worker.post(f"nodes/{ids['spoke-0']}/release/", held(worker.post(f"nodes/{ids['spoke-0']}/claim/")))
    runs = worker.get(f"nodes/{ids['spoke-0']}/").json
    assert ([run["fence"] for run in runs["runs"]], runs["left_off"]) == ([4, 3], {"runs": 2})
