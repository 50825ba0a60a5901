"""The lanes on a time axis: which lanes stand there, where their bars are, and that however many are few enough."""

import re
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from graph import clock as judge
from graph.fields import from_micros
from graph.ids import new_id
from graph.models import Node
from leases import recover
from leases.claim import Grant, claim
from leases.models import Attempt, Lease, Run
from leases.settle import reject, release, report
from tasksite.dashboard import axis, bars, lanes
from tasksite.dashboard.bars import Bar
from tests.builders import LEAD, make_plan, make_worker

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)


def held(grant: Grant) -> dict[str, Any]:
    return {"node_id": grant.node.id, "lease_id": grant.lease.id, "fence": grant.lease.fence}


def drawn(objective_id: str, window: str = "1h") -> list[Bar]:
    scale = axis.choose(judge.read(), window, begun=[], last=None)
    return bars.read([objective_id], scale).get(objective_id, [])


def test_a_lane_is_serial_and_its_bars_say_how_each_claim_ended(clock: Callable[[int], None]) -> None:
    ids = make_plan({"a": {"tasks": {f"t{n}": {} for n in range(6)}}})
    worker = make_worker("ann's machine")
    for number, end in enumerate(("done", "partial", "rejected", "released", "abandoned")):
        grant = claim(node_id=ids[f"a/t{number}"], caller=worker, ttl_s=600)
        clock(120)
        if end in ("done", "partial"):
            report(**held(grant), caller=worker, outcome=end)
        elif end == "released":
            release(**held(grant), caller=worker)
        elif end == "abandoned":
            recover.abandon(node_id=grant.node.id, caller=LEAD, reason="gone")
        else:
            for _ in range(3):
                reject(**held(grant), caller=worker, reason="no")
        clock(60)
    claim(node_id=ids["a/t5"], caller=worker, ttl_s=600)
    clock(180)
    found = drawn(ids["a"])
    assert [bar.kind for bar in found] == ["done", "partial", "rejected", "released", "abandoned", "running"]
    assert all(this.x + this.width <= after.x + 0.02 for this, after in pairwise(found))
    assert found[0].width == pytest.approx(100 * 120 / 3600, abs=0.05)
    assert [bar.live for bar in found] == [False] * 5 + [True]
    assert found[-1].x + found[-1].width == pytest.approx(100, abs=0.02)
    assert [mark.kind for bar in found for mark in bar.marks] == ["rejected"] * 3 + ["released", "abandoned"]
    assert found[2].words.startswith("a/t2: rejected, 3 rejections; ann's machine, ")
    clock(3600)
    assert [bar.kind for bar in drawn(ids["a"])] == ["stale"]
    assert len(drawn(ids["a"], "6h")) == 6


