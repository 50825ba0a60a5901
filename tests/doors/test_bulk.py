"""Bulk acts: one reason for many, each judged by itself, and one notice of what was done and what was refused."""

import logging
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from graph.editing import unblock
from graph.errors import Busy
from graph.models import Event
from leases import recover
from leases.audit import audit
from leases.claim import Grant, claim
from leases.models import Lease
from leases.settle import reject
from tasksite.dashboard import acts, bulk
from tests.builders import LEAD, make_plan, make_worker, states

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
ABANDON, UNBLOCK = "/bulk/abandon/", "/bulk/unblock/"
NOBODY = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@pytest.fixture
def lead(client: Client) -> Client:
    client.force_login(User.objects.create_user("ann", password="pw", is_staff=True))
    return client


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Moves the judged clock on, in seconds."""
    shift = [0]
    monkeypatch.setattr("graph.clock.judged", lambda micros: micros + shift[0])

    def forward(seconds: int) -> None:
        shift[0] += seconds * 1_000_000

    return forward


def text(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split()).replace(" ,", ",").replace(" :", ":")


def stale(clock: Callable[[int], None], *keys: str, name: str = "plan", worker: str = "worker-1") -> dict[str, str]:
    """A plan whose lanes are all held by somebody who has gone."""
    ids = make_plan({key: {} for key in keys}, name=name)
    caller = make_worker(worker)
    for key in keys:
        claim(node_id=ids[key], caller=caller, ttl_s=5)
    clock(90)
    return ids


def blocked(*keys: str) -> dict[str, str]:
    ids = make_plan({key: {} for key in keys})
    caller = make_worker()
    for key in keys:
        grant = claim(node_id=ids[key], caller=caller)
        for _ in range(3):
            reject(**held(grant), caller=caller, reason=f"{key} is <b>broken</b>")
    return ids


def held(grant: Grant) -> dict[str, Any]:
    return {"node_id": grant.node.id, "lease_id": grant.lease.id, "fence": grant.lease.fence}


def ticks(html: str) -> dict[str, bool]:
    """The values that can be ticked, and whether they are."""
    boxes = re.findall(r'<input type="checkbox" name="target" value="([^"]+)"( checked)?>', html)
    return {value: bool(checked) for value, checked in boxes}


# Asking


def test_all_stale_claims_are_offered_ticked_with_their_fences(lead: Client, clock: Callable[[int], None]) -> None:
    ids = stale(clock, "a", "b")
    alive = make_plan({"c": {}}, name="other")
    claim(node_id=alive["c"], caller=make_worker("worker-2"))
    shown = lead.get(ABANDON).content.decode()
    assert ticks(shown) == {f"{ids['a']}:1": True, f"{ids['b']}:1": True}
    assert "held by worker-1, stale for 1 min" in text(shown)
    assert "csrfmiddlewaretoken" in shown and "hx-post" not in shown
    assert "hx-post" in lead.get(ABANDON, headers=HTMX).content.decode()


def test_blocked_tasks_are_offered_with_their_last_reasons(lead: Client) -> None:
    ids = blocked("a", "b")
    shown = lead.get(UNBLOCK).content.decode()
    assert ticks(shown) == {ids["a"]: True, ids["b"]: True}
    assert "rejected: a is &lt;b&gt;broken&lt;/b&gt;" in text(shown)


@pytest.mark.parametrize(("there", "said"), [(ABANDON, "No claim is stale now."), (UNBLOCK, "No task is blocked now.")])
def test_where_there_is_nothing_to_do_it_says_so(lead: Client, there: str, said: str) -> None:
    shown = lead.get(there).content.decode()
    assert said in shown and "<form method" not in shown.partition("<main")[2]


def test_the_overview_offers_them_where_there_are_several(lead: Client, clock: Callable[[int], None]) -> None:
    stale(clock, "a")
    assert ABANDON not in lead.get("/").content.decode()
    stale(clock, "b", name="other", worker="worker-2")
    shown = lead.get("/").content.decode()
    assert f'href="{ABANDON}" hx-get="{ABANDON}"' in shown and UNBLOCK not in shown
    assert f'href="{ABANDON}">' in lead.get(ABANDON).content.decode()  # elsewhere a plain link
    watcher = Client()
    watcher.force_login(User.objects.create_user("sam", password="pw"))
    assert ABANDON not in watcher.get("/").content.decode()
    for answer in (watcher.get(ABANDON), watcher.post(ABANDON), watcher.get(UNBLOCK), watcher.post(UNBLOCK)):
        assert answer.status_code == 403
    assert Client().get(ABANDON)["Location"] == f"/login/?next={ABANDON}"
    assert lead.put(ABANDON).status_code == 405


def test_the_offer_is_bounded_and_costs_as_many_queries_for_many(
    lead: Client, clock: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def cost(there: str) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert lead.get(there).status_code == 200
        return len(queries)

    stale(clock, "a", "b")
    few = cost(ABANDON)
    stale(clock, *(f"c{n}" for n in range(20)), name="other", worker="worker-2")
    assert cost(ABANDON) == few
    monkeypatch.setattr(bulk, "MOST", 3)
    shown = lead.get(ABANDON).content.decode()
    assert len(ticks(shown)) == 3 and "(3 of 22: the rest can follow)" in text(shown)
    monkeypatch.undo()


# Acting


def test_all_stale_claims_end_for_one_reason(lead: Client, clock: Callable[[int], None]) -> None:
    ids = stale(clock, "a", "b")
    values = [*ticks(lead.get(ABANDON).content.decode())]
    done = lead.post(ABANDON, {"target": values, "reason": "power cut"}, follow=True)
    assert done.redirect_chain == [("/", 302)]
    assert "2 claims abandoned. ready now: a, b" in text(done.content.decode())
    assert states(ids) == {"a": "ready", "b": "ready"}
    events = Event.objects.filter(type="node.abandoned").values_list("actor", "reason")
    assert [*events] == [("ann", "power cut")] * 2
    assert audit() == []


def test_by_script_the_answer_is_one_notice_and_the_page_is_refreshed(lead: Client) -> None:
    ids = blocked("a", "b")
    answer = lead.post(UNBLOCK, {"target": [ids["a"], ids["b"]], "reason": "mended"}, headers=HTMX)
    html = answer.content.decode()
    assert answer["HX-Trigger"] == '{"acted": {}}' and html.count('hx-swap-oob="true"') == 1
    assert "2 tasks unblocked. ready now: a, b" in text(html) and 'class="notice success"' in html
    assert states(ids) == {"a": "ready", "b": "ready"}


def test_a_claim_that_is_newer_than_the_one_shown_is_left_alone(lead: Client, clock: Callable[[int], None]) -> None:
    ids = stale(clock, "a", "b")
    values = [*ticks(lead.get(ABANDON).content.decode())]
    recover.abandon(node_id=ids["a"], caller=LEAD, reason="gone")
    claim(node_id=ids["a"], caller=make_worker("worker-2"))
    done = lead.post(ABANDON, {"target": values, "reason": "x"}, follow=True)
    shown = text(done.content.decode())
    assert "1 claim abandoned, 1 refused. ready now: b Refused for a: The current fence is 2. Nothing" in shown
    assert states(ids) == {"a": "running", "b": "ready"}
    assert Lease.objects.get(ended_at=None).holder == "worker-2"


def test_the_second_lead_is_told_that_nothing_was_left_to_do(lead: Client) -> None:
    ids = blocked("a", "b")
    sent = {"target": [ids["a"], ids["b"]], "reason": "x"}
    lead.post(UNBLOCK, sent, headers=HTMX)
    again = lead.post(UNBLOCK, sent, headers=HTMX).content.decode()
    assert 'class="notice error"' in again
    assert "0 tasks unblocked, 2 refused. Refused for a: a is ready, not blocked." in text(again)


def test_only_what_is_ticked_is_touched_and_a_missing_reason_loses_no_tick(lead: Client) -> None:
    ids = blocked("a", "b")
    again = lead.post(UNBLOCK, {"target": [ids["b"]], "reason": " "})
    assert again.status_code == 400 and "Say why" in again.content.decode()
    assert ticks(again.content.decode()) == {ids["a"]: False, ids["b"]: True}
    none = lead.post(UNBLOCK, {"reason": "x"})
    assert none.status_code == 400 and "Tick at least one." in none.content.decode()
    assert "Say why" in lead.post(UNBLOCK, {"target": [ids["b"]]}, headers=HTMX).content.decode()
    lead.post(UNBLOCK, {"target": [ids["b"]], "reason": "x"})
    assert states(ids) == {"a": "blocked", "b": "ready"}


@pytest.mark.parametrize(
    ("there", "value"),
    [
        (ABANDON, "x"),
        (ABANDON, NOBODY),
        (ABANDON, f"{NOBODY}:"),
        (ABANDON, f"{NOBODY}:0"),
        (ABANDON, f"{NOBODY}:-1"),
        (ABANDON, f"{NOBODY}:{10**30}"),
        (ABANDON, f"{NOBODY}:1:1"),
        (ABANDON, f"{NOBODY}:٣"),
        (UNBLOCK, ""),
        (UNBLOCK, f"{NOBODY}:1"),
        (UNBLOCK, "\x00"),
    ],
)
def test_what_cannot_be_read_is_a_bad_request(lead: Client, there: str, value: str) -> None:
    answer = lead.post(there, {"target": [value], "reason": "x"})
    assert answer.status_code == 400 and "could not be read" in answer.content.decode()


def test_one_request_takes_so_many_and_no_more(lead: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = blocked("a", "b")
    monkeypatch.setattr(bulk, "MOST", 1)
    assert lead.post(UNBLOCK, {"target": [*ids.values()], "reason": "x"}).status_code == 400
    assert {*states(ids).values()} == {"blocked"}


def test_a_node_that_is_not_there_is_refused_and_the_rest_go_on(lead: Client) -> None:
    ids = blocked("a")
    done = lead.post(UNBLOCK, {"target": [NOBODY, ids["a"].lower()], "reason": "x"}, follow=True)
    assert f"1 task unblocked, 1 refused. ready now: a Refused for {NOBODY}" in text(done.content.decode())


def test_one_that_fails_does_not_stop_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = blocked("a", "b")

    def sometimes(*, node_id: str, **about: Any) -> Any:
        if node_id == ids["a"]:
            raise RuntimeError("a secret detail")
        return unblock(node_id=node_id, **about)

    monkeypatch.setattr("tasksite.dashboard.acts.unblock", sometimes)
    targets = [bulk.Target(node_id, key) for key, node_id in ids.items()]
    logging.disable()
    try:
        outcome = bulk.perform(acts.UNBLOCK, targets, LEAD, "x")
    finally:
        logging.disable(logging.NOTSET)
    assert outcome.states == [("ready", ["b"])] and outcome.level == "warning"
    assert [name for name, _ in outcome.refused] == ["a"] and "secret" not in outcome.refused[0][1]


def test_a_busy_database_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def busy(*, node_id: str, **_: Any) -> None:
        asked.append(node_id)
        raise Busy

    monkeypatch.setattr("tasksite.dashboard.acts.unblock", busy)
    outcome = bulk.perform(acts.UNBLOCK, [bulk.Target(key, key) for key in "abc"], LEAD, "x")
    assert asked == ["a"] and outcome.level == "error"
    assert outcome.refused == [(key, "The database stayed busy; try again.") for key in "abc"]
