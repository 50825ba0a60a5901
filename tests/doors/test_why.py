"""Why a node waits, held against a plain reading of the tables: on random plans, in random states."""

import random
from typing import Any

import pytest

from graph import editing
from graph.actors import Caller
from graph.errors import Refusal
from graph.models import Edge, Node
from graph.rows import read_chain
from leases import acts
from leases.claim import Grant, claim, claim_next
from leases.settle import reject, report
from tasksite.dashboard import why
from tests.builders import LEAD, make_plan, make_worker
from tests.doors.people import held

pytestmark = pytest.mark.django_db

SATISFYING = {"done", "partial"}
SETTLED = SATISFYING | {"cancelled"}


def random_plan(chance: random.Random) -> dict[str, Any]:
    """Three lanes with a box each; needs point backwards only, so that there is no cycle."""
    plan: dict[str, Any] = {}
    before: list[str] = []
    for lane in ("a", "b", "c"):

        def some() -> list[str]:
            return chance.sample(before, min(len(before), chance.choice([0, 0, 1, 2])))  # noqa: B023

        tasks: dict[str, Any] = {f"t{number}": {"needs": some()} for number in range(3)}
        tasks["box"] = {"needs": some(), "tasks": {f"in{number}": {"needs": some()} for number in range(2)}}
        plan[lane] = {"needs": some(), "tasks": tasks}
        before += [lane, *(f"{lane}/{key}" for key in (*tasks, "in0", "in1"))]
    return plan


def stir(chance: random.Random, ids: dict[str, str]) -> None:
    """Whatever workers and leads may do."""
    worker = make_worker("stirs")
    edges = list(Edge.objects.values_list("id", flat=True))
    for _ in range(25):
        try:
            happen(chance, worker, chance.choice([*ids.values()]), edges)
        except Refusal:
            continue


def happen(chance: random.Random, worker: Caller, node_id: str, edges: list[str]) -> None:
    dice = chance.random()
    if dice < 0.5:
        if grant := claim_next(caller=worker):
            end_somehow(chance, worker, grant)
    elif dice < 0.62:
        editing.reopen(node_id=node_id, caller=LEAD, reason="x")
    elif dice < 0.74 and edges:
        editing.waive(edge_id=chance.choice(edges), caller=LEAD, reason="x")
    elif dice < 0.79:
        acts.cancel(node_id=node_id, caller=LEAD, reason="x")
    elif dice < 0.84:
        claim(node_id=node_id, caller=worker, hand=True)


def end_somehow(chance: random.Random, worker: Caller, grant: Grant) -> None:
    """Done, blocked, or still at work."""
    dice = chance.random()
    if dice < 0.6:
        report(**held(grant), caller=worker, outcome="done")
    elif dice < 0.85:
        for _ in range(3):
            reject(**held(grant), caller=worker, reason="no")


class Reading:
    """The tables as dicts, and the question asked of them without any SQL."""

    def __init__(self) -> None:
        self.nodes = {node.id: node for node in Node.objects.all()}
        self.needs: dict[str, list[str]] = {}
        for edge in Edge.objects.filter(waived=False):
            self.needs.setdefault(edge.dependent_id, []).append(edge.dependency_id)

    def waits(self, node: Node) -> set[str]:
        found: set[str] = set()
        while True:
            for needed in self.needs.get(node.id, []):
                if self.nodes[needed].state not in SATISFYING:
                    found |= self.ends(self.nodes[needed])
            if not node.parent_id:
                return found
            node = self.nodes[node.parent_id]

    def ends(self, node: Node) -> set[str]:
        if node.state == "pending":
            return self.waits(node)
        if node.leaf or node.held or node.state == "cancelled":
            return {node.id}
        return self.below(node)

    def below(self, node: Node) -> set[str]:
        below = [each for each in self.nodes.values() if each.parent_id == node.id and each.state not in SETTLED]
        return set[str]().union(*map(self.ends, below))


@pytest.mark.parametrize("seed", range(25))
def test_the_causes_are_those_of_a_plain_reading(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(why, "MOST_CAUSES", 100)
    chance = random.Random(seed)
    ids = make_plan(random_plan(chance))
    stir(chance, ids)
    reading = Reading()
    looked = 0
    for node in reading.nodes.values():
        if node.state == "pending" or (not node.leaf and node.state in ("ready", "running") and not node.held):
            found = why.read(read_chain(node.id)[0].node, now=0)
            expected = reading.waits(node) if node.state == "pending" else reading.below(node)
            assert {cause.fact.id for cause in found.causes} == expected, node.full_key
            assert expected, f"{node.full_key} waits for nothing"
            assert all(cause.way[-1].fact == cause.fact for cause in found.causes)
            assert not found.cut and not found.left_off
            looked += 1
    assert looked or all(node.state not in ("pending", "running") for node in reading.nodes.values())
