"""Search from everywhere: nodes, plans and workers; the same on both databases, and as the API folds it."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from graph.models import Node
from leases.claim import claim
from tasksite.dashboard import search
from tests.builders import make_plan, make_worker

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


def keys(q: str) -> list[str]:
    return [node.full_key for node in search.find(q).nodes]


def test_nodes_are_found_by_key_and_title_whatever_the_case() -> None:
    ids = make_plan({"Api": {"tasks": {"schema": {}, "rest": {}}}, "web": {"tasks": {"mock": {"needs": ["Api/rest"]}}}})
    Node.objects.filter(id=ids["web/mock"]).update(title="A SCHEMA by hand")
    assert keys("SCHEMA") == ["Api/schema", "web/mock"]
    assert keys("api") == ["Api", "Api/rest", "Api/schema"] or sorted(keys("api")) == ["Api", "Api/rest", "Api/schema"]
    assert keys("nothing like it") == [] and search.find("nothing like it").none
    assert keys("%") == [] and keys("_") == []


def test_who_types_a_whole_key_or_an_id_gets_that_node_first() -> None:
    first = make_plan({f"o{n}": {"tasks": {"build": {}}} for n in range(40)}, name="one")
    ids = make_plan({"build": {"tasks": {"x": {}}}}, name="two")
    assert search.find("build").nodes[0].id == ids["build"]
    assert search.find("o39/build").nodes[0].id == first["o39/build"]
    assert [node.id for node in search.find(ids["build/x"].lower()).nodes] == [ids["build/x"]]
    assert len(search.find("build").nodes) == search.MOST_NODES and search.find("build").more


def test_keys_that_begin_so_go_before_those_that_only_hold_it() -> None:
    make_plan({"a": {"tasks": {"rebuild": {}, "build": {}}}})
    assert keys("bui") == ["a/build", "a/rebuild"]


def test_plans_and_workers_are_found_by_name(sam: Client) -> None:
    ids = make_plan({"a": {}}, name="Checkout & co")
    claim(node_id=ids["a"], caller=make_worker(), holder="builder/7")
    hits = search.find("CHECK")
    assert [plan.name for plan in hits.plans] == ["Checkout & co"] and hits.workers == []
    assert search.find("BUILDER").workers == ["builder/7"]
    shown = sam.get("/search/?q=builder").content.decode()
    assert re.search(r'<a href="/workers/~[\w-]+/"><span class="kind">worker</span> builder/7</a>', shown)
    assert "Checkout &amp; co" in sam.get("/search/?q=check").content.decode()


def test_it_is_a_page_and_a_part_of_every_page(ann: Client) -> None:
    ids = make_plan({"a": {}})
    whole = ann.get("/search/?q=A").content.decode()
    assert "<title>Search" in whole and f'href="/nodes/{ids["a"]}/"' in whole and 'value="A"' in whole
    part = ann.get("/search/?q=A", headers=HTMX).content.decode()
    assert "<html" not in part and f'href="/nodes/{ids["a"]}/"' in part
    assert ann.get("/search/?q=+", headers=HTMX).content.decode().strip() == ""
    assert "Type a part of a key" in ann.get("/search/").content.decode()
    for path in ("/", "/events/", "/workers/", "/nowhere/"):
        assert 'role="search"' in ann.get(path).content.decode()


@pytest.mark.parametrize("q", ["%3Cscript%3Ealert(1)%3C/script%3E", "%22%3E%3Cscript%3E", "%F0%9F%90%9D", "x" * 200])
def test_whatever_is_typed_is_only_looked_for(ann: Client, q: str) -> None:
    for headers in ({}, HTMX):
        answer = ann.get(f"/search/?q={q}", headers=headers)
        assert answer.status_code == 200 and "<script>" not in answer.content.decode()


@pytest.mark.parametrize("q", ["x" * 201, "%00"])
def test_what_no_field_sends_is_a_clear_page(ann: Client, q: str) -> None:
    assert ann.get(f"/search/?q={q}").status_code == 400


def test_queries_do_not_grow_with_the_graph(ann: Client) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert len(ann.get("/search/?q=t").content) < 100_000
        return len(queries)

    make_plan({"t": {}})
    small = cost()
    make_plan({f"o{n}": {"tasks": {f"t{m}": {} for m in range(20)}} for n in range(50)}, name="large")
    assert cost() == small
