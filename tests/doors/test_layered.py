"""The layout of the graph: dependencies stand to the left, boxes lie in their containers, nothing overlaps."""

import random
import time

import pytest

from tasksite.dashboard.layered import DOWN, HEAD, HEIGHT, PAD, RIGHT, WIDTH, Box, Way, layout

Tree = list[tuple[str, str | None]]


def apart(one: Box, other: Box) -> bool:
    return (
        one.x + one.width <= other.x
        or other.x + other.width <= one.x
        or one.y + one.height <= other.y
        or other.y + other.height <= one.y
    )


def within(inner: Box, outer: Box) -> bool:
    return (
        outer.x < inner.x
        and outer.y + HEAD < inner.y
        and inner.x + inner.width < outer.x + outer.width
        and inner.y + inner.height < outer.y + outer.height
    )


def check(nodes: Tree, boxes: dict[str, Box]) -> None:
    inside: dict[str | None, list[str]] = {}
    for node, parent in nodes:
        inside.setdefault(parent, []).append(node)
        if parent is not None:
            assert within(boxes[node], boxes[parent]), (node, parent)
    for siblings in inside.values():
        for place, one in enumerate(siblings):
            assert all(apart(boxes[one], boxes[other]) for other in siblings[:place]), siblings


def flat(*names: str) -> Tree:
    return [(name, None) for name in names]


def test_a_chain_goes_from_left_to_right_in_one_row() -> None:
    boxes = layout(flat("a", "b", "c"), [("b", "a"), ("c", "b")])
    assert boxes["a"].x + WIDTH < boxes["b"].x and boxes["b"].x + WIDTH < boxes["c"].x
    assert boxes["a"].y == boxes["b"].y == boxes["c"].y


def test_a_layer_is_the_longest_way() -> None:
    boxes = layout(flat("a", "b", "c", "d"), [("b", "a"), ("c", "b"), ("d", "c"), ("d", "a")])
    assert [boxes[node].x for node in "abcd"] == sorted({boxes[node].x for node in "abcd"})


def test_lines_that_need_not_cross_do_not() -> None:
    boxes = layout(flat("a", "b", "c", "x", "y", "z"), [("x", "c"), ("y", "b"), ("z", "a")])
    assert [boxes[node].y for node in "zyx"] == [boxes[node].y for node in "abc"]


def test_a_container_is_as_large_as_what_lies_in_it() -> None:
    nodes: Tree = [("a", None), ("a/1", "a"), ("a/2", "a"), ("b", None)]
    boxes = layout(nodes, [("a/2", "a/1"), ("b", "a/2")])
    check(nodes, boxes)
    assert boxes["a"].height == HEIGHT + 2 * PAD + HEAD
    assert boxes["b"].x > boxes["a"].x + boxes["a"].width


def test_containers_may_need_parts_of_each_other() -> None:
    nodes: Tree = [("a", None), ("b", None), ("a/1", "a"), ("b/1", "b"), ("a/2", "a"), ("b/2", "b")]
    boxes = layout(nodes, [("b/1", "a/1"), ("a/2", "b/1"), ("b/2", "a/2")])
    check(nodes, boxes)
    assert boxes["a"].x < boxes["b"].x


def test_an_edge_to_what_is_around_joins_nothing() -> None:
    nodes: Tree = [("a", None), ("a/1", "a"), ("b", None)]
    check(nodes, layout(nodes, [("b", "a")]))
    check(nodes, layout(nodes, [("a/1", "a")]))


def test_those_without_edges_stand_below_in_columns() -> None:
    boxes = layout(flat("x", "y", *(f"n{number}" for number in range(100))), [("y", "x")])
    assert len({boxes[f"n{number}"].x for number in range(100)}) > 3
    assert min(boxes[f"n{number}"].y for number in range(100)) >= boxes["x"].y + HEIGHT + RIGHT.down
    check(flat(*boxes), boxes)


def test_nothing_is_laid_out_too() -> None:
    assert layout([], []) == {}


def drawn(chance: random.Random, count: int) -> tuple[Tree, list[tuple[str, str]]]:
    """A random nested plan; nodes need some of those before them that are not around them."""
    nodes: Tree = []
    around: dict[str, set[str]] = {}
    edges = []
    for number in range(count):
        parent = chance.choice(nodes)[0] if nodes and chance.random() < 0.6 else None
        name = str(number)
        around[name] = {parent, *around[parent]} if parent else set()
        for _ in range(chance.choice([0, 0, 1, 2])):
            if nodes and (other := chance.choice(nodes)[0]) not in around[name]:
                edges.append((name, other))
        nodes.append((name, parent))
    return nodes, edges


@pytest.mark.parametrize("way", [RIGHT, DOWN], ids=["right", "down"])
@pytest.mark.parametrize("seed", range(30))
def test_nothing_overlaps_in_any_plan(seed: int, way: Way) -> None:
    nodes, edges = drawn(random.Random(seed), 60)
    boxes = layout(nodes, edges, way)
    check(nodes, boxes)
    assert layout(nodes, edges, way) == boxes


def test_downwards_what_may_run_together_stands_side_by_side() -> None:
    nodes: Tree = [("a", None), *((f"a/{number}", "a") for number in range(4))]
    boxes = layout(nodes, [("a/1", "a/0"), ("a/2", "a/0"), ("a/3", "a/1"), ("a/3", "a/2")], DOWN)
    assert boxes["a/1"].y == boxes["a/2"].y and boxes["a/1"].x != boxes["a/2"].x


def test_downwards_a_chain_is_one_column_of_upright_boxes() -> None:
    nodes: Tree = [("a", None), ("a/1", "a"), ("a/2", "a"), ("b", None)]
    boxes = layout(nodes, [("a/2", "a/1"), ("b", "a/2")], DOWN)
    check(nodes, boxes)
    assert boxes["a/1"].y + HEIGHT < boxes["a/2"].y and boxes["a"].y + boxes["a"].height < boxes["b"].y
    assert boxes["a/1"].x == boxes["a/2"].x
    assert (boxes["a"].width, boxes["b"].width, boxes["b"].height) == (WIDTH + 2 * PAD, WIDTH, HEIGHT)


def test_five_thousand_nodes_take_well_under_a_second() -> None:
    nodes, edges = drawn(random.Random(1), 5_000)
    began = time.process_time()
    layout(nodes, edges)
    assert time.process_time() - began < 1  # 0.07 s where nothing else runs
