"""The overview and the two acts: what they show, what they cost, who may do what."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from graph.errors import Busy
from graph.models import Event, Node
from leases import recover
from leases.claim import Grant, claim, claim_next
from leases.heartbeat import heartbeat
from leases.settle import reject, release, report
from tasksite.dashboard import attention, work
from tests.builders import LEAD, make_plan, make_worker, states

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


@pytest.fixture
def lead(client: Client) -> Client:
    client.force_login(User.objects.create_user("ann", password="pw", is_staff=True))
    return client


@pytest.fixture
def watcher() -> Client:
    client = Client()
    client.force_login(User.objects.create_user("sam", password="pw"))
    return client


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Moves the judged clock on, in seconds."""
    shift = [0]
    monkeypatch.setattr("graph.clock.judged", lambda micros: micros + shift[0])

    def forward(seconds: int) -> None:
        shift[0] += seconds * 1_000_000

    yield forward


def held(grant: Grant) -> dict[str, Any]:
    return {"node_id": grant.node.id, "lease_id": grant.lease.id, "fence": grant.lease.fence}


def page(client: Client, **headers: str) -> str:
    return client.get("/", headers=headers).content.decode()


def etag(client: Client) -> str:
    return client.get("/", headers=HTMX)["ETag"]


def text(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


# Who sees it


def test_it_is_for_people_who_are_signed_in(client: Client) -> None:
    assert client.get("/")["Location"] == "/login/?next=/"
    poll = client.get("/", headers={**HTMX, "HX-Current-URL": "http://testserver/?a=b"})
    assert poll["HX-Redirect"] == "/login/?next=%2F%3Fa%3Db"  # the whole page goes, not its part alone
    User.objects.create_user("sam", password="good-and-long")
    wrong = client.post("/login/", {"username": "sam", "password": "wrong"})
    assert "correct username" in wrong.content.decode()
    assert client.post("/login/", {"username": "sam", "password": "good-and-long"})["Location"] == "/"
    assert "sees only" in page(client)
    assert client.post("/logout/")["Location"] == "/login/"
    assert client.get("/").status_code == 302


def test_one_who_is_no_lead_sees_and_does_not_act(watcher: Client, lead: Client) -> None:
    ids = make_plan({"a": {"tasks": {"one": {}}}})
    grant = claim(node_id=ids["a/one"], caller=make_worker())
    assert "Abandon" in page(lead) and "Abandon" not in page(watcher)
    there = f"/nodes/{grant.node.id}/abandon/"
    for answer in (watcher.get(there), watcher.post(there, {"reason": "x", "fence": 1})):
        assert answer.status_code == 403 and "for leads" in answer.content.decode()
    assert states(ids)["a/one"] == "running"


# What it shows


def test_without_a_plan_it_says_how_to_get_one(lead: Client) -> None:
    shown = page(lead)
    assert "There is no plan yet" in shown and "import_plan" in shown
    assert "Nothing has happened yet." in shown


def test_it_shows_pool_lanes_progress_and_events(lead: Client) -> None:
    ids = make_plan({"a": {"tasks": {"one": {}, "two": {}}}, "b": {"needs": ["a"]}, "c": {}}, name="pay")
    worker = make_worker()
    grant = claim(node_id=ids["a/one"], caller=worker)
    heartbeat(**held(grant), caller=worker, progress="half way")
    shown = text(page(lead))
    assert "1 running" in shown and "2 ready" in shown and "1 pending" in shown
    assert re.search(r"a running a/one Title of one half way worker-1 for \d+ s", shown)
    assert "waits for a nobody" in shown
    assert "free next c nobody" in shown
    assert re.search(r"a/two Title of two lane taken", shown) and re.search(r"c Title of c lane free", shown)
    assert "worker-1 started a/one" in shown and "lead imported the plan pay" in shown


def test_a_blocked_task_shows_its_last_reasons(lead: Client) -> None:
    ids = make_plan({"a": {}})
    worker = make_worker()
    grant = claim(node_id=ids["a"], caller=worker)
    for why in ("first why", "second why", "third why"):
        reject(**held(grant), caller=worker, reason=why)
    shown = text(page(lead))
    assert shown.index("third why") < shown.index("second why") < shown.index("first why")
    assert "1 task until somebody unblocks" in shown
    assert "worker-1 rejected a once too often" in shown


@pytest.mark.usefixtures("falling_ids")
def test_the_last_reasons_are_the_last_whatever_their_ids() -> None:
    ids = make_plan({"a": {}})
    worker = make_worker()
    grant = claim(node_id=ids["a"], caller=worker)
    reject(**held(grant), caller=worker, reason="first why")
    release(**held(grant), caller=worker, reason="second why")
    grant = claim(node_id=ids["a"], caller=worker)
    for why in ("third why", "fourth why"):
        reject(**held(grant), caller=worker, reason=why)
    (blocked,) = attention.blocked()
    assert [reason.text for reason in blocked.reasons] == ["fourth why", "third why", "second why"]


def test_a_drained_plan_says_so_and_what_was_reported(lead: Client) -> None:
    make_plan({"a": {"tasks": {"one": {}, "two": {"needs": ["a/one"]}}}})
    worker = make_worker()
    while grant := claim_next(caller=worker):
        report(**held(grant), caller=worker, outcome="done", summary=f"see reports/{grant.node.key}.md")
    shown = text(page(lead))
    assert "Drained." in shown and "see reports/two.md" in shown
    assert shown.index("reports/two.md") < shown.index("reports/one.md")
    assert "The pool is empty: everything is settled." in shown


def test_the_banner_of_stale_claims_is_on_every_page(
    lead: Client, watcher: Client, clock: Callable[[int], None]
) -> None:
    ids = make_plan({"a": {"tasks": {"one": {}}}})
    claim(node_id=ids["a/one"], caller=make_worker(), ttl_s=5)
    pages = ("/", f"/nodes/{ids['a/one']}/abandon/", "/admin/", "/nowhere/")
    for path in pages:
        assert "stale claim" not in text(lead.get(path).content.decode())
    clock(5 + 4 * 60)
    for path in pages:
        shown = text(lead.get(path).content.decode())
        assert "1 stale claim" in shown and "held by worker-1 , stale for 4 min" in shown
    assert "1 stale claim" in text(page(watcher))
    assert "▲" not in page(lead)  # the mark is drawn by the style sheet, the word says it


def test_text_from_outside_is_escaped(lead: Client) -> None:
    evil = "<script>alert(1)</script>"
    ids = make_plan({"a": {}})
    Node.objects.filter(id=ids["a"]).update(title=evil)
    worker = make_worker(evil)
    grant = claim(node_id=ids["a"], caller=worker)
    heartbeat(**held(grant), caller=worker, progress=evil)
    for _ in range(3):
        reject(**held(grant), caller=worker, reason=evil)
    shown = page(lead)
    assert "<script>alert" not in shown and shown.count("&lt;script&gt;alert(1)") >= 3


# What it costs


def test_an_unchanged_poll_answers_304_before_anything_is_read(lead: Client) -> None:
    make_plan({"a": {}})
    tag = etag(lead)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        again = lead.get("/", headers={**HTMX, "If-None-Match": tag})
    assert again.status_code == 304 and not again.content
    on_postgresql = 2 if connection.vendor == "postgresql" else 0  # the clock, and the marks of writers
    assert len(queries) == 4 + on_postgresql, [query["sql"] for query in queries]  # session, user, horizon, revision
    assert lead.get("/").status_code == 200  # the page itself is always made anew


def test_each_change_changes_the_revision(lead: Client, clock: Callable[[int], None]) -> None:
    ids = make_plan({"a": {}})
    worker = make_worker()
    seen = [etag(lead)]

    def changed() -> bool:
        seen.append(etag(lead))
        return seen[-1] != seen[-2]

    assert not changed()
    grant = claim(node_id=ids["a"], caller=worker, ttl_s=60)
    assert changed()
    clock(30)
    heartbeat(**held(grant), caller=worker, progress="on")
    assert changed()
    clock(60)  # stale by the clock alone: no event, no job
    assert changed()
    recover.abandon(node_id=ids["a"], caller=LEAD, reason="gone")
    assert changed()


def timeless(part: str) -> str:
    return re.sub(r'data-now="\d+"', "", part)


def test_the_part_holds_nothing_of_one_reader(lead: Client) -> None:
    ids = make_plan({"a": {}})
    claim(node_id=ids["a"], caller=make_worker())
    part = page(lead, **HTMX)
    assert part.lstrip().startswith('<div id="live"') and "<html" not in part
    assert "csrf" not in part and "ann" not in text(part).split()
    other = Client()
    other.force_login(User.objects.create_user("bob", password="pw", is_staff=True))
    with CaptureQueriesContext(connection) as queries:
        assert timeless(page(other, **HTMX)) == timeless(part)
    assert not [query for query in queries if "graph_plan" in query["sql"]]  # rendered once for both


def grown(*numbers: int) -> None:
    for number in numbers:
        tasks: dict[str, dict[str, object]] = {f"t{n}": {} for n in range(30)}
        ids = make_plan({f"o{n}": {"tasks": tasks} for n in range(10)}, name=f"plan-{number}")
        worker = make_worker(f"worker-{number}")
        for lane in range(5):
            grant = claim(node_id=ids[f"o{lane}/t0"], caller=worker)
            report(**held(grant), caller=worker, outcome="done", summary="ok")
            grant = claim(node_id=ids[f"o{lane}/t1"], caller=worker)
        for _ in range(3):
            reject(**held(grant), caller=worker, reason="no")


def cost(client: Client) -> tuple[int, int]:
    cache.clear()
    with CaptureQueriesContext(connection) as queries:
        shown = client.get("/").content
    return len(queries), len(shown)


def test_queries_do_not_grow_with_the_graph_and_the_page_is_bounded(lead: Client) -> None:
    grown(0)
    small = cost(lead)
    grown(1, 2, 3)
    large = cost(lead)
    assert small[0] == large[0], (small, large)
    assert large[1] < 150_000
    assert Node.objects.filter(state="ready", leaf=True).count() > work.MOST_READY
    shown = text(page(lead))
    hidden = Node.objects.filter(state="ready", leaf=True).count() - work.MOST_READY
    assert f"and {hidden:,} more" in shown


def test_long_texts_do_not_swell_the_page(lead: Client) -> None:
    ids = make_plan({f"o{n}": {} for n in range(60)})
    Node.objects.filter(id__in=ids.values()).update(title="x" * 500)
    assert len(page(lead)) < 300_000


# Acting


def test_abandon_asks_for_a_reason_and_then_acts(lead: Client) -> None:
    ids = make_plan({"a": {}})
    claim(node_id=ids["a"], caller=make_worker())
    there = f"/nodes/{ids['a'].lower()}/abandon/"
    asked = lead.get(there, {"fence": "1"}).content.decode()
    assert "Held by" in asked and 'name="fence" value="1"' in asked and "csrfmiddlewaretoken" in asked
    empty = lead.post(there, {"reason": "  ", "fence": "1"})
    assert empty.status_code == 400 and "Say why" in empty.content.decode()
    assert states(ids)["a"] == "running"
    done = lead.post(there, {"reason": "it hangs", "fence": "1"}, follow=True)
    assert done.redirect_chain == [(f"/nodes/{ids['a']}/", 302)]
    assert "The claim is abandoned: a is ready now." in done.content.decode()
    assert Event.objects.get(type="node.abandoned").reason == "it hangs"
    assert Event.objects.get(type="node.abandoned").actor == "ann"


def test_a_second_click_never_ends_a_newer_claim(lead: Client) -> None:
    ids = make_plan({"a": {}})
    claim(node_id=ids["a"], caller=make_worker("first"))
    recover.abandon(node_id=ids["a"], caller=LEAD, reason="gone")
    claim(node_id=ids["a"], caller=make_worker("second"))
    there = f"/nodes/{ids['a']}/abandon/"
    refused = lead.post(there, {"reason": "again", "fence": "1"})
    assert refused.status_code == 409
    shown = text(refused.content.decode())
    assert "The current fence is 2. Nothing was changed." in shown and "second holds a newer one" in shown
    assert states(ids)["a"] == "running"
    assert "holds a newer one" in text(lead.get(there, {"fence": "1"}).content.decode())


def test_a_refusal_to_a_script_is_a_normal_answer_that_refreshes_the_page(lead: Client) -> None:
    ids = make_plan({"a": {}})
    there = f"/nodes/{ids['a']}/unblock/"
    assert lead.post(there, {"reason": "x"}).status_code == 409
    answer = lead.post(there, {"reason": "x"}, headers=HTMX)
    assert answer.status_code == 200 and answer["HX-Trigger"] == '{"acted": {}}'
    assert "a is ready, not blocked. Nothing was changed." in text(answer.content.decode())


def test_unblock_by_script_answers_with_a_notice(lead: Client) -> None:
    ids = make_plan({"a": {}})
    worker = make_worker()
    grant = claim(node_id=ids["a"], caller=worker)
    for _ in range(3):
        reject(**held(grant), caller=worker, reason="no")
    there = f"/nodes/{ids['a']}/unblock/"
    assert "hx-post" in lead.get(there, headers=HTMX).content.decode()
    assert "hx-post" not in lead.get(there).content.decode()
    done = lead.post(there, {"reason": "fixed"}, headers=HTMX)
    assert 'hx-swap-oob="true"' in done.content.decode() and "Unblocked: a is ready now." in done.content.decode()
    assert states(ids)["a"] == "ready"


def test_a_busy_database_is_said_and_not_an_error(lead: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = make_plan({"a": {}})
    claim(node_id=ids["a"], caller=make_worker())

    def busy(**_: object) -> None:
        raise Busy

    monkeypatch.setattr("tasksite.dashboard.acts.abandon", busy)
    answer = lead.post(f"/nodes/{ids['a']}/abandon/", {"reason": "x", "fence": 1})
    shown = answer.content.decode()
    assert answer.status_code == 503 and "stayed busy; try again" in shown
    assert re.search(r"<textarea[^>]*>\s*x</textarea>", shown)  # what was typed stands


@pytest.mark.parametrize("fence", ["", "x", "0", "-1", "99999999999999999999"])
def test_a_fence_that_is_none_is_a_bad_request(lead: Client, fence: str) -> None:
    ids = make_plan({"a": {}})
    answer = lead.post(f"/nodes/{ids['a']}/abandon/", {"reason": "x", "fence": fence})
    assert answer.status_code == 400 and "could not be read" in answer.content.decode()


# Pages for what goes wrong


def test_error_pages_are_ours_and_show_no_traceback(lead: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = lead.get("/nodes/01ARZ3NDEKTSV4RRFFQ69G5FAV/abandon/")
    assert missing.status_code == 404 and "There is nothing here" in missing.content.decode()
    assert lead.get("/nodes/not-an-id/abandon/").status_code == 404
    assert lead.get("/api/v1/nowhere/")["Content-Type"] == "application/problem+json"
    strict = Client(enforce_csrf_checks=True, raise_request_exception=False)
    expired = strict.post("/login/", {"username": "a", "password": "b"})
    assert expired.status_code == 403 and "This form has expired" in expired.content.decode()

    def broken(*_: object) -> None:
        raise RuntimeError("a secret detail")

    monkeypatch.setattr("tasksite.dashboard.views.live.answer", broken)
    lead.raise_request_exception = False
    failed = lead.get("/")
    assert failed.status_code == 500
    assert "Something went wrong here" in failed.content.decode() and "secret" not in failed.content.decode()


def test_every_page_stands_under_the_policy_without_anything_inline(lead: Client) -> None:
    ids = make_plan({"a": {}})
    for path in ("/", f"/nodes/{ids['a']}/abandon/", "/nowhere/"):
        answer = lead.get(path)
        assert "unsafe" not in answer["Content-Security-Policy"]
        html = answer.content.decode()
        assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=", html), path


def test_all_who_were_told_of_the_same_change_get_the_same_page(lead: Client) -> None:
    def asked(person: Client, **headers: str) -> str:
        return person.get("/", headers={**HTMX, **headers}).content.decode()

    other = Client()
    other.force_login(User.objects.create_user("bob", password="pw", is_staff=True))
    make_plan({"a": {}})
    first = asked(lead, Told="some revision")
    make_plan({"b": {}}, name="later")
    assert "later" not in first
    assert "later" not in asked(other, Told="some revision")
    assert "later" in asked(other, Told="the next one")
    assert "later" in asked(lead)
