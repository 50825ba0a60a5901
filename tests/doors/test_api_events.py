"""The timeline over HTTP, and the feed below it: who follows the cursor misses nothing and sees nothing twice."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from graph import clock, events, feed
from graph.models import Event, Plan
from graph.transaction import entry
from leases.models import Role
from tests.builders import make_plan
from tests.doors.api import Api
from tests.doors.test_api_way import held


def follow(api: Api, **query: str) -> Iterator[dict[str, Any]]:
    """Every event there is now, page after page by the cursor."""
    while True:
        page = api.get("events/", **query).json
        yield from page["results"]
        if page["next"] is None:
            return
        assert page["results"][-1]["seq"] == int(page["cursor"])
        query["after"] = page["cursor"]


def test_the_timeline_tells_all_in_order(worker: Api) -> None:
    ids = make_plan({"db": {"tasks": {"tables": {}}}, "api": {"needs": ["db"]}})
    grant = worker.post("claims/", {"holder": "w/1"})
    worker.post(f"nodes/{ids['db/tables']}/report/", {**held(grant), "outcome": "done", "summary": "nine"})
    told = [*follow(worker, limit="3")]
    assert [event["seq"] for event in told] == [*Event.objects.order_by("seq").values_list("seq", flat=True)]
    assert told[0]["type"] == "plan.imported"
    running = next(event for event in told if event["type"] == "node.running" and event["node"] == ids["db/tables"])
    assert (running["actor"], running["objective"], running["data"]) == (
        "w/1", ids["db"], {"from": "ready", "to": "running", "by": "claim"},
    )  # fmt: skip
    assert (running["lease"], running["reason"]) == (None, "")
    assert {event["type"] for event in told} >= {"lease.claimed", "run.opened", "attempt.closed", "lease.released"}


def test_filters(worker: Api) -> None:
    first = make_plan({"one": {}}, "first")
    make_plan({"one": {}}, "second")
    worker.post("claims/")
    plan = Plan.objects.get(name="second")
    assert {event["plan"] for event in follow(worker, plan=plan.id.lower())} == {plan.id}
    assert [*follow(worker, plan="second")] == [*follow(worker, plan=plan.id)]
    assert [*follow(worker, plan="nowhere")] == []
    assert {event["node"] for event in follow(worker, node=first["one"])} == {first["one"]}
    assert {event["type"] for event in follow(worker, type="node.ready")} == {"node.ready"}
    assert [event["node"] for event in follow(worker, type="node.running")] == [first["one"]]
    of_node = worker.get(f"nodes/{first['one']}/events/").json["results"]
    assert of_node == [*follow(worker, node=first["one"])]
    assert worker.get("nodes/01ARZ3NDEKTSV4RRFFQ69G5FAV/events/").code == "not_found"


def test_a_filtered_reader_goes_on_from_where_it_has_looked(worker: Api) -> None:
    make_plan({"one": {}})
    page = worker.get("events/", type="node.blocked").json
    last = Event.objects.order_by("-seq").values_list("seq", flat=True)[0]
    assert (page["results"], page["next"], page["cursor"]) == ([], None, str(last))
    ahead = worker.get("events/", after=str(last + 1000)).json
    assert (ahead["results"], ahead["cursor"]) == ([], str(last + 1000))


def test_nothing_has_happened_yet(worker: Api) -> None:
    page = worker.get("events/").json
    assert (page["results"], page["next"]) == ([], None)
    make_plan({"one": {}})
    assert next(event["type"] for event in follow(worker, after=page["cursor"])) == "plan.imported"


def test_the_newest_first(db: None) -> None:
    make_plan({"one": {}})
    newest = [event.seq for event in feed.latest(limit=2)]
    assert newest == [*Event.objects.order_by("-seq").values_list("seq", flat=True)[:2]]
    with pytest.raises(TypeError):
        feed.latest(limit=1, actor="x")


# Transactions that overlap


@entry
def append(between: Callable[[], None], text: str) -> None:
    """A service that draws an event's number and takes its time over the commit."""
    now = clock.read_and_mark()
    events.append([events.Draft("plan.imported", reason=text)], actor="test", now=now)
    between()


def in_a_thread(work: Callable[[], Any]) -> threading.Thread:
    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def slow_writer() -> tuple[threading.Thread, threading.Event]:
    """A writer that has drawn its number, and commits when the event is set."""
    drawn, go_on = threading.Event(), threading.Event()

    def between() -> None:
        drawn.set()
        assert go_on.wait(60)

    thread = in_a_thread(lambda: append(between, "slow"))
    assert drawn.wait(60)
    return thread, go_on


def reasons(page: feed.Page) -> list[str]:
    return [event.reason for event in page.events]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("on_postgresql")
def test_a_reader_stops_below_what_is_in_flight() -> None:
    """The slow writer draws its number first and commits last; a reader between the two must not step over it."""
    slow, read = slow_writer()
    append(lambda: None, "fast")
    assert [*Event.objects.values_list("reason", flat=True)] == ["fast"], "the fast one is committed"
    between = feed.page(limit=10)
    read.set()
    slow.join(60)
    after = feed.page(after=between.cursor, limit=10)
    assert reasons(between) == []
    assert reasons(after) == ["slow", "fast"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("on_postgresql")
def test_without_the_marks_it_would_step_over_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: a reader that goes by the numbers alone misses the slow one for ever."""
    monkeypatch.setattr(clock, "read_and_mark", clock.read)
    slow, read = slow_writer()
    append(lambda: None, "fast")
    between = feed.page(limit=10)
    read.set()
    slow.join(60)
    assert reasons(between) == ["fast"]
    assert reasons(feed.page(after=between.cursor, limit=10)) == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("on_postgresql")
def test_a_writer_that_is_rolled_back_holds_nobody_up() -> None:
    class Undo(Exception):
        pass

    def undo() -> None:
        raise Undo

    with pytest.raises(Undo):
        append(undo, "undone")
    append(lambda: None, "kept")
    assert reasons(feed.page(limit=10)) == ["kept"]


@pytest.mark.django_db(transaction=True)
def test_a_reader_beside_many_writers_sees_every_event_once_and_lanes_in_order() -> None:
    workers = 6
    make_plan({f"lane-{n}": {"tasks": {f"t{i}": {} for i in range(5)}} for n in range(workers)})
    tokens = [Api.as_role(Role.WORKER, f"w{n}").secret for n in range(workers)]
    barrier, over = threading.Barrier(workers + 1), threading.Event()

    def drain(secret: str | None) -> None:
        try:
            api = Api(secret)
            barrier.wait(60)
            while (grant := api.post("claims/")).status == 201:
                path = f"nodes/{grant.json['node']['id']}/"
                api.post(f"{path}heartbeat/", held(grant))
                assert api.post(f"{path}report/", {**held(grant), "outcome": "done"}).status == 200
        finally:
            connection.close()

    def read() -> list[int]:
        seen: list[int] = []
        cursor = 0
        try:
            barrier.wait(60)
            while True:
                last_round = over.is_set()
                page = feed.page(after=cursor, limit=7)
                seen += [event.seq for event in page.events]
                assert page.cursor >= cursor
                cursor = page.cursor
                if last_round and not page.more:
                    return seen
        finally:
            connection.close()

    with ThreadPoolExecutor(workers + 1) as pool:
        reader = pool.submit(read)
        for done in [pool.submit(drain, secret) for secret in tokens]:
            done.result(120)
        over.set()
        seen = reader.result(60)
    assert seen == [*Event.objects.order_by("seq").values_list("seq", flat=True)]
