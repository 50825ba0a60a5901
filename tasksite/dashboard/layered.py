"""Where the boxes of a graph stand: layers from left to right, inside of containers as well. Pure.

A box stands right of all it needs (its layer is the longest way to it), and in its layer near what it is joined to
(barycentres, swept to and fro). Boxes that are joined to nothing are set in columns below. What lies in a container
is laid out first, and the container is then a box of that size, so that no two ever overlap.

A frame may be too narrow for that: a layout downwards is the same on its side, with boxes that stay upright.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

WIDTH: Final = 150
HEIGHT: Final = 28
PAD: Final = 14
"""Between a container and what lies in it, and above it all its name."""
HEAD: Final = 18
SWEEPS: Final = 4


@dataclass(frozen=True, slots=True)
class Way:
    """A direction; lengths are told as if it went to the right."""

    width: float
    height: float
    across: float
    """Between columns; arrows run there."""
    down: float
    """Between the boxes of a column."""
    left: float
    """The name of a container, where it is not above."""
    head: float
    shape: float
    """Width to height that is aimed at."""


RIGHT: Final = Way(WIDTH, HEIGHT, across=56, down=12, left=0, head=HEAD, shape=1.6)
DOWN: Final = Way(HEIGHT, WIDTH, across=36, down=16, left=HEAD, head=0, shape=0.4)


@dataclass(slots=True)
class Box:
    """`x` and `y` are those of its upper left corner."""

    width: float
    height: float
    x: float = 0
    y: float = 0

    def turned(self) -> "Box":
        return Box(self.height, self.width, self.y, self.x)


def layout(
    nodes: Sequence[tuple[str, str | None]], edges: Iterable[tuple[str, str]], way: Way = RIGHT
) -> dict[str, Box]:
    """The box of each node. `nodes` are (id, container's id or None), containers first and in the order of the walk;
    `edges` are (dependent, dependency), both among them.
    """
    parents = dict(nodes)
    inside: dict[str | None, list[str]] = {None: []}
    for node, parent in nodes:
        inside.setdefault(parent, []).append(node)
    joined = _lifted(parents, edges)
    boxes = {node: Box(way.width, way.height) for node in parents}
    for node, _ in reversed(nodes):
        if node in inside:
            width, height = _place(inside[node], joined.get(node, ()), boxes, way)
            boxes[node].width, boxes[node].height = width + 2 * PAD + way.left, height + 2 * PAD + way.head
    _place(inside[None], joined.get(None, ()), boxes, way)
    for node, parent in nodes:
        if parent is not None:
            boxes[node].x += boxes[parent].x + PAD + way.left
            boxes[node].y += boxes[parent].y + PAD + way.head
    return {node: box.turned() for node, box in boxes.items()} if way is DOWN else boxes


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


def _place(nodes: list[str], arrows: Iterable[tuple[str, str]], boxes: dict[str, Box], way: Way) -> tuple[float, float]:
    """Set the boxes of one container beside each other, from 0 on; the width and the height of them all."""
    rank = {node: place for place, node in enumerate(nodes)}
    # Containers may need parts of each other: arrows against the walk do not count for the layers.
    forward = sorted((rank[start], rank[end]) for start, end in arrows if rank[start] < rank[end])
    joined = {place for arrow in forward for place in arrow}
    columns = _layers(len(nodes), forward, joined)
    tallest = _height([boxes[node] for node in nodes], way)
    right, low = _set([[boxes[nodes[place]] for place in column] for column in columns], tallest, 0, way)
    alone = [boxes[node] for place, node in enumerate(nodes) if place not in joined]
    if not alone:
        return right, low
    wide, lowest = _set([alone], max(low, tallest), low + 2 * way.down if low else 0, way)
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


def _height(boxes: Sequence[Box], way: Way) -> float:
    """How tall columns may be, so that all of these together have a good shape."""
    area = sum((box.width + way.across) * (box.height + way.down) for box in boxes)
    return max([sqrt(area / way.shape), *(box.height for box in boxes)])


def _set(columns: Iterable[list[Box]], tallest: float, top: float, way: Way) -> tuple[float, float]:
    """Columns from left to right, below `top`; one that is too tall goes on in the next. Where they end."""
    broken = [part for column in columns for part in _broken(column, tallest, way)]
    heights = [sum(box.height + way.down for box in column) - way.down for column in broken]
    middle = top + max(heights, default=0) / 2
    left = right = 0.0
    for column, height in zip(broken, heights, strict=True):
        y = top if len(broken) == 1 else middle - height / 2
        for box in column:
            box.x, box.y = left, y
            y += box.height + way.down
        right = left + max(box.width for box in column)
        left = right + way.across
    return right, top + max(heights, default=0)


def _broken(column: list[Box], tallest: float, way: Way) -> Iterator[list[Box]]:
    part: list[Box] = []
    height = 0.0
    for box in column:
        if part and height + box.height > tallest:
            yield part
            part, height = [], 0.0
        part.append(box)
        height += box.height + way.down
    if part:
        yield part
