"""Brute force: the order of the pool and what is ready, read off plain facts as the contract words them."""

from collections.abc import Iterable, Mapping, Sequence

SATISFYING = ("done", "partial")

Vertex = tuple[str, int]
"""A node's id with 0 for its open (or only) vertex, 1 for its close."""


def order(parents: Mapping[str, str | None], needs: Iterable[tuple[str, str]]) -> list[str]:
    """Nodes in the order of the walk: of all vertices with nothing left before them, the smallest id goes next.

    `needs` are (dependent, dependency).
    """
    containers = {parent for parent in parents.values() if parent is not None}
    before: dict[Vertex, set[Vertex]] = {(node, 0): set() for node in parents}
    before |= {(node, 1): {(node, 0)} for node in containers}

    def close(node: str) -> Vertex:
        return (node, 1 if node in containers else 0)

    for node, parent in parents.items():
        if parent is not None:
            before[(node, 0)].add((parent, 0))
            before[(parent, 1)].add(close(node))
    for dependent, dependency in needs:
        before[(dependent, 0)].add(close(dependency))
    walked: list[Vertex] = []
    while before:
        vertex = min(each for each, waits in before.items() if not waits)
        del before[vertex]
        for waits in before.values():
            waits.discard(vertex)
        walked.append(vertex)
    return [node for node, side in walked if side == 0]


def chain(node: str, parents: Mapping[str, str | None]) -> list[str]:
    """A node and its ancestors, the objective last."""
    found = [node]
    while (above := parents[found[-1]]) is not None:
        found.append(above)
    return found


def satisfied(
    node: str,
    parents: Mapping[str, str | None],
    needs: Iterable[tuple[str, str, bool]],
    states: Mapping[str, str],
) -> bool:
    """Each own edge, and each edge of each ancestor, is waived or points at what is done or partial.

    `needs` are (dependent, dependency, waived).
    """
    above = chain(node, parents)
    return all(waived or states[on] in SATISFYING for who, on, waived in needs if who in above)


def rolled_up(children: Sequence[str], *, claimed: bool) -> str | None:
    """A container's state by those of its children; None where it waits, and readiness decides."""
    if all(child == "cancelled" for child in children):
        return "cancelled"
    if all(child in ("done", "partial", "cancelled") for child in children):
        return "partial" if "partial" in children else "done"
    return "running" if claimed else None
