"""The pages of lanes and workers: what is held, by whom, since when, and what came before."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from graph.models import Node
from leases import recover
from leases.claim import Grant, claim
from leases.heartbeat import heartbeat
from leases.settle import reject, report
from tasksite.dashboard import lane, workers
from tests.builders import LEAD, make_plan, make_worker

pytestmark = pytest.mark.django_db

NAMES = ("worker-1", "a/b", "..", ".", "a b", "~x", "%2F", "?q=1#x", "ä/✓", "<script>", "a\nb", "x" * 200, "a+b@c:9")


def held(grant: Grant) -> dict[str, Any]:
    return {"node_id": grant.node.id, "lease_id": grant.lease.id, "fence": grant.lease.fence}


def text(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def worker_page(client: Client, name: str) -> str:
    return client.get(reverse("worker", args=[name])).content.decode()


# Workers


@pytest.mark.parametrize("name", NAMES)
def test_a_worker_may_be_called_anything(ann: Client, name: str) -> None:
    ids = make_plan({"a": {}})
    claim(node_id=ids["a"], caller=make_worker(), holder=name)
    there = reverse("worker", args=[name])
    assert f'href="{there}"' in ann.get("/workers/").content.decode()
    assert re.fullmatch(r"/workers/[A-Za-z0-9~._%@:+-]+/", there) and "/../" not in there
    answer = ann.get(there)
    assert answer.status_code == 200 and f'href="/nodes/{ids["a"]}/"' in answer.content.decode()
    assert "<script>" not in answer.content.decode()


@pytest.mark.parametrize("there", ["nobody", "~", "~%00", "~!!!", "~AA", "%00", "~_w"])
def test_an_address_that_is_of_no_worker_is_not_found(ann: Client, there: str) -> None:
    assert ann.get(f"/workers/{there}/").status_code == 404


def test_a_worker_shows_what_it_holds_and_its_history(ann: Client, sam: Client, clock: Callable[[int], None]) -> None:
    ids = make_plan({"a": {"tasks": {"one": {}, "two": {}, "three": {}, "four": {}}}})
    worker = make_worker("bee")
    grant = claim(node_id=ids["a/one"], caller=worker)
    clock(50)
    report(**held(grant), caller=worker, outcome="done", summary="see one.md")
    grant = claim(node_id=ids["a/two"], caller=worker)
    for _ in range(3):
        reject(**held(grant), caller=worker, reason="no")
    grant = claim(node_id=ids["a/three"], caller=worker, ttl_s=600)
    recover.abandon(node_id=grant.node.id, caller=LEAD, reason="gone")
    grant = claim(node_id=ids["a/four"], caller=worker, ttl_s=600)
    clock(100)
    heartbeat(**held(grant), caller=worker, progress="half way")
    clock(70)
    shown = text(worker_page(ann, "bee"))
    assert re.search(r"holds a/four Title of four half way for 2 min , heartbeat 1 min ago", shown)
    assert re.search(r"abandoned a/three .* rejected a/two .* done a/one see one.md 50 s", shown)
    assert "of the last 3: 1 abandoned, 1 rejected, 1 done" in shown
    assert "Abandon" in shown and "Abandon" not in text(worker_page(sam, "bee"))
    clock(600)
    assert "stale a/four" in text(worker_page(ann, "bee")) and "bee silent" in text(
        ann.get("/workers/").content.decode()
    )


def test_without_a_claim_there_is_no_worker_yet(ann: Client) -> None:
    assert "Nobody has claimed anything yet." in ann.get("/workers/").content.decode()


# Lanes


def test_a_lane_shows_tasks_holder_clone_and_events(ann: Client, sam: Client, clock: Callable[[int], None]) -> None:
    ids = make_plan({"a": {"tasks": {"one": {}, "two": {"needs": ["a/one"]}}}, "b": {"tasks": {"x": {}}}}, name="pay")
    there = f"/lanes/{ids['a']}/"
    shown = text(ann.get(there).content.decode())
    assert f"a-{ids['a']}.1 once somebody claims here" in shown and "the directory starts empty" in shown
    worker = make_worker("bee")
    claim(node_id=ids["a/one"], caller=worker, ttl_s=600)
    clock(90)
    html = ann.get(there.lower()).content.decode()
    shown = text(html)
    assert re.search(r"Held by bee at a/one for 1 min", shown) and f"a-{ids['a']}.1 generation 1" in shown
    assert re.search(r"running a/one Title of one pending a/two Title of two", shown)
    assert "bee started a/one" in shown and "b/x" not in shown
    assert f'href="/nodes/{ids["a/two"]}/"' in html and f'href="/events/?lane={ids["a"]}"' in html
    assert "Abandon" in shown and "Abandon" not in text(sam.get(there).content.decode())
    recover.abandon(node_id=ids["a/one"], caller=LEAD, reason="gone")
    shown = text(ann.get(there).content.decode())
    assert f"a-{ids['a']}.2 for the next claim: generation 1 ended uncleanly" in shown


def test_a_task_is_no_lane(ann: Client) -> None:
    ids = make_plan({"a": {"tasks": {"one": {}}}, "leaf": {}})
    assert ann.get(f"/lanes/{ids['a/one']}/").status_code == 404
    assert ann.get("/lanes/01ARZ3NDEKTSV4RRFFQ69G5FAV/").status_code == 404
    assert ann.get(f"/lanes/{ids['a']}/?window=x").status_code == 400
    assert ann.get(f"/lanes/{ids['a']}/?after=x").status_code == 400
    assert "leaf" in ann.get(f"/lanes/{ids['leaf']}/").content.decode()


def test_the_tasks_of_a_long_lane_come_in_pages(ann: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane, "_TASKS", lane._TASKS.replace(str(lane.MOST_TASKS + 1), "4"))
    monkeypatch.setattr(lane, "MOST_TASKS", 3)
    ids = make_plan({"a": {"tasks": {f"t{n}": {} for n in range(7)}}})
    shown, query = list[str](), "?"
    while query:
        html = ann.get(f"/lanes/{ids['a']}/{query}").content.decode()
        shown += re.findall(r">a/(t\d)</a> <span", html.partition("Last events")[0])
        found = re.search(r'href="([^"]+)" rel="next"', html)
        query = found[1] if found else ""
    assert shown == [f"t{n}" for n in range(7)]


def test_queries_do_not_grow_and_pages_are_bounded(ann: Client) -> None:
    def cost(lanes: int, tasks: int) -> list[int]:
        ids = make_plan({f"o{n}": {"tasks": {f"t{m}": {} for m in range(tasks)}} for n in range(lanes)}, f"p{lanes}")
        for n in range(lanes):
            worker = make_worker(f"w-{lanes}-{n}")
            grant = claim(node_id=ids[f"o{n}/t0"], caller=worker)
            report(**held(grant), caller=worker, outcome="done")
            claim(node_id=ids[f"o{n}/t1"], caller=worker)
        Node.objects.update(title="t" * 500)
        counts = []
        for path in (f"/lanes/{ids['o0']}/", "/workers/", f"/workers/w-{lanes}-0/"):
            cache.clear()
            with CaptureQueriesContext(connection) as queries:
                answer = ann.get(path)
            assert answer.status_code == 200 and len(answer.content) < 300_000
            counts.append(len(queries))
        return counts

    assert cost(3, 3) == cost(60, 250)
    assert workers.MOST_WORKERS >= 63
