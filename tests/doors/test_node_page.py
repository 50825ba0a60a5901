"""A node's page: why it is where it is, what it was given, what came of it, and what all that costs."""

import json
import re
from collections.abc import Callable, Iterator

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from graph import editing
from graph.models import Node
from leases import acts, recover
from leases.claim import claim
from leases.heartbeat import heartbeat
from leases.settle import reject, release, report
from tests.builders import LEAD, Tree, make_plan, make_worker
from tests.doors.people import HTMX, held, shown, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead() -> Client:
    return signed_in("ann", lead=True)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Moves the judged clock on, in seconds."""
    shift = [0]
    monkeypatch.setattr("graph.clock.judged", lambda micros: micros + shift[0])

    def forward(seconds: int) -> None:
        shift[0] += seconds * 1_000_000

    yield forward


def at(node_id: str) -> str:
    return f"/nodes/{node_id}/"


# Why it is where it is


def test_a_wait_is_followed_down_to_who_works_on_it(lead: Client, clock: Callable[[int], None]) -> None:
    ids = make_plan({"web": {"tasks": {"mock": {}}}, "api": {"tasks": {"one": {"needs": ["web/mock"]}}}})
    worker = make_worker("worker-3")
    claim(node_id=ids["web/mock"], caller=worker, ttl_s=3600)
    clock(4 * 60)
    said = shown(lead, at(ids["api/one"]))
    assert "It waits. What it comes down to: waits for web/mock running, worker-3, 4 min" in said


def test_a_long_way_down_names_each_step_and_the_first_cause(lead: Client) -> None:
    ids = make_plan({
        "db": {"tasks": {"setup": {}, "tables": {"needs": ["db/setup"]}}},
        "api": {"needs": ["db"], "tasks": {"one": {}}},
        "web": {"needs": ["api/one"]},
    })  # fmt: skip
    said = shown(lead, at(ids["web"]))
    assert (
        "waits for api/one pending > which is in api pending > which waits for db > of which is left db/setup" in said
    )
    assert "ready, nobody: the next free worker takes it" in said
    claim(node_id=ids["db/setup"], caller=make_worker())
    assert "running, worker-1, 0 s" in shown(lead, at(ids["web"]))


def test_a_very_long_way_is_cut_in_its_middle(lead: Client) -> None:
    plan: dict[str, Tree] = {"o0": {}}
    for number in range(1, 50):
        plan[f"o{number}"] = {"needs": [f"o{number - 1}"]}
    ids = make_plan(plan)
    said = shown(lead, at(ids["o49"]))
    assert "waits for o48 pending > which waits for o47 pending > which waits for o46 pending > …" in said
    assert "o1 pending > which waits for o0 ready, nobody" in said
    assert "o30" not in said


def test_the_worst_causes_stand_first_and_say_what_helps(lead: Client, clock: Callable[[int], None]) -> None:
    needs = ["ready", "runs", "stale", "blocked", "dropped", "busy/two"]
    ids = make_plan(
        {**{key: {} for key in needs[:5]}, "busy": {"tasks": {"one": {}, "two": {}}}, "it": {"needs": needs}}
    )
    worker = make_worker()
    grant = claim(node_id=ids["blocked"], caller=worker)
    for _ in range(3):
        reject(**held(grant), caller=worker, reason="the fixture is missing")
    acts.cancel(node_id=ids["dropped"], caller=LEAD, reason="not needed")
    claim(node_id=ids["stale"], caller=worker, ttl_s=5)
    clock(65)
    claim(node_id=ids["runs"], caller=worker)
    claim(node_id=ids["busy/one"], caller=worker)
    said = shown(lead, at(ids["it"]))
    found = [
        "waits for stale stale, worker-1 silent, its claim ran out 1 min ago Abandon the claim… stale",
        "waits for dropped cancelled, until it is reopened or the need is waived Reopen… dropped",
        "waits for blocked blocked for 1 min: the fixture is missing Unblock… blocked",
        "waits for runs running, worker-1, 0 s",
        "waits for ready ready, nobody",
        "waits for busy/two ready, its lane is taken by worker-1 on busy/one",
    ]
    places = [said.index(each) for each in found]
    assert places == sorted(places)


def test_a_ready_task_says_where_it_stands_in_the_pool(lead: Client) -> None:
    ids = make_plan({"a": {"tasks": {"one": {}, "two": {}}}, "b": {}, "c": {}})
    assert "the next worker that asks gets it" in shown(lead, at(ids["a/one"]))
    assert "its lane is free. a/one goes first there" in shown(lead, at(ids["a/two"]))
    assert "2 free lanes go before it in the pool" in shown(lead, at(ids["c"]))
    claim(node_id=ids["a/one"], caller=make_worker())
    assert "its lane is taken: worker-1 works on a/one for 0 s" in shown(lead, at(ids["a/two"]))
    assert "1 free lane goes before it" in shown(lead, at(ids["c"]))


def test_a_container_says_what_is_yet_to_be_done_below(lead: Client) -> None:
    ids = make_plan({"a": {"tasks": {"one": {}, "two": {"needs": ["b"]}}}, "b": {}})
    said = shown(lead, at(ids["a"]))
    assert "It is not done yet. What it comes down to: still to do: a/one ready, nobody" in said
    assert "still to do: a/two pending > which waits for b ready, nobody" in said
    assert "Below it 2 nodes" in said
    claim(node_id=ids["a"], caller=make_worker("by hand"), hand=True)
    said = shown(lead, at(ids["a"]))
    assert "held by hand" in said and "Held by hand by by hand for 0 s" in said
    assert "Abandon the claim…" in said


def test_each_end_of_the_work_is_told(lead: Client) -> None:
    ids = make_plan({"a": {}, "b": {}, "c": {}})
    worker = make_worker()
    report(**held(claim(node_id=ids["a"], caller=worker)), caller=worker, outcome="partial", summary="half of it")
    assert "Settled in part 0 s ago by worker-1" in shown(lead, at(ids["a"]))
    acts.cancel(node_id=ids["b"], caller=LEAD, reason="no use")
    assert "Cancelled by lead 0 s ago: no use" in shown(lead, at(ids["b"]))
    grant = claim(node_id=ids["c"], caller=worker)
    heartbeat(**held(grant), caller=worker, progress="half way")
    said = shown(lead, at(ids["c"]))
    assert "Held by worker-1 for 0 s, attempt 1; last heard of 0 s ago." in said and "half way" in said


def test_what_began_on_something_that_is_open_again_is_marked(lead: Client) -> None:
    ids = make_plan({"a": {}, "b": {"needs": ["a"]}})
    worker = make_worker()
    report(**held(claim(node_id=ids["a"], caller=worker)), caller=worker, outcome="done")
    claim(node_id=ids["b"], caller=worker)
    editing.reopen(node_id=ids["a"], caller=LEAD, reason="wrong")
    said = shown(lead, at(ids["b"]))
    assert "Upstream reopened. It began on what is open again: a ready" in said and "reopened since" in said


# What else it shows


def test_runs_inputs_edges_and_events(lead: Client) -> None:
    ids = make_plan({"a": {}, "b": {"needs": ["a"]}, "c": {"needs": ["b"]}})
    worker = make_worker()
    grant = claim(node_id=ids["a"], caller=worker)
    report(**held(grant), caller=worker, outcome="done", summary="made it", result={"rows": [1, 2]})
    release(**held(claim(node_id=ids["b"], caller=worker)), caller=worker, reason="no time")
    grant = claim(node_id=ids["b"], caller=worker)
    reject(**held(grant), caller=worker, reason="it does not compile")
    said = shown(lead, at(ids["b"]))
    assert 'done a made it Result of a { "rows": [ 1, 2 ] }' in said
    assert "Runs 2, the newest first running worker-1 fence 2" in said
    assert "attempt 1: rejected, 0 s it does not compile attempt 2: under way, 0 s" in said
    assert "released worker-1 fence 1" in said and "attempt 1: released, 0 s no time" in said
    assert "Needs 1 node done a" in said and "Needed by 1 node pending c" in said
    for sentence in ("worker-1 rejected an attempt at b", "b became ready", "lead added b", "b now needs a"):
        assert sentence in said
    assert "plan > b" not in said and re.search(r"\bplan lane b\b", said)  # the way to it


@pytest.mark.parametrize("result", ["report.md", "[1, 2]", "", 0, False, ["<b>"], {}])
def test_a_result_of_any_kind_is_shown(lead: Client, result: object) -> None:
    ids = make_plan({"a": {}, "b": {"needs": ["a"]}})
    worker = make_worker()
    report(**held(claim(node_id=ids["a"], caller=worker)), caller=worker, outcome="done", result=result)
    text = json.dumps(result, indent=2)
    for key in "ab":
        markup = lead.get(at(ids[key])).content.decode()
        assert f"<pre>{escape(text)}</pre>" in markup


def test_a_waiver_shows_its_reason_and_leads_alone_are_offered_acts(lead: Client) -> None:
    ids = make_plan({"a": {}, "b": {"needs": ["a"]}})
    assert "Waive… that it needs a" in shown(lead, at(ids["b"]))
    edge = Node.objects.get(id=ids["b"]).needs.get()
    editing.waive(edge_id=edge.id, caller=LEAD, reason="it is good enough")
    said = shown(lead, at(ids["b"]))
    assert "Unwaive… that it needs a waived it is good enough" in said and "Cancel the work…" in said
    sees = shown(signed_in("sam", lead=False), at(ids["b"]))
    assert "waived" in sees and "…" not in sees.replace("not settled", "")


def offers(client: Client, node_id: str) -> set[str]:
    return set(re.findall(r'id="act-(\w+)"', client.get(at(node_id)).content.decode())) - {"title"}


def test_the_acts_are_those_that_the_state_allows(lead: Client) -> None:
    ids = make_plan({"a": {"tasks": {"one": {}, "two": {}}}, "b": {"needs": ["a"]}})
    worker = make_worker()
    assert offers(lead, ids["b"]) == {"cancel"} and offers(lead, ids["a/one"]) == {"cancel"}
    grant = claim(node_id=ids["a/one"], caller=worker)
    assert offers(lead, ids["a/one"]) == {"abandon"} and offers(lead, ids["a"]) == {"cancel"}
    for _ in range(3):
        reject(**held(grant), caller=worker, reason="no")
    assert offers(lead, ids["a/one"]) == {"unblock", "cancel"}
    acts.cancel(node_id=ids["a/one"], caller=LEAD, reason="no")
    report(**held(claim(node_id=ids["a/two"], caller=worker)), caller=worker, outcome="done")
    assert offers(lead, ids["a/one"]) == offers(lead, ids["a/two"]) == {"reopen"}
    assert offers(lead, ids["a"]) == set()  # done by its tasks: those are reopened
    acts.cancel(node_id=ids["b"], caller=LEAD, reason="no")
    assert offers(lead, ids["b"]) == {"reopen"}


def test_a_container_that_was_cancelled_is_reopened_as_one(lead: Client) -> None:
    ids = make_plan({"a": {"tasks": {"one": {}}}})
    acts.cancel(node_id=ids["a"], caller=LEAD, reason="no")
    assert offers(lead, ids["a"]) == {"reopen"}


def test_the_title_is_the_key_and_unknown_nodes_are_not_found(lead: Client) -> None:
    ids = make_plan({"a": {"tasks": {"one": {}}}})
    assert "<title>a/one · tasksite</title>" in lead.get(at(ids["a/one"])).content.decode()
    for rest in ("", "body/"):
        assert lead.get(at("01ARZ3NDEKTSV4RRFFQ69G5FAV") + rest).status_code == 404
        assert lead.post(at(ids["a"]) + rest).status_code == 405
        assert Client().get(at(ids["a"]) + rest).status_code == 302


# The body


HOSTILE = """# Heading <script>alert(1)</script>

