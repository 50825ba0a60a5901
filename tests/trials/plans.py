"""Small random plans for trials, and files that change them: nested, with edges across lanes, never a cycle."""

from dataclasses import dataclass, field
from typing import Any, Final

from hypothesis import strategies as st

from graph import topology
from graph.plan_types import PlanEdge, PlanFile, PlanNode

Shape = dict[str, Any]
"""As `tests.builders.make_plan` takes it."""


@st.composite
def shapes(draw: st.DrawFn, most: int = 9) -> Shape:
    """At most `most` nodes, in one to four lanes, three deep."""
    keys: list[str] = []
    parents: dict[str, str | None] = {}
    for number in range(draw(st.integers(4, most))):
        tall = [key for key in keys if _depth(key, parents) < 3]
        lanes = sum(parent is None for parent in parents.values())
        places = [*tall, None] if lanes < 4 else tall
        parent = draw(st.sampled_from(places)) if keys else None
        key = f"n{number}" if parent is None else f"{_lane(parent, parents)}/n{number}"
        keys.append(key)
        parents[key] = parent
    end, how = st.integers(0, len(keys) - 1), st.sampled_from(["needs", "needs", "waived"])
    needs: list[tuple[str, str, str]] = []
    for one, other, kind, anyhow in draw(st.lists(st.tuples(end, end, how, st.booleans()), min_size=3, max_size=most)):
        # Mostly the later one needs the earlier: any two of those walk, unless one is above the other.
        dependent, dependency = (keys[one], keys[other]) if anyhow else (keys[max(one, other)], keys[min(one, other)])
        known = {ends[:2] for ends in needs}
        if one != other and (dependent, dependency) not in known and walks(parents, known | {(dependent, dependency)}):
            needs.append((dependent, dependency, kind))
    return _nested(None, parents, needs)


def _nested(parent: str | None, parents: dict[str, str | None], needs: list[tuple[str, str, str]]) -> Shape:
    shape: Shape = {}
    for key in [each for each, above in parents.items() if above == parent]:
        own: Shape = {}
        for dependent, dependency, how in needs:
            if dependent == key:
                own.setdefault(how, []).append(dependency)
        if tasks := _nested(key, parents, needs):
            own["tasks"] = tasks
        shape[key.rpartition("/")[2]] = own
    return shape


def walks(parents: dict[str, str | None], needs: set[tuple[str, str]]) -> bool:
    try:
        topology.walk([*parents.items()], [*needs])
    except topology.CycleFound:
        return False
    return True


def _lane(key: str, parents: dict[str, str | None]) -> str:
    above = parents[key]
    return key if above is None else _lane(above, parents)


def _depth(key: str, parents: dict[str, str | None]) -> int:
    above = parents[key]
    return 1 if above is None else 1 + _depth(above, parents)


CHANGES: Final = ("drop", "restore", "add", "need", "unneed", "retitle")
MOST: Final = 14


@dataclass
class File:
    """The plan file that its author edits and imports again."""

    parents: dict[str, str | None]
    needs: set[tuple[str, str]]
    titles: dict[str, str]
    dropped: dict[str, str | None] = field(default_factory=dict)

    def change(self, what: str, one: int, other: int) -> None:
        """Edit it; `one` and `other` pick nodes. What makes no sense leaves it as it is."""
        keys = [*self.parents]
        first, second = keys[one % len(keys)], keys[other % len(keys)]
        if what == "drop" and len(self.parents) > 1:
            below = [key for key in keys if first in _chain(key, self.parents)]
            if len(below) < len(keys):
                self.dropped |= {key: self.parents.pop(key) for key in below}
                self.needs = {ends for ends in self.needs if not {*ends} & {*below}}
        elif what == "restore":
            self.parents, self.dropped = self.dropped | self.parents, {}
            self.parents = dict(sorted(self.parents.items(), key=lambda item: _depth(item[0], self.parents)))
        elif what == "add" and len(self.parents) + len(self.dropped) < MOST and _depth(first, self.parents) < 4:
            key = f"{_lane(first, self.parents)}/m{len(self.titles)}"
            self.parents[key], self.titles[key] = first, "new"
        elif what == "need" and first != second and walks(self.parents, self.needs | {(first, second)}):
            self.needs.add((first, second))
        elif what == "unneed" and self.needs:
            self.needs.discard(sorted(self.needs)[one % len(self.needs)])
        elif what == "retitle":
            self.titles[first] = f"title {other}"

    def plan(self) -> PlanFile:
        nodes = [
            PlanNode(key.rpartition("/")[2], key, self.titles[key], "", parent, None, "", 0)
            for key, parent in self.parents.items()
        ]
        return PlanFile("plan", tuple(nodes), tuple(PlanEdge(*ends, None, "", 0) for ends in sorted(self.needs)))


def _chain(key: str, parents: dict[str, str | None]) -> list[str]:
    above = parents[key]
    return [key] if above is None else [key, *_chain(above, parents)]
