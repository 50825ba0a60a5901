"""Objectives that wait on something stuck: found along the whole chain, and only as long as it is stuck."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from graph import clock as judge
from graph.editing import unblock, waive
from graph.models import Edge
from leases.acts import cancel
from leases.claim import Grant, claim
from leases.settle import reject
from tasksite.dashboard import held_up
from tests.builders import LEAD, make_plan, make_worker

pytestmark = pytest.mark.django_db


def held(grant: Grant) -> dict[str, Any]:
    return {"node_id": grant.node.id, "lease_id": grant.lease.id, "fence": grant.lease.fence}


def block(node_id: str) -> None:
    worker = make_worker(f"of {node_id}")
    grant = claim(node_id=node_id, caller=worker)
    for _ in range(3):
        reject(**held(grant), caller=worker, reason="no")


def found() -> dict[str, tuple[int, list[tuple[str, str]]]]:
    return {
        row.full_key: (row.tasks, [(cause.full_key, cause.why) for cause in row.causes])
        for row in held_up.read(judge.read()).objectives
    }


CHAIN: dict[str, Any] = {
    "api": {"tasks": {"schema": {}, "rest": {}}},
    "web": {"tasks": {"mock": {}, "page": {"needs": ["api/schema"]}, "more": {"needs": ["web/page"]}}},
    "docs": {"needs": ["api"], "tasks": {"one": {}, "two": {}}},
    "launch": {"needs": ["docs"]},
    "aside": {"tasks": {"one": {}}},
}


def test_a_blocked_task_holds_up_all_behind_it() -> None:
    ids = make_plan(CHAIN)
    assert found() == {}
    block(ids["api/schema"])
    why = [("api/schema", "blocked")]
    assert found() == {"web": (2, why), "docs": (2, why), "launch": (1, why)}
    unblock(node_id=ids["api/schema"], caller=LEAD, reason="mended")
    assert found() == {}


def test_a_stale_claim_does_and_a_live_one_does_not(clock: Callable[[int], None]) -> None:
    ids = make_plan(CHAIN)
    claim(node_id=ids["api/schema"], caller=make_worker(), ttl_s=5)
    assert found() == {}
    clock(6)
    assert found()["web"] == (2, [("api/schema", "stale")])


def test_a_stale_claim_holds_up_what_needs_any_task_of_its_lane(clock: Callable[[int], None]) -> None:
    ids = make_plan({"api": {"tasks": {"one": {}, "two": {}}}, "web": {"tasks": {"x": {"needs": ["api/two"]}}}})
    claim(node_id=ids["api/one"], caller=make_worker(), ttl_s=5)
    assert found() == {}
    clock(6)
    assert found() == {"web": (1, [("api/one", "stale")])}


def test_what_needs_a_cancelled_node_waits_until_the_edge_is_waived() -> None:
    ids = make_plan(CHAIN)
    cancel(node_id=ids["api/schema"], caller=LEAD, reason="dropped")
    assert found() == {"web": (2, [("api/schema", "cancelled")])}  # its container can still be done
    edge = Edge.objects.get(dependent_id=ids["web/page"], dependency_id=ids["api/schema"])
    waive(edge_id=edge.id, caller=LEAD, reason="not needed")
    assert found() == {}


def test_the_overview_says_it_with_links_and_escapes_it(ann: Client) -> None:
    ids = make_plan(CHAIN)
    block(ids["api/schema"])
    shown = ann.get("/").content.decode()
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", shown))
    assert "web Title of web 2 tasks wait for api/schema blocked" in text
    assert "launch Title of launch 1 task waits for api/schema blocked" in text
    part = shown.partition("Waiting on something stuck")[2]
    assert f'href="/lanes/{ids["web"]}/"' in part and f'href="/nodes/{ids["api/schema"]}/"' in part


def test_the_walk_is_bounded_and_its_statements_do_not_grow_with_the_graph(ann: Client) -> None:
    def cost(lanes: int) -> int:
        wide = {f"w{n}": {"needs": ["api/schema"], "tasks": {f"t{m}": {} for m in range(5)}} for n in range(lanes)}
        ids = make_plan({"api": {"tasks": {"schema": {}}}, **wide}, name=f"plan-{lanes}")
        block(ids["api/schema"])
        cache.clear()
        with CaptureQueriesContext(connection) as queries:
            waiting = held_up.read(judge.read())
        assert len(waiting.objectives) <= held_up.MOST_SHOWN
        return len(queries)

    small, large = cost(5), cost(200)
    assert small == large
    assert "and 185 more objectives" in ann.get("/").content.decode()