<img src=x onerror="alert(1)"> ![pixel](https://elsewhere.example/pixel.png) <a href="javascript:alert(1)">x</a>

[run](javascript:alert(1)) [data](data:text/html;base64,PHNjcmlwdD4=) [here](/logout/) [web](https://example.org/ok)

| a | b |
|:--|--:|
| 1 | <b onclick=alert(1)>2</b> |
"""


def test_markdown_is_shown_and_nothing_in_it_lives(lead: Client) -> None:
    ids = make_plan({"a": {}})
    Node.objects.filter(id=ids["a"]).update(body=HOSTILE)
    markup = lead.get(at(ids["a"])).content.decode()
    prose = markup[markup.index('class="prose"') :].partition("</section>")[0]
    assert "<h3>Heading &lt;script&gt;" in prose and '<td class="to-right">' in prose
    assert set(re.findall(r'href="([^"]*)"', prose)) == {
        "https://example.org/ok", "https://elsewhere.example/pixel.png"
    }  # fmt: skip
    assert 'rel="nofollow noopener noreferrer"' in prose
    assert not re.search(r"<(script|img|b|style|iframe|form|input)\b|\sstyle=", prose)


def test_a_long_body_is_cut_and_can_be_had_whole(lead: Client) -> None:
    ids = make_plan({"a": {}})
    body = "word " * 20_000
    Node.objects.filter(id=ids["a"]).update(body=body)
    assert "This is the first of it. The whole text" in shown(lead, at(ids["a"]))
    whole = lead.get(at(ids["a"]) + "body/")
    assert whole["Content-Type"].startswith("text/plain") and whole.content.decode() == body


def test_text_from_outside_is_escaped(lead: Client) -> None:
    evil = "<script>alert(1)</script>"
    ids = make_plan({"a": {}, "b": {"needs": ["a"]}})
    Node.objects.update(title=evil)
    worker = make_worker(evil)
    grant = claim(node_id=ids["a"], caller=worker)
    heartbeat(**held(grant), caller=worker, progress=evil)
    pages = [lead.get(at(ids["a"])).content.decode()]
    for _ in range(3):
        reject(**held(grant), caller=worker, reason=evil)
    pages += [lead.get(at(ids[key])).content.decode() for key in "ab"]
    editing.unblock(node_id=ids["a"], caller=LEAD, reason=evil)
    grant = claim(node_id=ids["a"], caller=worker)
    report(**held(grant), caller=worker, outcome="done", summary=evil, result={evil: evil})
    pages += [lead.get(at(ids[key])).content.decode() for key in "ab"]
    for markup in pages:
        assert "<script>alert" not in markup and "&lt;script&gt;alert" in markup


# What it costs


def cost(client: Client, node_id: str) -> tuple[int, int]:
    cache.clear()
    with CaptureQueriesContext(connection) as queries:
        markup = client.get(at(node_id)).content
    return len(queries), len(markup)


def test_queries_do_not_grow_and_the_page_is_bounded(lead: Client) -> None:
    worker = make_worker()

    def grown(width: int, name: str) -> str:
        plan: dict[str, Tree] = {"deep0": {}}
        for number in range(1, width):
            plan[f"deep{number}"] = {"needs": [f"deep{number - 1}"]}
        wide: dict[str, Tree] = {f"wide{number}": {"tasks": {"x" * 90: {}}} for number in range(width)}
        after = {f"after{number}": {"needs": ["it/one"]} for number in range(width)}
        it = {"needs": [f"deep{width - 1}", *wide], "tasks": {"one": {"needs": [f"{key}/{'x' * 90}" for key in wide]}}}
        ids = make_plan({**plan, **wide, **after, "it": it}, name=name)
        grant = claim(node_id=ids[f"wide0/{'x' * 90}"], caller=worker)
        for _ in range(3):
            reject(**held(grant), caller=worker, reason="y" * 5000)
        Node.objects.filter(id__in=ids.values()).update(title="&" * 500, body="&" * 20_000)
        return ids["it/one"]

    small = cost(lead, grown(8, "small"))
    large = cost(lead, grown(150, "large"))
    assert small[0] == large[0], (small, large)
    assert large[1] < 300_000


def test_many_runs_are_bounded(lead: Client) -> None:
    ids = make_plan({"a": {}})
    worker = make_worker()
    for _ in range(16):
        grant = claim(node_id=ids["a"], caller=worker)
        for _ in range(2):
            reject(**held(grant), caller=worker, reason="&" * 1000)
        report(**held(grant), caller=worker, outcome="done", summary="&" * 5000, result={"&" * 100: ["&" * 1000] * 50})
        editing.reopen(node_id=ids["a"], caller=LEAD, reason="&" * 1000)
    said = shown(lead, at(ids["a"]))
    assert "and 4 older" in said
    assert cost(lead, ids["a"])[1] < 300_000


def test_an_unchanged_page_is_304(lead: Client) -> None:
    ids = make_plan({"a": {}})
    part = lead.get(at(ids["a"]), headers=HTMX)
    assert "csrf" not in part.content.decode() and "ann" not in part.content.decode()
    again = lead.get(at(ids["a"]), headers={**HTMX, "If-None-Match": part["ETag"]})
    assert again.status_code == 304
    claim(node_id=ids["a"], caller=make_worker())
    changed = lead.get(at(ids["a"]), headers={**HTMX, "If-None-Match": part["ETag"]})
    assert changed.status_code == 200
    recover.abandon(node_id=ids["a"], caller=LEAD, reason="gone")
