"""Leads look at what their acts would do while workers drain: nothing of a rehearsal is ever seen by anybody."""

import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from graph import editing, transaction
from graph.actors import Caller
from graph.editing import Edited
from graph.errors import Refusal
from graph.models import Edge, Event, Node
from leases import acts, recover
from leases.audit import audit
from leases.claim import claim_next
from leases.settle import report
from tests.builders import LEAD, Tree, make_plan, make_worker
from tests.doors.people import held

LOOKS = 150
VERBS: Sequence[Callable[..., Edited]] = (editing.reopen, acts.cancel, recover.abandon, editing.waive)

pytestmark = pytest.mark.django_db(transaction=True)


def drain(worker: Caller, tasks: int) -> int:
    """Work until all is done; how much of it this worker did."""
    done = 0
    try:
        while Node.objects.filter(leaf=True, state="done").count() < tasks:
            grant = claim_next(caller=worker)
            if grant is not None:
                report(**held(grant), caller=worker, outcome="done")
                done += 1
    finally:
        connection.close()
    return done


def look(nodes: list[str], edges: list[str], seed: int) -> int:
    """A lead who opens one dialog after the other; how many would have been granted."""
    chance, granted = random.Random(seed), 0
    try:
        for _ in range(LOOKS):
            verb = chance.choice(VERBS)
            about = {"edge_id": chance.choice(edges)} if verb is editing.waive else {"node_id": chance.choice(nodes)}
            try:
                transaction.rehearse(lambda: verb(**about, caller=LEAD, reason="only looking"))  # noqa: B023
                granted += 1
            except Refusal:
                continue
    finally:
        connection.close()
    return granted


def test_workers_drain_as_if_nobody_looked() -> None:
    plan: dict[str, Tree] = {
        f"lane{i}": {"tasks": {f"t{j}": {"needs": [f"lane{i - 1}/t{j}"] if i else []} for j in range(12)}}
        for i in range(4)
    }
    ids = make_plan(plan)
    edges = list(Edge.objects.values_list("id", flat=True))
    with ThreadPoolExecutor(4) as pool:
        workers = [pool.submit(drain, make_worker(f"worker-{number}"), 48) for number in range(2)]
        leads = [pool.submit(look, list(ids.values()), edges, seed) for seed in range(2)]
        assert sum(worker.result() for worker in workers) == 48
        assert sum(lead.result() for lead in leads) > LOOKS / 2
    assert set(Node.objects.values_list("state", flat=True)) == {"done"}
    assert not Event.objects.filter(reason="only looking").exists()
    assert gaps() == 0
    assert audit() == []


@pytest.mark.usefixtures("on_postgresql")
def test_events_that_a_rehearsal_drew_would_leave_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction, "rehearsing", lambda: False)
    ids = make_plan({"a": {}, "b": {}})
    transaction.rehearse(lambda: acts.cancel(node_id=ids["a"], caller=LEAD, reason="only looking"))
    acts.cancel(node_id=ids["b"], caller=LEAD, reason="no")
    assert gaps() > 0


def gaps() -> int:
    numbers = list(Event.objects.order_by("seq").values_list("seq", flat=True))
    return numbers[-1] - numbers[0] + 1 - len(numbers)
