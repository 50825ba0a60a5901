"""The events page: everything in sentences, newest first, narrowed by a form; and one event with all that is stored."""

import re
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from graph.models import Event, Node
from leases.claim import Grant, claim
from leases.settle import reject, release, report
from tasksite.dashboard import events
from tests.builders import make_plan, make_worker

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


def held(grant: Grant) -> dict[str, Any]:
    return {"node_id": grant.node.id, "lease_id": grant.lease.id, "fence": grant.lease.fence}


def seqs(html: str) -> list[int]:
    return [int(seq) for seq in re.findall(r'class="when" href="/events/(\d+)/"', html)]


def page(client: Client, query: str = "", **headers: str) -> str:
    return client.get(f"/events/{query}", headers=headers).content.decode()


def text(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


@pytest.fixture
def ids() -> dict[str, str]:
    """Two lanes, each with a claim that has ended; `b/one` was rejected twice and given back."""
    ids = make_plan({"a": {"tasks": {"one": {}}}, "b": {"tasks": {"one": {}}}}, name="pay")
    report(
        **held(grant := claim(node_id=ids["a/one"], caller=(ann := make_worker("anna")))), caller=ann, outcome="done"
    )
    assert grant.node.id == ids["a/one"]
    grant = claim(node_id=ids["b/one"], caller=(bob := make_worker("bob/2")))
    reject(**held(grant), caller=bob, reason="The Compiler is missing")
    release(**held(grant), caller=bob, reason="later")
    return ids


def test_everything_is_there_newest_first(ann: Client, ids: dict[str, str]) -> None:
    shown = seqs(page(ann))
    assert shown == sorted(Event.objects.values_list("seq", flat=True), reverse=True)
    said = text(page(ann))
    assert "anna finished a/one" in said and "lead imported the plan pay" in said and "lead added b/one" in said


@pytest.mark.parametrize(
    ("query", "those"),
    [
        ("?type=node.done", {"type": "node.done"}),
        ("?plan=pay", {}),
        ("?actor=bob/2", {"actor": "bob/2"}),
        ("?text=the+compiler", {"reason__contains": "Compiler"}),
        ("?text=the+compiler&actor=anna", {"actor": "nobody"}),
        ("?type=attempt.closed&actor=bob/2", {"actor": "bob/2", "type": "attempt.closed"}),
        ("?type=&plan=&actor=&text=", {}),
    ],
)
def test_a_filter_shows_those_and_no_others(
    ann: Client, ids: dict[str, str], query: str, those: dict[str, str]
) -> None:
    wanted = Event.objects.filter(**those).order_by("-seq").values_list("seq", flat=True)
    assert seqs(page(ann, query)) == [*wanted]


def test_of_a_node_and_of_a_lane(ann: Client, ids: dict[str, str]) -> None:
    node = Event.objects.filter(node=ids["b/one"]).order_by("-seq").values_list("seq", flat=True)
    assert seqs(page(ann, f"?node={ids['b/one'].lower()}")) == [*node]
    lane = Event.objects.filter(objective=ids["b"]).order_by("-seq").values_list("seq", flat=True)
    shown = page(ann, f"?lane={ids['b']}&type=")
    assert seqs(shown) == [*lane] and f'<input type="hidden" name="lane" value="{ids["b"]}">' in shown
    both = page(ann, f"?lane={ids['b']}&type=node.running")
    assert len(seqs(both)) == 2 and f'href="?lane={ids["b"]}"' not in both
    assert 'href="?type=node.running" aria-label="of all lanes"' in both


@pytest.mark.parametrize(
    "query",
    ["?type=x", "?node=x", "?lane=1", "?before=x", "?before=-1", "?before=99999999999999999999999", "?actor=%00"],
)
def test_what_cannot_be_asked_is_a_clear_page(ann: Client, query: str) -> None:
    answer = ann.get(f"/events/{query}")
    assert answer.status_code == 400 and "could not be read" in answer.content.decode()


def test_what_matches_nothing_says_so(ann: Client, ids: dict[str, str]) -> None:
    for query in ("?plan=nowhere", "?actor=%27;--", "?lane=01ARZ3NDEKTSV4RRFFQ69G5FAV", "?before=1"):
        assert "Nothing like it has happened." in page(ann, query)


def test_pages_follow_each_other_without_gap_or_repeat(ann: Client) -> None:
    make_plan({f"o{n}": {} for n in range(120)})
    shown, query, pages = list[int](), "?plan=plan", 0
    while query:
        html = page(ann, query)
        shown += seqs(html)
        pages += 1
        assert ('id="live"' in html) == (pages == 1)  # the pages behind the first stand still
        found = re.search(r'rel="next" href="([^"]+)"', html)
        query = found[1].replace("&amp;", "&") if found else ""
    assert shown == sorted(Event.objects.values_list("seq", flat=True), reverse=True) and pages == 3


def test_a_search_that_no_index_helps_goes_back_step_by_step(
    ann: Client, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "LOOKED_THROUGH", 5)
    first = page(ann, "?actor=lead")
    assert "Nothing like it since event" in text(first) and "look through older events" in first
    shown, query = list[int](), "?actor=lead"
    while query:
        html = page(ann, query)
        shown += seqs(html)
        found = re.search(r'rel="next" href="([^"]+)"', html)
        query = found[1].replace("&amp;", "&") if found else ""
    assert shown == [*Event.objects.filter(actor="lead").order_by("-seq").values_list("seq", flat=True)]


def test_nothing_is_looked_for_below_the_first_event(ann: Client, ids: dict[str, str]) -> None:
    """PostgreSQL counts on where rolled back and deleted rows were."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE graph_event SET seq = seq + 1000000")
    assert "Nothing like it has happened." in page(ann, "?actor=nobody")
    assert "Nothing like it has happened." in page(ann, "?actor=nobody&before=999999999")


def test_the_first_page_is_live(ann: Client, ids: dict[str, str]) -> None:
    tag = ann.get("/events/?actor=anna", headers=HTMX)["ETag"]
    again = {**HTMX, "If-None-Match": tag}
    assert ann.get("/events/?actor=anna", headers=again).status_code == 304
    claim(node_id=ids["b/one"], caller=make_worker())
    fresh = ann.get("/events/?actor=anna", headers=again)
    assert fresh.status_code == 200 and fresh.content.decode().lstrip().startswith('<div id="live"')
    assert 'hx-preserve="true"' in fresh.content.decode()  # what stands in the form is not lost


# One event


def test_an_event_has_an_address_and_shows_all_that_is_stored(sam: Client, ids: dict[str, str]) -> None:
    event = Event.objects.get(type="attempt.closed", reason="The Compiler is missing")
    html = sam.get(f"/events/{event.seq}/").content.decode()
    shown = text(html)
    assert "bob/2 rejected an attempt at b/one" in shown and "The Compiler is missing" in shown
    assert event.attempt in shown and "&quot;outcome&quot;: &quot;rejected&quot;" in shown
    assert f'href="/lanes/{ids["b"]}/"' in html and f'href="/nodes/{ids["b/one"]}/"' in html
    assert 'href="/events/?actor=bob%2F2"' in html
    assert "Of the same moment" in shown and "began an attempt at b/one" in shown


def test_of_a_moment_with_many_events_the_nearest_stand_beside_it(ann: Client) -> None:
    make_plan({f"o{n}": {} for n in range(90)})
    event = Event.objects.filter(type="node.added").order_by("seq")[80]
    shown = text(ann.get(f"/events/{event.seq}/").content.decode())
    assert f"Event {event.seq} lead added o80" in shown
    assert "lead added o79" in shown and "lead added o81" in shown and "lead added o8 " not in shown


@pytest.mark.parametrize("seq", ["0", "123456789", "99999999999999999999999999"])
def test_an_event_that_is_none_is_not_found(ann: Client, seq: str) -> None:
    assert ann.get(f"/events/{seq}/").status_code == 404


def test_text_from_outside_is_escaped(ann: Client) -> None:
    evil = '"><script>alert(1)</script>'
    ids = make_plan({"a": {}}, name=evil)
    worker = make_worker(evil)
    grant = claim(node_id=ids["a"], caller=worker)
    reject(**held(grant), caller=worker, reason=evil)
    Node.objects.update(full_key=evil)
    event = Event.objects.get(reason=evil)
    for path in (
        "/events/",
        f"/events/{event.seq}/",
        f"/events/?node={ids['a']}",
        "/events/?text=%3Cscript&actor=%22%3E",
    ):
        shown = ann.get(path).content.decode()
        assert "<script>alert" not in shown and '""><' not in shown


def test_long_data_is_cut(ann: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    make_plan({"a": {}})
    monkeypatch.setattr(events, "_ONE", events._ONE.replace(str(events.MOST_OF_DATA), "30"))
    monkeypatch.setattr(events, "MOST_OF_DATA", 30)
    event = Event.objects.get(type="node.added")
    assert re.search(r"and \d+ more characters", ann.get(f"/events/{event.seq}/").content.decode())


# Who, and what it costs


def test_all_who_are_signed_in_see_them_and_nobody_else(client: Client, sam: Client, ids: dict[str, str]) -> None:
    for path in ("/events/", "/events/1/", "/workers/", f"/lanes/{ids['a']}/", "/search/?q=a"):
        assert client.get(path)["Location"].startswith("/login/?next=")
        assert sam.get(path).status_code == 200 or path == "/events/1/"
        assert sam.post(path).status_code == 405
        assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=", sam.get(path).content.decode()), path


def test_queries_do_not_grow_with_the_events(ann: Client) -> None:
    def cost() -> list[int]:
        counts = []
        lane = Node.objects.filter(parent=None).order_by("id")[0].id
        last = Event.objects.order_by("-seq")[0].seq
        for query in ("", "?type=node.ready", f"?lane={lane}", "?actor=lead&text=x", f"{last}/"):
            cache.clear()
            with CaptureQueriesContext(connection) as queries:
                answer = ann.get(f"/events/{query}")
            assert answer.status_code == 200 and len(answer.content) < 300_000
            counts.append(len(queries))
        return counts

    make_plan({"a": {}, "b": {}}, name="small")
    small = cost()
    make_plan({f"o{n}": {"tasks": {"t" * 90: {}}} for n in range(150)}, name="large")
    assert all(after <= before for after, before in zip(cost(), small, strict=True))
