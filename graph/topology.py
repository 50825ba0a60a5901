"""The walk of a plan: its order, and its cycles (contract, section 3). Pure: no ORM, no clock.

Of all that is available, the bytewise smallest id goes first (Kahn's walk over a heap). A leaf is one vertex;
a container is two, *open* and *close*. Arrows run parent.open → child, child → parent.close and
dependency(.close) → dependent(.open). Every edge counts, waived or not, and every node, settled or not.

Inside, a vertex is a number: twice the rank of its id, + 1 for close; so numbers compare as ids do. A library would
do the walk too, but rustworkx pulls numpy and networkx takes six times as long at 100,000 nodes; the tests
hold this walk against networkx.
"""

from collections import deque
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple, TypeVar

Id = TypeVar("Id", str, int)
"""Nodes are named by their ids, or, before they have any, by their places in the document."""

Arrows = dict[int, list[int]]


class Step(NamedTuple):
    """One link of a cycle: `node` waits for `awaited`, the node of the next link; the last waits for the first."""

    node: Any
    relation: str
    """Why it waits: it "needs" the other, "contains" it or "is in" it."""
    awaited: Any


Cycle = Sequence[Step]


class CycleFound(Exception):
    """The plan cannot be walked. `cycles` names one short cycle of each knot of nodes, whole and in order."""

    def __init__(self, cycles: Sequence[Cycle]) -> None:
        self.cycles = cycles
        super().__init__("; ".join(describe(cycle) for cycle in cycles))


def describe(cycle: Cycle, name: Callable[[Any], str] = str) -> str:
    """The cycle as a sentence: "a needs b, which contains b/c, which needs a"."""
    return f"{name(cycle[0].node)} " + ", which ".join(f"{step.relation} {name(step.awaited)}" for step in cycle)


def walk(nodes: Sequence[tuple[Id, Id | None]], edges: Sequence[tuple[Id, Id]]) -> dict[Id, int]:
    """The position of each node: the index of its (open) vertex in the walk, from 0.

    `nodes` are (id, parent's id or None), in any order; `edges` are (dependent, dependency).
    Raises CycleFound.
    """
    ids = sorted(node for node, _ in nodes)
    rank = {node: place for place, node in enumerate(ids)}
    parents = {rank[parent] for _, parent in nodes if parent is not None}
    arrows, incoming = _draw(nodes, edges, rank, parents)

    available = [vertex for vertex in arrows if not incoming[vertex]]
    heapify(available)
    positions: dict[Id, int] = {}
    walked = 0
    while available:
        vertex = heappop(available)
        if not vertex & 1:
            positions[ids[vertex >> 1]] = walked
        walked += 1
        for after in arrows[vertex]:
            incoming[after] -= 1
            if not incoming[after]:
                heappush(available, after)
    if walked < len(arrows):
        stuck = {vertex for vertex in arrows if incoming[vertex]}
        raise CycleFound([_steps(cycle, ids, parents) for cycle in _cycles(arrows, stuck)])
    return positions


def _draw(
    nodes: Sequence[tuple[Id, Id | None]], edges: Sequence[tuple[Id, Id]], rank: dict[Id, int], parents: set[int]
) -> tuple[Arrows, list[int]]:
    """The arrows out of each vertex, and the number of arrows into it."""
    opening = {node: 2 * place for node, place in rank.items()}
    closing = {node: 2 * place + (place in parents) for node, place in rank.items()}
    arrows: Arrows = {vertex: [] for vertex in opening.values()}
    for place in parents:
        # Implied by the children, so the order is the same; it lets a cycle be named without a detour through them.
        arrows[2 * place].append(2 * place + 1)
        arrows[2 * place + 1] = []
    for node, parent in nodes:
        if parent is not None:
            arrows[opening[parent]].append(opening[node])
            arrows[closing[node]].append(closing[parent])
    for dependent, dependency in edges:
        arrows[closing[dependency]].append(opening[dependent])
    incoming = [0] * (2 * len(rank))
    for targets in arrows.values():
        for vertex in targets:
            incoming[vertex] += 1
    return arrows, incoming


def _cycles(arrows: Arrows, stuck: set[int]) -> list[list[int]]:
    """One short cycle of each knot among the vertices where the walk got stuck; each waits for the next."""
    waits_for: Arrows = {vertex: [] for vertex in sorted(stuck)}
    for vertex in waits_for:
        for after in arrows[vertex]:
            if after in waits_for:
                waits_for[after].append(vertex)
    cycles = (_way_back(min(knot), waits_for, knot) for knot in _knots(waits_for))
    return sorted(cycle for cycle in cycles if cycle)


def _knots(waits_for: Arrows) -> list[set[int]]:
    """The strongly connected components (Tarjan's algorithm; without recursion, for a chain can be long)."""
    finished = len(waits_for)
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    path: list[int] = []
    knots: list[set[int]] = []
    for root in waits_for:
        todo = [] if root in index else [(root, iter(waits_for[root]))]
        while todo:
            vertex, others = todo[-1]
            if vertex not in index:
                index[vertex] = low[vertex] = len(index)
                path.append(vertex)
            for other in others:
                if other not in index:
                    todo.append((other, iter(waits_for[other])))
                    break
                low[vertex] = min(low[vertex], index[other])
            else:
                todo.pop()
                if todo:
                    below = todo[-1][0]
                    low[below] = min(low[below], low[vertex])
                if low[vertex] == index[vertex]:
                    knot = {vertex}
                    while (member := path.pop()) != vertex:
                        knot.add(member)
                    index.update(dict.fromkeys(knot, finished))
                    knots.append(knot)
    return knots


def _way_back(start: int, waits_for: Arrows, knot: set[int]) -> list[int]:
    """A shortest way from `start` through the knot back to it; empty where there is none."""
    came_from: dict[int, int] = {}
    queue = deque([start])
    while queue:
        vertex = queue.popleft()
        for other in waits_for[vertex]:
            if other == start:
                way = [vertex]
                while way[-1] != start:
                    way.append(came_from[way[-1]])
                return way[::-1]
            if other in knot and other not in came_from:
                came_from[other] = vertex
                queue.append(other)
    return []


def _steps(cycle: Sequence[int], ids: Sequence[Any], parents: set[int]) -> Cycle:
    """The vertices of a cycle as steps from node to node, a "needs" first."""
    steps: list[Step] = []
    for vertex, awaited in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        if vertex & 1 and awaited == vertex - 1:
            continue  # a container's close waits for its open: the same node
        into_parent = not awaited & 1 and awaited >> 1 in parents
        relation = "contains" if vertex & 1 else "is in" if into_parent else "needs"
        steps.append(Step(ids[vertex >> 1], relation, ids[awaited >> 1]))
    first = next(number for number, step in enumerate(steps) if step.relation == "needs")
    return steps[first:] + steps[:first]
