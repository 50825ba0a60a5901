"""The pool against brute force: random plans, random acts; after each, all who show the pool agree with the oracle."""

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from graph import editing, sql
from graph.errors import PlanConflict, PlanInvalid, WrongState
from leases import acts, queries
from leases.audit import audit
from leases.claim import claim_next
from leases.models import Role
from leases.queries import NodeFilter
from leases.settle import reject, report
from leases.tokens import create_token
from tasksite.dashboard import progress
from tests.builders import LEAD, make_plan, make_worker
from tests.trials import oracle
from tests.trials.plans import CHANGES, File, Shape, shapes

SEQUENCES = {"sqlite": 300, "postgresql": 100}
ACTS = 12

SEED = int(os.environ.get("TRIALS_SEED") or random.SystemRandom().getrandbits(32))


@contextmanager
def undone() -> Iterator[None]:
    """What is done inside is rolled back; entry services may run in it."""
    block = transaction.atomic()
    block._from_testcase = True  # type: ignore[attr-defined]  # so that durable blocks may stand in it
    with block:
        yield
        transaction.set_rollback(True)


class Game:
    """One plan, and someone who acts on it at random."""

    def __init__(self, shape: Shape, chance: random.Random) -> None:
        self.chance = chance
        make_plan(shape)
        self.worker = make_worker()
        self.client = Client(headers={"Authorization": f"Bearer {create_token(name='reader', role=Role.WORKER)[1]}"})
        parents = dict(
            sql.fetch("""
            SELECT n.full_key, p.full_key FROM graph_node n LEFT JOIN graph_node p ON p.id = n.parent_id
            ORDER BY n.id""")
        )
        needs = sql.fetch("""
            SELECT n.full_key, on_.full_key FROM graph_edge e JOIN graph_node n ON n.id = e.dependent_id
            JOIN graph_node on_ ON on_.id = e.dependency_id""")
        self.file = File(parents, {*needs}, dict(sql.fetch("SELECT full_key, title FROM graph_node")))
        self.moves: list[Callable[[], object]] = [
            self.settle, self.settle, self.settle, self.block, self.waive, self.unwaive, self.unblock, self.reopen,
            self.cancel, self.import_again,
        ]  # fmt: skip

    def move(self) -> None:
        try:
            self.chance.choice(self.moves)()
        except (WrongState, PlanConflict, PlanInvalid):
            return  # what is refused changes nothing: the oracle looks all the same

    def one(self, where: str) -> str:
        """The id of some node, if there is one like that, else of any."""
        found = sql.fetch(f"SELECT id FROM graph_node WHERE {where} ORDER BY id")
        return str(self.chance.choice(found or sql.fetch("SELECT id FROM graph_node ORDER BY id"))[0])

    def edge(self) -> str:
        return str(self.chance.choice(sql.fetch("SELECT id FROM graph_edge ORDER BY id") or [("0" * 26,)])[0])

    def claimed(self) -> dict[str, Any]:
        """The next claim, as the settling verbs take it; empty where there is none."""
        grant = claim_next(caller=self.worker)
        if grant is None:
            return {}
        return {
            "node_id": grant.node.id, "lease_id": grant.lease.id, "fence": grant.lease.fence, "caller": self.worker
        }  # fmt: skip

    def settle(self) -> None:
        if claimed := self.claimed():
            report(**claimed, outcome=self.chance.choice(["done", "done", "partial"]))

    def block(self) -> None:
        if claimed := self.claimed():
            while reject(**claimed, reason="no").attempt:
                pass

    def waive(self) -> None:
        if sql.fetch("SELECT 1 FROM graph_edge"):
            editing.waive(edge_id=self.edge(), caller=LEAD, reason="go")

    def unwaive(self) -> None:
        if sql.fetch("SELECT 1 FROM graph_edge"):
            editing.unwaive(edge_id=self.edge(), caller=LEAD, reason="stop")

    def unblock(self) -> None:
        editing.unblock(node_id=self.one("state = 'blocked'"), caller=LEAD, reason="again")

    def reopen(self) -> None:
        editing.reopen(node_id=self.one("state IN ('done', 'partial', 'cancelled')"), caller=LEAD, reason="again")

    def cancel(self) -> None:
        acts.cancel(node_id=self.one("state IN ('pending', 'ready')"), caller=LEAD, reason="no")

    def import_again(self) -> None:
        self.file.change(self.chance.choice(CHANGES), self.chance.randrange(20), self.chance.randrange(20))
        acts.import_plan(plan=self.file.plan(), caller=LEAD, prune=self.chance.random() < 0.5)

    # Who shows the pool

    def expected(self) -> tuple[dict[str, str], list[str]]:
        """The state of every node and the ready leaves in order, from what leaves went through and nothing else."""
        rows = sql.fetch("SELECT id, parent_id, state FROM graph_node ORDER BY id")
        parents = {node: parent for node, parent, _ in rows}
        claimed = {
            each for (node,) in sql.fetch("SELECT subject_id FROM leases_lease") for each in oracle.chain(node, parents)
        }
        needs = [tuple(row) for row in sql.fetch("SELECT dependent_id, dependency_id, waived FROM graph_edge")]
        order = oracle.order(parents, [(who, on) for who, on, _ in needs])
        below: dict[str, list[str]] = {}
        for node, parent in parents.items():
            below.setdefault(parent or "", []).append(node)
        lives = {node: "pending" if state in ("pending", "ready") else state for node, _, state in rows}
        for node in sorted(below.keys() - {""}, key=lambda each: -len(oracle.chain(each, parents))):
            lives[node] = (
                oracle.rolled_up([lives[child] for child in below[node]], claimed=node in claimed) or "pending"
            )
        for node, state in [*lives.items()]:
            if state == "pending" and oracle.satisfied(node, parents, needs, lives):
                lives[node] = "ready"
        return lives, [node for node in order if node not in below and lives[node] == "ready"]

    def listed(self) -> list[str]:
        """By the API, page by page."""
        found: list[str] = []
        url: str | None = "/api/v1/nodes/?state=ready&limit=3"
        while url:
            answer = self.client.get(url).json()
            found += [node["id"] for node in answer["results"]]
            url = answer["next"]
        return found

    def chosen(self) -> str | None:
        with undone():
            grant = claim_next(caller=self.worker)
            return None if grant is None else grant.node.id

    def agree(self) -> None:
        states, pool = self.expected()
        assert dict(sql.fetch("SELECT id, state FROM graph_node")) == states
        only = NodeFilter(state="ready", leaf=True)
        assert [row[0] for row in queries.nodes(only, limit=1_000)] == pool
        assert queries.count(only) == progress.read().counts["ready"] == len(pool)
        assert self.listed() == pool
        # Nobody holds a lease between two acts, so every lane is free.
        assert self.chosen() == (pool[0] if pool else None)
        assert audit() == []


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_all_who_show_the_pool_agree_with_brute_force() -> None:
    print(f"TRIALS_SEED={SEED}")

    @seed(SEED)
    @settings(
        max_examples=SEQUENCES[connection.vendor],
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=[*HealthCheck],
    )
    @given(shape=shapes(), luck=st.integers(0, 1 << 32))
    def play(shape: Shape, luck: int) -> None:
        with undone():
            game = Game(shape, random.Random(luck))
            for _ in range(ACTS):
                game.agree()
                game.move()
            game.agree()

    play()
