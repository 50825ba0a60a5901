"""The audit looks at one moment: whatever runs meanwhile, each moment is sound, and nobody waits for the look."""

import random
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from graph import editing
from graph.actors import Caller
from graph.errors import Refusal
from graph.models import Node
from leases import acts, recover
from leases.audit import audit
from leases.claim import claim_next
from leases.settle import reject, release, report
from tests.builders import LEAD, make_plan, make_worker

PLAYERS = 4
ACTS = 150

pytestmark = pytest.mark.django_db(transaction=True)


def play(worker: Caller, nodes: list[str], seed: int) -> int:
    """One worker, who is sometimes a lead; how much was done."""
    chance, done = random.Random(seed), 0
    try:
        for _ in range(ACTS):
            try:
                act(worker, chance, chance.choice(nodes))
                done += 1
            except Refusal:
                continue  # somebody else was first, or the node is not in the state for it
    finally:
        connection.close()
    return done


def act(worker: Caller, chance: random.Random, node_id: str) -> None:
    if chance.random() < 0.3:
        verb = chance.choice([editing.reopen, editing.unblock, acts.cancel, recover.abandon])
        verb(node_id=node_id, caller=LEAD, reason="chance")
        return
    grant = claim_next(caller=worker)
    if grant is None:
        return
    lease: dict[str, Any] = {"lease_id": grant.lease.id, "fence": grant.lease.fence, "caller": worker}
    end = chance.random()
    if end < 0.7:
        report(node_id=grant.node.id, outcome=chance.choice(["done", "partial"]), **lease)
    elif end < 0.8:
        release(node_id=grant.node.id, **lease)
    else:
        reject(node_id=grant.node.id, reason="no", **lease)


def test_every_moment_is_sound_while_others_work() -> None:
    plan = {
        f"lane{i}": {
            "tasks": {f"t{j}": {"needs": [f"lane{i - 1}/t{j}"] if i and j % 2 else []} for j in range(5)}
            | {"box": {"tasks": {f"in{j}": {} for j in range(2)}, "needs": [f"lane{i}/t0"]}}
        }
        for i in range(6)
    }
    make_plan(plan)
    nodes = [*Node.objects.values_list("id", flat=True)]
    workers = [make_worker(f"worker-{i}") for i in range(PLAYERS)]
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    looks = 0
    with ThreadPoolExecutor(PLAYERS) as pool:
        games: list[Future[int]] = [pool.submit(play, each, nodes, seed + i) for i, each in enumerate(workers)]
        while not all(game.done() for game in games):
            assert audit() == []
            looks += 1
    assert audit() == []
    print(f"{looks} looks, {sum(game.result() for game in games)} acts")
    assert all(game.result() for game in games)
