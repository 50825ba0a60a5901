"""Where the boxes of a graph stand: layers from left to right, inside of containers as well. Pure.

A box stands right of all it needs (its layer is the longest way to it), and in its layer near what it is joined to
(barycentres, swept to and fro). Boxes that are joined to nothing are set in columns below. What lies in a container
is laid out first, and the container is then a box of that size, so that no two ever overlap.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

WIDTH: Final = 150
HEIGHT: Final = 28
ACROSS: Final = 56
"""Between columns; arrows run there."""
DOWN: Final = 12
PAD: Final = 14
"""Between a container and what lies in it, and above it all its name."""
HEAD: Final = 18
SWEEPS: Final = 4
SHAPE: Final = 1.6
"""Width to height that is aimed at, as screens have it."""


@dataclass(slots=True)
class Box:
    """`x` and `y` are those of its upper left corner."""

    x: float = 0
    y: float = 0
    width: float = WIDTH
    height: float = HEIGHT


def layout(nodes: Sequence[tuple[str, str | None]], edges: Iterable[tuple[str, str]]) -> dict[str, Box]:
    """The box of each node. `nodes` are (id, container's id or None), containers first and in the order of the walk;
    `edges` are (dependent, dependency), both among them.
    """
    parents = dict(nodes)
    inside: dict[str | None, list[str]] = {None: []}
    for node, parent in nodes:
        inside.setdefault(parent, []).append(node)
    joined = _lifted(parents, edges)
    boxes = {node: Box() for node in parents}
    for node, _ in reversed(nodes):
        if node in inside:
            width, height = _place(inside[node], joined.get(node, ()), boxes)
            boxes[node].width, boxes[node].height = width + 2 * PAD, height + 2 * PAD + HEAD
    _place(inside[None], joined.get(None, ()), boxes)
    for node, parent in nodes:
        if parent is not None:
            boxes[node].x += boxes[parent].x + PAD
            boxes[node].y += boxes[parent].y + PAD + HEAD
    return boxes


Arrows = set[tuple[str, str]]
"""From what is needed to what needs it."""


def _lifted(parents: dict[str, str | None], edges: Iterable[tuple[str, str]]) -> dict[str | None, Arrows]:
    """Each edge where its two ends part: between two boxes of one container, by that container."""
    found: dict[str | None, Arrows] = {}
    for dependent, dependency in edges:
        above = {None: dependency, **{up: below for below, up in _chain(dependency, parents)}}
        for below, up in _chain(dependent, parents):
            if up in above:
                if above[up] != below and dependency != up:
                    found.setdefault(up, set()).add((above[up], below))
                break
    return found


def _chain(node: str, parents: dict[str, str | None]) -> Iterator[tuple[str, str | None]]:
    """Each box with the container around it, outwards."""
    at: str | None = node
    while at is not None:
        yield at, parents[at]
        at = parents[at]


def _place(nodes: list[str], arrows: Iterable[tuple[str, str]], boxes: dict[str, Box]) -> tuple[float, float]:
    """Set the boxes of one container beside each other, from 0 on; the width and the height of them all."""
    rank = {node: place for place, node in enumerate(nodes)}
    # Containers may need parts of each other: arrows against the walk do not count for the layers.
    forward = sorted((rank[start], rank[end]) for start, end in arrows if rank[start] < rank[end])
    joined = {place for arrow in forward for place in arrow}
    columns = _layers(len(nodes), forward, joined)
    tallest = _height([boxes[node] for node in nodes])
    right, low = _set([[boxes[nodes[place]] for place in column] for column in columns], tallest, 0)
    alone = [boxes[node] for place, node in enumerate(nodes) if place not in joined]
    if not alone:
        return right, low
    wide, lowest = _set([alone], max(low, tallest), low + 2 * DOWN if low else 0)
    return max(right, wide), lowest


def _layers(count: int, forward: Sequence[tuple[int, int]], joined: set[int]) -> list[list[int]]:
    """The joined boxes by layer, each layer in a good order."""
    layer = [0] * count
    before: dict[int, list[int]] = {}
    after: dict[int, list[int]] = {}
    for start, end in forward:
        before.setdefault(end, []).append(start)
        after.setdefault(start, []).append(end)
    for place in sorted(joined):
        layer[place] = max((layer[each] + 1 for each in before.get(place, ())), default=0)
    columns: list[list[int]] = [[] for _ in range(max((layer[place] + 1 for place in joined), default=0))]
    for place in sorted(joined):
        columns[layer[place]].append(place)
    at = {place: (row + 0.5) / len(column) for column in columns for row, place in enumerate(column)}
    for sweep in range(SWEEPS):
        beside = after if sweep % 2 else before
        for column in reversed(columns) if sweep % 2 else columns:
            pull = {
                place: sum(at[each] for each in beside[place]) / len(beside[place]) if place in beside else at[place]
                for place in column
            }
            column.sort(key=pull.__getitem__)  # equal ones stay as they were
            at.update({place: (row + 0.5) / len(column) for row, place in enumerate(column)})
    return columns


def _height(boxes: Sequence[Box]) -> float:
    """How tall columns may be, so that all of these together have a good shape."""
    area = sum((box.width + ACROSS) * (box.height + DOWN) for box in boxes)
    return max([sqrt(area / SHAPE), *(box.height for box in boxes)])


def _set(columns: Iterable[list[Box]], tallest: float, top: float) -> tuple[float, float]:
    """Columns from left to right, below `top`; one that is too tall goes on in the next. Where they end."""
    broken = [part for column in columns for part in _broken(column, tallest)]
    heights = [sum(box.height + DOWN for box in column) - DOWN for column in broken]
    middle = top + max(heights, default=0) / 2
    left = right = 0.0
    for column, height in zip(broken, heights, strict=True):
        y = top if len(broken) == 1 else middle - height / 2
        for box in column:
            box.x, box.y = left, y
            y += box.height + DOWN
        right = left + max(box.width for box in column)
        left = right + ACROSS
    return right, top + max(heights, default=0)


def _broken(column: list[Box], tallest: float) -> Iterator[list[Box]]:
    part: list[Box] = []
    height = 0.0
    for box in column:
        if part and height + box.height > tallest:
            yield part
            part, height = [], 0.0
        part.append(box)
        height += box.height + DOWN
    if part:
        yield part
