"""Small plans for tests, written as nested dicts, and the callers who work on them."""

from collections.abc import Mapping
from typing import Any

from graph import clock, events, topology, transitions
from graph.actors import Caller
from graph.fields import from_micros
from graph.ids import new_id
from graph.models import Edge, Node, Plan
from graph.transaction import entry
from leases.models import Role, Token

LEAD = Caller("lead", Role.LEAD)

Tree = Mapping[str, Any]
"""`{key: {"needs": [full keys], "tasks": {…}, "waived": [full keys]}}`, an empty dict for a plain leaf."""


def make_worker(name: str = "worker-1") -> Caller:
    token_id = new_id()
    Token.objects.create(id=token_id, name=name, role=Role.WORKER, digest=token_id, created_at=from_micros(0))
    return Caller(name, Role.WORKER, token_id)


@entry
def make_plan(objectives: Tree, name: str = "plan") -> dict[str, str]:
    """Import a plan; the ids by full key."""
    now = clock.read_and_mark()
    plan = Plan.objects.create(id=new_id(), name=name, created_at=from_micros(now), imported_at=from_micros(now))
    rows: dict[str, Node] = {}
    needs: list[tuple[str, str, bool]] = []

    def add(key: str, spec: Tree, objective: Node | None, parent: Node | None) -> None:
        full = key if objective is None else f"{objective.key}/{key}"
        node = Node(
            id=new_id(), plan=plan, parent=parent, key=key, full_key=full, title=f"Title of {key}",
            leaf=not spec.get("tasks"), position=0,
        )  # fmt: skip
        node.objective = objective or node
        rows[full] = node
        needs.extend((full, on, False) for on in spec.get("needs", ()))
        needs.extend((full, on, True) for on in spec.get("waived", ()))
        for child, below in spec.get("tasks", {}).items():
            add(child, below, objective or node, node)

    for key, spec in objectives.items():
        add(key, spec, None, None)
    edges = [Edge(id=new_id(), dependent=rows[full], dependency=rows[on], waived=waived) for full, on, waived in needs]
    positions = topology.walk(
        [(node.id, node.parent_id) for node in rows.values()], [(e.dependent_id, e.dependency_id) for e in edges]
    )
    for node in rows.values():
        node.position = positions[node.id]
        node.save(force_insert=True)
    Edge.objects.bulk_create(edges)
    drafts = [events.Draft("plan.imported", plan.id, data={"name": name, "created": True})]
    drafts += [_added(node) for node in rows.values()]
    drafts += [_needed(edge) for edge in edges]
    events.append(drafts, actor="lead", now=now)
    transitions.apply({}, by="import", actor="lead", now=now, plan_id=plan.id)
    return {full: node.id for full, node in rows.items()}


def _added(node: Node) -> events.Draft:
    data = {
        "key": node.key, "full_key": node.full_key, "kind": node.kind, "parent": node.parent_id,
        "title": node.title, "body": node.body, "clone": None,
    }  # fmt: skip
    return events.Draft("node.added", node.plan_id, node.objective_id, node.id, data=data)


def _needed(edge: Edge) -> events.Draft:
    data = {"edge": edge.id, "dependency": edge.dependency_id, "waived": edge.waived, "reason": edge.waive_reason}
    return events.Draft("edge.added", edge.dependent.plan_id, edge.dependent.objective_id, edge.dependent_id, data=data)


def states(ids: Mapping[str, str]) -> dict[str, str]:
    """Every node's state, by full key."""
    found = dict(Node.objects.filter(id__in=ids.values()).values_list("id", "state"))
    return {full: found[node_id] for full, node_id in ids.items()}
