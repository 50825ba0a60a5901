"""The last events, as sentences. The overview shows those that change what a lead would do next."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, Final, NamedTuple

from django.utils.safestring import SafeString

from graph import sql
from graph.models import Node, Plan
from tasksite.dashboard.links import node_link
from tasksite.dashboard.sentences import Told, sentence

MOST: Final = 30

SHOWN: Final = (
    "plan.imported",
    "node.ready",
    "node.pending",
    "node.running",
    "node.done",
    "node.partial",
    "node.blocked",
    "node.cancelled",
    "node.abandoned",
    "node.recovered",
    "node.unblocked",
    "node.reopened",
    "node.held",
    "edge.waived",
    "edge.unwaived",
    "lease.expired",
    "attempt.closed",
)
"""The rest is how these came about: leases, runs and attempts that open, nodes and edges that an import adds."""

TOGETHER: Final = frozenset({"node.ready", "node.pending", "node.cancelled"})
"""Of these one act often makes many: they are one line."""


ACTS: Final = frozenset({"abandon", "recovery", "unblock", "reopen"})
"""These have an event of their own that gives their reason; the state that came of it need not repeat it."""


class Row(NamedTuple):
    seq: int
    type: str
    at: int
    actor: str
    plan: str
    objective: str
    node: str
    reason: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the timeline; `at` in microseconds; `others` more events of one act say the same of other nodes."""

    seq: int
    type: str
    at: int
    html: SafeString
    reason: str
    others: int

    @property
    def tone(self) -> str:
        """Names the mark in front of the line: a state, or the kind of the event."""
        room, _, word = self.type.partition(".")
        if room in ("lease", "attempt"):
            return room if word in ("expired", "closed") else "step"
        return word if room == "node" else room


# Each type by its own index: newest first over all of them would read every event that an import wrote.
_OF_TYPE: Final = """SELECT * FROM (
    SELECT seq, type, at, actor, plan, objective, node, reason, {data} AS data FROM graph_event
    WHERE type = %s ORDER BY seq DESC LIMIT {limit}) e{number}"""
_DATA: Final = "CAST(data AS TEXT)"
_LISTING: Final = {"node.reopened": "CAST('{}' AS TEXT)"}
"""Their data list ids without bound, and no sentence needs them."""

OF_NODE: Final = (*SHOWN, "node.added", "node.changed", "edge.added", "edge.removed")
"""What the page of a node tells: how it came to be, too."""
_OF_NODE: Final = f"""
    SELECT seq, type, at, actor, plan, objective, node, reason,
        CASE type WHEN 'node.reopened' THEN {_LISTING["node.reopened"]} ELSE {_DATA} END
    FROM graph_event WHERE node = %s AND type IN ({sql.marks(len(OF_NODE))}) ORDER BY seq DESC LIMIT {MOST}"""


def tell(rows: Sequence[Row]) -> list[Line]:
    """A line for each of these events."""
    known = _names(rows)
    return [_line([row], known) for row in rows]


def newest() -> list[Line]:
    """The last events that are worth a line, newest first."""
    return told_once(_rows())


def told_once(rows: Sequence[Row]) -> list[Line]:
    """Of these events, newest first, those that are worth a line; what one act did to many nodes is one line."""
    rows = _once_each([row for row in rows if row.type in SHOWN])
    known = _names(rows)
    worthy = (row for row in rows if _worth(row, known))
    lines = (_line(list(act), known) for _, act in groupby(worthy, _act))
    return list(islice(lines, MOST))


def of_node(node_id: str) -> list[Line]:
    """The last events of one node, newest first."""
    rows = sql.fetch(_OF_NODE, [node_id, *OF_NODE])
    told = _once_each([_row(row) for row in rows])
    known = _names(told)
    return [_line([row], known) for row in told]


def _rows() -> list[Row]:
    arms = (
        _OF_TYPE.format(data=_LISTING.get(type_, _DATA), limit=MOST, number=number)
        for number, type_ in enumerate(SHOWN)
    )
    found = sql.fetch(f"{' UNION ALL '.join(arms)} ORDER BY seq DESC", SHOWN)
    return [_row(row) for row in found]


def _row(row: Sequence[Any]) -> Row:
    return Row._make([*row[:-1], json.loads(row[-1])])


def _once_each(rows: Sequence[Row]) -> list[Row]:
    """Without what another event of the same act says better."""
    expired = {(row.objective, row.at) for row in rows if row.type == "lease.expired" and row.node != row.objective}
    blocked = {(row.node, row.at) for row in rows if row.type == "node.blocked"}

    def told_already(row: Row) -> bool:
        if row.type == "lease.expired":  # a task's lease and its lane's expire together
            return row.node == row.objective and (row.objective, row.at) in expired
        if row.type == "attempt.closed":  # a rejection below the limit has no other event
            return row.data.get("outcome") != "rejected" or (row.node, row.at) in blocked
        return False

    return [row for row in rows if not told_already(row)]


def _act(row: Row) -> tuple[str, int, str]:
    """What one line is made of. Events of one transaction share their instant."""
    return row.type, row.at, row.data.get("by", "") if row.type in TOGETHER else str(row.seq)


@dataclass(frozen=True, slots=True)
class _Known:
    """Names of what the rows are about."""

    nodes: dict[str, tuple[str, bool]]
    plans: dict[str, str]

    def node(self, node_id: str) -> SafeString:
        full_key, _ = self.nodes.get(node_id, ("", True))
        return node_link(node_id, full_key) if full_key else SafeString("")

    def leaf(self, node_id: str) -> bool:
        return self.nodes.get(node_id, ("", True))[1]


def _names(rows: Sequence[Row]) -> _Known:
    node_ids = {row.node for row in rows} | {str(row.data.get("dependency", "")) for row in rows}
    found = Node.objects.filter(id__in=node_ids - {""}).values_list("id", "full_key", "leaf")
    plan_ids = {row.plan for row in rows if row.type == "plan.imported"}
    plans = Plan.objects.filter(id__in=plan_ids).values_list("id", "name")
    return _Known({id_: (full_key, leaf) for id_, full_key, leaf in found}, dict(plans))


def _worth(row: Row, known: _Known) -> bool:
    """That a container runs, waits or is ready is said by the tasks below it."""
    return known.leaf(row.node) or row.type not in ("node.running", "node.ready", "node.pending")


def _line(rows: list[Row], known: _Known) -> Line:
    row = rows[-1]  # the first that was written
    told = Told(
        type=row.type,
        actor=row.actor,
        node=known.node(row.node),
        other=known.node(str(row.data.get("dependency", ""))),
        leaf=known.leaf(row.node),
        plan=known.plans.get(row.plan, ""),
        data=row.data,
    )
    reason = "" if told.by in ACTS else row.reason
    return Line(row.seq, row.type, row.at, sentence(told), reason, len(rows) - 1)
