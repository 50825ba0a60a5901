"""A plan back to a file (the end of contract, section 7).

Cancelled nodes are left out, and edges to them with a warning. Imported into an empty database the file gives the
same keys, parents, edges, waivers and texts.
"""

from collections.abc import Collection, Iterator
from typing import Any, Final

import yaml

from graph import sql, transaction
from graph.errors import NotFound
from graph.plan_faults import Fault
from graph.plan_types import PlanEdge, PlanFile, PlanNode
from graph.standing import Standing, read_standing
from graph.states import State

WIDTH: Final = 120


def export_plan(name: str) -> PlanFile:
    """The plan of this name as a file would give it, all read at one moment; its warnings say what is left out.

    Raises NotFound.
    """
    with transaction.snapshot():
        found = sql.fetch("SELECT id FROM graph_plan WHERE name = %s", [name])
        if not found:
            raise NotFound(f"There is no plan {name!r}.")
        standing = read_standing(found[0][0])
    kept = {key: node for key, node in standing.nodes.items() if node.state is not State.CANCELLED}
    nodes = tuple(
        PlanNode(key.rpartition("/")[2], key, node.title, node.body, node.parent, node.clone, "", 0)
        for key, node in kept.items()
    )
    warnings: list[Fault] = []
    edges = tuple(_edges(standing, kept.keys(), warnings))
    if not nodes:
        warnings.append(Fault("empty_plan", "", None, "All of the plan is cancelled: nothing is left to import."))
    return PlanFile(name, nodes, edges, tuple(warnings))


def _edges(standing: Standing, kept: Collection[str], warnings: list[Fault]) -> Iterator[PlanEdge]:
    for edge in standing.edges:
        if edge.dependent not in kept:
            continue
        why = None
        if edge.dependency not in kept:
            why = f"{edge.dependency} is cancelled"
        elif _reference(edge.dependent, edge.dependency, kept) is None:
            why = f"a task of the same objective has the key {edge.dependency}"
        if why is None:
            yield PlanEdge(edge.dependent, edge.dependency, edge.waived, "", 0)
        else:
            message = f"{edge.dependent} needs {edge.dependency}: left out, because {why}."
            warnings.append(Fault("edge_left_out", "", None, message))


def _reference(dependent: str, dependency: str, keys: Collection[str]) -> str | None:
    """How `needs` names the dependency, or None where every way to say it means another node.

    A bare key is a task of the dependent's objective first, so that an objective may be hidden by one.
    """
    lane, below, _ = dependent.partition("/")
    objective, slash, task = dependency.partition("/")
    if slash:
        return task if below and objective == lane else dependency
    hiding = f"{lane}/{dependency}"
    return None if below and hiding in keys and hiding != dependent else dependency


def to_document(plan: PlanFile) -> dict[str, Any]:
    """The plan as nested mappings and lists, as the file has them."""
    items: dict[str, dict[str, Any]] = {}
    needs: dict[str, list[Any]] = {}
    objectives: list[dict[str, Any]] = []
    keys = {node.full_key for node in plan.nodes}
    for edge in plan.edges:
        on = _reference(edge.dependent, edge.dependency, keys)
        needs.setdefault(edge.dependent, []).append(on if edge.waived is None else {"on": on, "waived": edge.waived})
    for node in plan.nodes:
        item: dict[str, Any] = {"key": node.key, "title": node.title}
        if node.body:
            item["body"] = node.body
        if node.clone:
            item["clone"] = {"repo": node.clone.repo} | ({"ref": node.clone.ref} if node.clone.ref else {})
        if node.full_key in needs:
            item["needs"] = needs[node.full_key]
        items[node.full_key] = item
        siblings = objectives if node.parent is None else items[node.parent].setdefault("tasks", [])
        siblings.append(item)
    return {"plan": plan.name, "objectives": objectives}


class _Dumper(yaml.SafeDumper):
    """Writes long texts as blocks, so that a body reads as it was written. (libyaml would escape emoji.)"""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def to_yaml(plan: PlanFile) -> str:
    """The file's text."""
    return yaml.dump(to_document(plan), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH)
