"""Importing small plans in tests, with the audit after each, and working on them."""

from typing import Any

from graph.errors import PlanConflict, PlanInvalid
from graph.importing import ImportResult, read_file
from graph.models import Edge, Event, Node
from graph.plan_file import Format
from leases.acts import import_plan
from leases.audit import audit
from leases.claim import Grant, claim
from leases.settle import report
from tests.builders import LEAD, make_worker


def document(*objectives: str) -> str:
    """A plan file of these objectives, each a YAML flow mapping."""
    return "plan: p\nobjectives:\n" + "".join(f"- {objective}\n" for objective in objectives)


def load(*objectives: str, prune: bool = False, dry_run: bool = False) -> ImportResult:
    """Import a plan of these objectives; everything that always holds must hold afterwards."""
    plan = read_file(document(*objectives).encode(), Format.YAML, prune=prune)
    result = import_plan(plan=plan, caller=LEAD, prune=prune, dry_run=dry_run)
    assert audit() == []
    return result


def faults_of(*objectives: str, prune: bool = False) -> list[tuple[str, str, int | None]]:
    """The faults that importing these over the plan gives."""
    before = everything()
    try:
        load(*objectives, prune=prune)
    except PlanInvalid as refusal:
        assert everything() == before
        return [(fault["code"], fault["path"], fault["line"]) for fault in refusal.fields["faults"]]
    raise AssertionError("the plan was taken")


def conflicts_of(*objectives: str, prune: bool = False) -> dict[str, str]:
    """The nodes that are in the way of importing these, and why."""
    before = everything()
    try:
        load(*objectives, prune=prune)
    except PlanConflict as refusal:
        assert everything() == before
        return {node["full_key"]: node["why"] for node in refusal.fields["nodes"]}
    raise AssertionError("the plan was taken")


def everything() -> list[Any]:
    """All rows that an import could change."""
    tables: list[Any] = [Node, Edge, Event]
    return [[*table.objects.order_by("pk").values()] for table in tables]


def states() -> dict[str, str]:
    """The state of every node, by full key."""
    return dict(Node.objects.values_list("full_key", "state"))


def needs() -> set[tuple[str, str]]:
    """The edges, by full keys."""
    return {*Edge.objects.values_list("dependent__full_key", "dependency__full_key")}


def events(since: int = 0) -> list[tuple[str, str]]:
    """Type and node of every event after that number, in order."""
    names = dict(Node.objects.values_list("id", "full_key"))
    rows = Event.objects.filter(seq__gt=since).order_by("seq").values_list("type", "node")
    return [(type_, names.get(node, "")) for type_, node in rows]


def last_event() -> int:
    return Event.objects.order_by("seq").values_list("seq", flat=True).last() or 0


def node(full_key: str) -> Node:
    return Node.objects.get(full_key=full_key)


def take(full_key: str, *, hand: bool = False) -> Grant:
    """A new worker claims the node."""
    return claim(node_id=node(full_key).id, caller=make_worker(f"takes {full_key} {last_event()}"), hand=hand)


def settle(full_key: str, outcome: str = "done") -> None:
    """A new worker claims the node and reports."""
    worker = make_worker(f"settles {full_key} {last_event()}")
    grant = claim(node_id=node(full_key).id, caller=worker)
    report(node_id=grant.node.id, lease_id=grant.lease.id, fence=grant.lease.fence, caller=worker, outcome=outcome)
