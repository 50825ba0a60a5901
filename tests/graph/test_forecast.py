"""What a dry run foretells comes true; and a difference that is another than the one shown is not written."""

import random
from typing import Any

import pytest

from graph.errors import PlanConflict
from graph.importing import ImportResult
from graph.models import Node
from graph.plan_file import Format, read_plan
from graph.plan_types import Limits
from graph.states import State
from leases import acts
from leases.claim import claim_next
from leases.settle import report
from tests.builders import LEAD, make_worker
from tests.graph.planning import document, everything, load, settle, states

pytestmark = pytest.mark.django_db


def objectives(chance: random.Random) -> list[str]:
    """A random plan over a few keys, so that two of them have much in common. Edges point at what stands before."""
    before: list[str] = []

    def needs() -> str:
        some = chance.sample(before, min(len(before), chance.choice([0, 0, 1, 2])))
        return ", ".join(f"{{on: {on}, waived: why}}" if chance.random() < 0.2 else on for on in some)

    found = []
    for key in ("a", "b", "c", "d"):
        if chance.random() < 0.15:
            continue
        head, tasks, inside = needs(), [], []
        for task in ("t1", "t2", "t3", "t4"):
            if chance.random() < 0.6:
                tasks.append(f"{{key: {task}, needs: [{needs()}]}}")
                inside.append(f"{key}/{task}")
        found.append(f"{{key: {key}, needs: [{head}], tasks: [{', '.join(tasks)}]}}")
        before += [key, *inside]
    return found or ["{key: a}"]


def work(chance: random.Random) -> None:
    worker = make_worker()
    for _ in range(chance.randrange(6)):
        if grant := claim_next(caller=worker):
            rights: dict[str, Any] = {
                "node_id": grant.node.id, "lease_id": grant.lease.id, "fence": grant.lease.fence
            }  # fmt: skip
            report(**rights, caller=worker, outcome=chance.choice(["done", "partial"]))
    for node in Node.objects.filter(leaf=True, state__in=["ready", "pending"]):
        if chance.random() < 0.15:
            acts.cancel(node_id=node.id, caller=LEAD, reason="no")


def keys(ids: list[str]) -> set[str]:
    return set(Node.objects.filter(id__in=ids).values_list("full_key", flat=True))


@pytest.mark.parametrize("seed", range(40))
def test_what_becomes_ready_is_foretold(seed: int) -> None:
    chance = random.Random(seed)
    compared = 0
    first = load(*(began := objectives(chance)), dry_run=True).forecast
    assert set(first.ready) == keys(load(*began).effect.leaves(State.READY)) and not first.demoted
    work(chance)
    for _ in range(4):
        wanted, prune = objectives(chance), chance.random() < 0.5
        try:
            foretold = load(*wanted, prune=prune, dry_run=True).forecast
        except PlanConflict:
            continue
        effect = load(*wanted, prune=prune).effect
        assert set(foretold.ready) == keys(effect.leaves(State.READY))
        assert set(foretold.demoted) == keys(effect.leaves(State.PENDING, out_of=State.READY))
        compared += 1
    assert compared or seed


# What was shown


def shown(*plan: str, prune: bool = False) -> str:
    return load(*plan, prune=prune, dry_run=True).difference.fingerprint()


def test_what_was_shown_is_written() -> None:
    load("{key: a, tasks: [{key: t}]}", "{key: b}")
    wanted = ("{key: a, title: A, tasks: [{key: t, needs: [new]}, {key: new}]}",)
    agreed = shown(*wanted, prune=True)
    settle("a/t")  # states move on meanwhile; this changes what the import does
    before = everything()
    refused = load_shown(*wanted, prune=True, fingerprint=agreed)
    assert refused.dry_run and everything() == before
    done = load_shown(*wanted, prune=True, fingerprint=refused.difference.fingerprint())
    assert not done.dry_run and states() == {"a": "running", "a/t": "done", "a/new": "ready", "b": "cancelled"}


def test_work_that_goes_on_elsewhere_changes_nothing_of_what_was_shown() -> None:
    load("{key: a}", "{key: b}")
    wanted = ("{key: a}", "{key: c}")
    agreed = shown(*wanted)
    assert claim_next(caller=make_worker())
    assert not load_shown(*wanted, fingerprint=agreed).dry_run


def test_each_thing_that_is_shown_counts() -> None:
    load("{key: a, title: A}", "{key: b}")
    kinds = [
        shown("{key: a, title: A}", "{key: b}"),
        shown("{key: a, title: B}", "{key: b}"),
        shown("{key: a, title: C}", "{key: b}"),
        shown("{key: a, title: A}"),
        shown("{key: a, title: A}", prune=True),
        shown("{key: a, title: A, needs: [b]}", "{key: b}"),
        shown("{key: a, title: A, needs: [{on: b, waived: why}]}", "{key: b}"),
        shown("{key: a, title: A}", "{key: b}", "{key: c}"),
        shown("{key: a, title: A}", "{key: b}", "{key: c, body: more}"),
        shown("{key: a, title: A, needs: [b, b]}", "{key: b}"),
    ]
    assert len({*kinds}) == len(kinds)


def load_shown(*plan: str, fingerprint: str, prune: bool = False) -> ImportResult:
    read = read_plan(document(*plan).encode(), Format.YAML, Limits())
    return acts.import_plan(plan=read, caller=LEAD, prune=prune, shown=fingerprint)
