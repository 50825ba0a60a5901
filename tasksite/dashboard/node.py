"""A node's page: what it is, why it is where it is, what a worker would be given, and how its runs ended."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from graph import sql
from graph.errors import NotFound
from graph.queries import Edge
from graph.rows import NodeRow
from graph.states import State
from leases import detail
from leases.claim import Input, inputs
from leases.detail import Detail, RunRow
from leases.sql import FREE, POOL
from tasksite.dashboard import acts, attention, markdown, timeline, why
from tasksite.dashboard.live import Page

MOST_EDGES: Final = 60
MOST_CHILDREN: Final = 100
MOST_RUNS: Final = 12
MOST_INPUTS: Final = 20


def read(now: int, *, node_id: str) -> dict[str, Any]:
    """Raises NotFound."""
    found = detail.read(node_id)
    node = found.node
    above = [each.node for each in found.ancestors]
    about = _about(node_id)
    lane = why.taken({node.objective_id}).get(node.objective_id)
    given = inputs([node.id, *(each.id for each in above)], most=MOST_INPUTS + 1)
    return {
        "stale": attention.stale(now),
        "detail": found,
        "node": node,
        "about": about,
        "above": above,
        "marks": found.marks(),
        "lane": lane,
        "why": why.read(node, now) if _is_open(found) else None,
        "place": _place(node) if node.state == State.READY and node.leaf and lane is None else None,
        "cancelled": _cancelled(node_id) if node.state == State.CANCELLED else None,
        "acts": acts.offered(found, undoes=bool(about.last_cancel)),
        "body": markdown.render(node.body) if node.body else "",
        "body_cut": len(node.body) > markdown.MOST_CHARS,
        "inputs": Bounded.of(given, MOST_INPUTS, 0),
        "children": Bounded.of(found.children, MOST_CHILDREN, found.left_off.get("children", 0)),
        "needs": Bounded.of(found.needs, MOST_EDGES, found.left_off.get("needs", 0)),
        "needed_by": Bounded.of(found.needed_by, MOST_EDGES, found.left_off.get("needed_by", 0)),
        "runs": Bounded.of(found.runs, MOST_RUNS, found.left_off.get("runs", 0)),
        "lines": timeline.of_node(node_id),
    }


class About(NamedTuple):
    plan_name: str
    last_cancel: str


class Cancelled(NamedTuple):
    """By whom, when (microseconds) and why."""

    actor: str
    at: int
    reason: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where a ready task of a free lane stands in the pool."""

    lanes_before: int
    first: tuple[str, str] | None
    """Id and full key of the task of the same lane that goes before it."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """The first of a list, and how many more there are."""

    shown: Sequence[Edge | Input | NodeRow | RunRow]
    left_off: int

    @classmethod
    def of(cls, found: Sequence[Edge | Input | NodeRow | RunRow], most: int, not_read: int) -> "Bounded":
        return cls(found[:most], len(found[most:]) + not_read)

    @property
    def count(self) -> int:
        return len(self.shown) + self.left_off


def _is_open(found: Detail) -> bool:
    """Whether something else has to happen before it goes on."""
    state = found.node.state
    return state == State.PENDING or (not found.node.leaf and state in (State.READY, State.RUNNING))


def _about(node_id: str) -> About:
    rows = sql.fetch(
        "SELECT p.name, n.last_cancel FROM graph_node n JOIN graph_plan p ON p.id = n.plan_id WHERE n.id = %s",
        [node_id],
    )
    if not rows:
        raise NotFound(f"There is no node {node_id}.")
    return About(*rows[0])


_FIRST: Final = f"""
    SELECT n.id, n.full_key FROM graph_node n
    WHERE n.objective_id = %s AND {POOL} AND n.position < %s ORDER BY n.position LIMIT 1"""
_LANES_BEFORE: Final = f"""
    SELECT count(DISTINCT n.objective_id) FROM graph_node n
    WHERE {POOL} AND (n.plan_id, n.position) < (%s, %s) AND n.objective_id <> %s AND {FREE}"""


def _place(node: NodeRow) -> Place:
    first = sql.fetch(_FIRST, [node.objective_id, node.position])
    before = sql.fetch(_LANES_BEFORE, [node.plan_id, node.position, node.objective_id])
    return Place(int(before[0][0]), first[0] if first else None)


def _cancelled(node_id: str) -> Cancelled | None:
    rows = sql.fetch(
        """SELECT actor, at, reason FROM graph_event
        WHERE node = %s AND type = 'node.cancelled' ORDER BY seq DESC LIMIT 1""",
        [node_id],
    )
    return Cancelled(*rows[0]) if rows else None


PAGE: Final = Page("node", whole="pages/node.html", part="partials/node.html", read=read)