def test_the_order_is_that_of_the_fences_whatever_the_ids_are(
    clock: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = make_plan({"a": {"tasks": {"one": {}, "two": {}}}})
    worker = make_worker()
    falling = iter(range(79, 0, -1))
    monkeypatch.setattr("leases.claim.new_id", lambda: f"{next(falling):02}{new_id()[2:]}")
    grant = claim(node_id=ids["a/one"], caller=worker, ttl_s=600)
    clock(60)
    report(**held(grant), caller=worker, outcome="done")
    claim(node_id=ids["a/two"], caller=worker, ttl_s=600)
    assert [bar.node_id for bar in drawn(ids["a"])] == [ids["a/one"], ids["a/two"]]


def test_a_held_container_is_told_apart() -> None:
    ids = make_plan({"a": {"tasks": {"one": {}}}})
    worker = make_worker()
    grant = claim(node_id=ids["a"], caller=worker, hand=True)
    assert [bar.kind for bar in drawn(ids["a"])] == ["held"]
    release(**held(grant), caller=worker)
    assert [bar.kind for bar in drawn(ids["a"])] == ["held"]


def companion(lease: Lease) -> Lease:
    """The objective's lease that moves with a task's."""
    both = {field.attname: getattr(lease, field.attname) for field in Lease._meta.concrete_fields}
    return Lease(**both | {"id": new_id(), "subject_id": lease.objective_id, "moves_with_id": lease.id})


def many(ids: dict[str, str], lane: str, count: int, seconds: int, *, every: int) -> None:
    """So many claims of one task that have ended, written directly: one `every` so many seconds."""
    caller = make_worker(f"of {lane}")
    now = judge.read()
    leases = [
        Lease(
            id=new_id(), subject_id=ids[f"{lane}/one"], objective_id=ids[lane], token_id=str(caller.token_id),
            holder=caller.name, fence=number + 1, generation=1, ttl_s=60, acquired_at=from_micros(start),
            expires_at=from_micros(start), beat_at=from_micros(start), ending="released",
            ended_at=from_micros(start + seconds * 1_000_000),
        )
        for number in range(count)
        for start in [now - (count - number) * every * 1_000_000]
    ]  # fmt: skip
    Lease.objects.bulk_create([*leases, *map(companion, leases)])


def test_bars_that_would_be_too_many_are_drawn_together() -> None:
    ids = make_plan({"a": {"tasks": {"one": {}}}})
    many(ids, "a", 150, 15, every=20)
    found = drawn(ids["a"])
    assert len(found) <= bars.MOST_OF_A_LANE
    assert sum(bar.count for bar in found) == 150
    assert found[0].kind == "many" and re.match(r"\d+ claims: \d+ released; ", found[0].words)
    assert all(mark.kind == "released" for bar in found for mark in bar.marks)


def test_of_a_lane_the_newest_claims_are_read_and_the_rest_is_said() -> None:
    ids = make_plan({"a": {"tasks": {"one": {}}}})
    many(ids, "a", bars.MOST_READ + 100, 5, every=6)
    found = drawn(ids["a"])
    assert found[0].kind == "unread" and found[0].words == "Claims before these are not drawn"
    assert len(found) <= bars.MOST_OF_A_LANE + 1


@pytest.mark.parametrize(
    ("begun", "chosen"),
    [([1], "15m"), ([800], "15m"), ([1000], "1h"), ([5000], "6h"), ([50_000], "24h"), ([500_000], "24h"),
     ([], "1h"), ([10, 20, 30, 50_000], "15m")],
)  # fmt: skip
def test_the_window_shows_current_work(begun: list[int], chosen: str) -> None:
    now = 10**15
    scale = axis.choose(now, "", begun=[now - seconds * 1_000_000 for seconds in begun], last=None)
    assert scale.window.name == chosen and not scale.chosen


def test_where_nothing_is_at_work_the_window_shows_what_was_last() -> None:
    assert axis.choose(10**15, "", begun=[], last=10**15 - 7000 * 10**6).window.name == "6h"
    assert axis.choose(10**15, "15m", begun=[], last=1).window.name == "15m"


def test_labels_begin_each_part() -> None:
    assert axis.WINDOWS["15m"].labels == ["15 min", "12 min", "9 min", "6 min", "3 min"]
    assert axis.WINDOWS["24h"].labels == ["24 h", "20 h", "16 h", "12 h", "8 h", "4 h"]


# On the page


def test_a_reader_chooses_the_window(ann: Client) -> None:
    ids = make_plan({"a": {"tasks": {"one": {}}}})
    claim(node_id=ids["a/one"], caller=make_worker())
    assert 'href="?window=15m" aria-current="true"' in ann.get("/").content.decode()
    asked = ann.get("/?window=6h").content.decode()
    assert 'href="?window=6h" aria-current="true"' in asked and 'hx-get="/?window=6h"' in asked
    assert "Claims of a in the last 6 hours" in asked
    assert ann.get("/?window=7h").status_code == 400


def test_bars_link_to_their_nodes_and_have_names(ann: Client) -> None:
    ids = make_plan({"a": {"tasks": {"one": {}}}})
    claim(node_id=ids["a/one"], caller=make_worker("<w>"))
    shown = ann.get("/").content.decode()
    assert f'<a class="name key" href="/lanes/{ids["a"]}/"' in shown
    assert re.search(
        rf'<a href="/nodes/{ids["a/one"]}/" aria-label="a/one: running; &lt;w&gt;, [^"]+ to now"><rect', shown
    )
    assert "<w>" not in shown


def test_lanes_that_were_lately_worked_in_stay_where_they_are(ann: Client, clock: Callable[[int], None]) -> None:
    ids = make_plan({key: {"tasks": {"one": {}}} for key in ("a", "b", "c", "d")})
    worker = make_worker()
    for key in ("d", "b"):
        grant = claim(node_id=ids[f"{key}/one"], caller=worker)
        report(**held(grant), caller=worker, outcome="done")
    claim(node_id=ids["c/one"], caller=worker, ttl_s=3600)
    order = [lane.key for lane in lanes.read(judge.read()).shown]
    assert order == ["b", "c", "d", "a"]
    clock(1700)
    assert [lane.key for lane in lanes.read(judge.read(), "15m").shown] == ["c", "a"]  # the settled ones are history


def grown(lanes_: int, name: str) -> None:
    ids = make_plan({f"o{n}": {"tasks": {"one": {}}} for n in range(lanes_)}, name=name)
    worker = make_worker(f"worker of {name}")
    for n in range(0, lanes_, 2):
        claim(node_id=ids[f"o{n}/one"], caller=worker)


def cost(client: Client, path: str = "/") -> tuple[int, int]:
    cache.clear()
    with CaptureQueriesContext(connection) as queries:
        shown = client.get(path).content
    return len(queries), len(shown)


def test_queries_are_flat_and_five_hundred_lanes_fit_on_a_page(ann: Client) -> None:
    grown(10, "small")
    small = cost(ann)
    grown(500, "x" * 90)
    Node.objects.update(title="t" * 500)
    large = cost(ann)
    assert large[0] <= small[0], (small, large)
    assert large[1] < 300_000
    assert re.search(r"and \d+ more open lanes", ann.get("/").content.decode())


def test_however_much_was_done_in_every_lane_the_page_is_bounded(ann: Client) -> None:
    key, task = "k" * 97, "t" * 100
    ids = make_plan({f"{key}{n:03}": {"tasks": {task: {}, "now": {}}} for n in range(45)})
    worker, now = make_worker("w" * 100), judge.read()
    leases, runs, attempts = list[Lease](), list[Run](), list[Attempt]()
    for objective in [name for name in ids if "/" not in name]:
        for number in range(40):
            start = from_micros(now - (40 - number) * 80 * 1_000_000)
            about = {"id": new_id(), "subject_id": ids[f"{objective}/{task}"], "objective_id": ids[objective]}
            leases.append(
                Lease(
                    **about, token_id=str(worker.token_id), holder=worker.name, fence=number + 1, generation=1,
                    ttl_s=60, acquired_at=start, expires_at=start, beat_at=start, ended_at=start + MINUTE,
                    ending="released",
                )
            )  # fmt: skip
            run = Run(id=new_id(), node_id=about["subject_id"], lease_id=about["id"], opened_at=start)
            run.closed_at, run.outcome = start + MINUTE, "released"
            runs.append(run)
            attempts += [
                Attempt(id=new_id(), run=run, number=try_, opened_at=start, closed_at=start, outcome="rejected")
                for try_ in (1, 2)
            ]
    for model, rows in ((Lease, [*leases, *map(companion, leases)]), (Run, runs), (Attempt, attempts)):
        model._default_manager.bulk_create(rows)  # type: ignore[arg-type]
    for objective in [name for name in ids if "/" not in name][:42]:
        claim(node_id=ids[f"{objective}/now"], caller=worker, ttl_s=600)
    Node.objects.update(title="x" * 500)
    shown = ann.get("/?window=1h").content
    assert shown.count(b'class="claim claim-') > 300 and len(shown) < 300_000, len(shown)
