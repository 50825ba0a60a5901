"""Hypothesis strategies for whole plans."""

import unicodedata

from hypothesis import strategies as st

from graph.plan_types import Clone, PlanEdge, PlanFile, PlanNode
from graph.topology import CycleFound, walk

TEXTS = st.text(
    st.characters(exclude_categories=("Cs", "Cc")) | st.sampled_from("\n\t #:-'\"|>&*%@`,[]{}?!\\\u2028\u2029\ufeff😀"),
    max_size=40,
).map(lambda text: unicodedata.normalize("NFC", text))
"""Any text that a plan may hold, with all that YAML gives a meaning to."""

SOME_TEXTS = TEXTS.filter(lambda text: bool(text.strip()))

NAMES = SOME_TEXTS.map(lambda text: " ".join(text.split())).filter(bool)

KEYS = st.sampled_from(["1.0", "no", "on", "null", "2026-01-01", "0x1f", "1e3", "a.b", "key-1", "K_2"]) | (
    st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,9}", fullmatch=True)
)

CLONES = st.sampled_from([None, Clone("https://example.org/x.git", ""), Clone("git@example.org:x.git", "v1/ä")])


@st.composite
def plan_files(draw: st.DrawFn) -> PlanFile:
    """A plan without a fault, nested, with edges in all directions that close no cycle, some of them waived."""
    nodes: list[PlanNode] = []
    for objective in draw(st.lists(KEYS, min_size=1, max_size=4, unique_by=str.casefold)):
        nodes.append(_node(draw, objective, objective, None))
        lane = [objective]
        for key in draw(st.lists(KEYS, max_size=4, unique_by=str.casefold)):
            nodes.append(_node(draw, key, f"{objective}/{key}", draw(st.sampled_from(lane))))
            lane.append(nodes[-1].full_key)
    keys = [node.full_key for node in nodes]
    pairs: list[tuple[str, str]] = []
    for pair in draw(st.lists(st.tuples(st.sampled_from(keys), st.sampled_from(keys)), max_size=10, unique=True)):
        if not _hidden(*pair, keys) and _walkable(nodes, [*pairs, pair]):
            pairs.append(pair)
    pairs.sort(key=lambda pair: keys.index(pair[0]))
    edges = [PlanEdge(*pair, draw(st.none() | SOME_TEXTS), "", 0) for pair in pairs]
    return PlanFile(draw(NAMES), tuple(nodes), tuple(edges))


def _node(draw: st.DrawFn, key: str, full_key: str, parent: str | None) -> PlanNode:
    clone = draw(CLONES) if parent is None else None
    return PlanNode(key, full_key, draw(SOME_TEXTS), draw(TEXTS), parent, clone, "", 0)


def _hidden(dependent: str, dependency: str, keys: list[str]) -> bool:
    """No file can say this edge: a task of the dependent's objective has the key of the objective that it needs."""
    lane, slash, _ = dependent.partition("/")
    hiding = f"{lane}/{dependency}"
    return bool(slash) and "/" not in dependency and hiding in keys and hiding != dependent


def _walkable(nodes: list[PlanNode], pairs: list[tuple[str, str]]) -> bool:
    try:
        walk([(node.full_key, node.parent) for node in nodes], pairs)
    except CycleFound:
        return False
    return True
