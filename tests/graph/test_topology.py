"""The walk equals networkx's on the contract's graph, and a cycle is named whole."""

import random

import networkx as nx
import pytest

from graph.topology import CycleFound, describe, walk

Nodes = list[tuple[str, str | None]]
Edges = list[tuple[str, str]]


def vertices(nodes: Nodes, edges: Edges) -> "nx.DiGraph[tuple[str, str]]":
    """The graph of contract section 3, by its words."""
    containers = {parent for _, parent in nodes if parent is not None}

    def first(node: str) -> tuple[str, str]:
        return (node, "open")

    def last(node: str) -> tuple[str, str]:
        return (node, "close" if node in containers else "open")

    drawn: nx.DiGraph[tuple[str, str]] = nx.DiGraph()
    drawn.add_nodes_from(first(node) for node, _ in nodes)
    drawn.add_nodes_from(last(node) for node, _ in nodes)
    for node, parent in nodes:
        if parent is not None:
            drawn.add_edge(first(parent), first(node))
            drawn.add_edge(last(node), last(parent))
    drawn.add_edges_from((last(dependency), first(dependent)) for dependent, dependency in edges)
    return drawn


def oracle(nodes: Nodes, edges: Edges) -> dict[str, int]:
    order = nx.lexicographical_topological_sort(vertices(nodes, edges), key=lambda vertex: vertex[0])
    return {node: place for place, (node, side) in enumerate(order) if side == "open"}


def random_plan(seed: int) -> tuple[Nodes, Edges]:
    """Nested nodes with shuffled ids, and edges of which some would close a cycle."""
    chance = random.Random(seed)
    ids = [f"{number:03d}" for number in range(chance.randint(1, 40))]
    chance.shuffle(ids)
    nodes: Nodes = []
    for place, node in enumerate(ids):
        nodes.append((node, chance.choice(ids[:place]) if place and chance.random() < 0.6 else None))
    count = chance.randint(0, 2 * len(ids)) if len(ids) > 1 else 0
    pairs = [chance.sample(ids, 2) for _ in range(count)]
    return nodes, sorted({(dependent, dependency) for dependent, dependency in pairs})


def without_cycles(nodes: Nodes, edges: Edges) -> Edges:
    kept: Edges = []
    for edge in edges:
        if nx.is_directed_acyclic_graph(vertices(nodes, [*kept, edge])):
            kept.append(edge)
    return kept


@pytest.mark.parametrize("seed", range(300))
def test_the_walk_is_the_lexicographically_smallest_topological_order(seed: int) -> None:
    nodes, edges = random_plan(seed)
    edges = without_cycles(nodes, edges)
    assert walk(nodes, edges) == oracle(nodes, edges)


@pytest.mark.parametrize("seed", range(300))
def test_a_cycle_is_found_where_there_is_one_and_each_is_real_and_simple(seed: int) -> None:
    nodes, edges = random_plan(seed)
    parent_of = dict(nodes)
    if nx.is_directed_acyclic_graph(vertices(nodes, edges)):
        assert walk(nodes, edges) == oracle(nodes, edges)
        return
    with pytest.raises(CycleFound) as raised:
        walk(nodes, edges)
    for cycle in raised.value.cycles:
        assert [step.awaited for step in cycle] == [step.node for step in [*cycle[1:], cycle[0]]]
        for step in cycle:
            match step.relation:
                case "needs":
                    assert (step.node, step.awaited) in edges
                case "contains":
                    assert parent_of[step.awaited] == step.node
                case "is in":
                    assert parent_of[step.node] == step.awaited
                case _:
                    raise AssertionError(step)
    knots = [knot for knot in nx.strongly_connected_components(vertices(nodes, edges)) if len(knot) > 1]
    assert len(raised.value.cycles) == len(knots)


CYCLES = {
    "a needs b, which needs a": ("a b", "", "a>b b>a"),
    "a needs b, which needs c, which needs a": ("a b c", "", "b>c c>a a>b"),
    "x needs a, which contains x": ("a", "x:a", "x>a"),
    "a needs x, which is in a": ("a", "x:a", "a>x"),
    "x needs b, which contains y, which needs a, which contains x": ("a b", "x:a y:b", "x>b y>a"),
    "a needs b, which needs a ": ("a b", "x:a y:b", "a>b b>a"),
    "a needs b, which contains y, which needs x, which is in a": ("a b", "x:a y:b", "a>b y>x"),
    "a needs y, which is in x, which is in a": ("a", "x:a y:x", "a>y"),
}


@pytest.mark.parametrize("sentence", CYCLES)
def test_a_cycle_is_named_in_order_through_containers(sentence: str) -> None:
    roots, children, needs = CYCLES[sentence]
    nodes: Nodes = [(root, None) for root in roots.split()]
    nodes += [(pair.split(":")[0], pair.split(":")[1]) for pair in children.split()]
    with pytest.raises(CycleFound) as raised:
        walk(nodes, [(need.split(">")[0], need.split(">")[1]) for need in needs.split()])
    assert [describe(cycle) for cycle in raised.value.cycles] == [sentence.strip()]


def test_each_knot_is_named_once_and_what_hangs_on_it_is_not() -> None:
    with pytest.raises(CycleFound) as raised:
        walk([(node, None) for node in "abcdef"], [("a", "b"), ("b", "a"), ("c", "a"), ("d", "e"), ("e", "d")])
    assert str(raised.value) == "a needs b, which needs a; d needs e, which needs d"


def test_a_cycle_of_a_hundred_thousand_nodes_does_not_exhaust_the_stack() -> None:
    ids = [f"{number:06d}" for number in range(100_000)]
    with pytest.raises(CycleFound) as raised:
        walk([(node, None) for node in ids], list(zip(ids, ids[1:] + ids[:1], strict=True)))
    assert len(raised.value.cycles[0]) == len(ids)


def test_positions_count_close_vertices() -> None:
    assert walk([("a", None), ("x", "a"), ("y", "a"), ("z", None)], []) == {"a": 0, "x": 1, "y": 2, "z": 4}


def test_the_smallest_id_goes_first_among_all_that_is_available() -> None:
    assert walk([("a", None), ("b", None), ("x", "a")], []) == {"a": 0, "b": 1, "x": 2}
