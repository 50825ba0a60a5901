"""Progress of a plan over time: how many of its leaves had settled at each moment, as a line for an SVG."""

from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from django.core.cache import cache
from django.db import connection

from graph import sql
from tasksite.dashboard.progress import Counts

SLOTS: Final = 100
"""Stretches that the time is cut into; the line has one point more."""
WIDTH: Final = 1000
HEIGHT: Final = 100
KEPT_S: Final = 10
"""Seconds for which the past is not read again. The last point is always that of the counts beside it."""

# What settles counts up, what leaves a settled state counts down: a reopened task is written once for each.
_STEPS: Final = """
    SELECT (e.at - %s) / %s, sum(CASE WHEN e.type IN ('node.done', 'node.partial', 'node.cancelled') THEN 1 ELSE -1 END)
    FROM graph_event e JOIN graph_node n ON n.id = e.node
    WHERE e.plan = %s AND n.leaf AND (e.type IN ('node.done', 'node.partial', 'node.cancelled')
        OR (e.type IN ('node.ready', 'node.pending') AND {before} IN ('done', 'partial', 'cancelled')))
    GROUP BY 1"""
_LAST: Final = "SELECT at FROM graph_event WHERE plan = %s ORDER BY seq DESC LIMIT 1"


@dataclass(frozen=True, slots=True)
class Curve:
    """`line` and `area` are points of SVG shapes in a box of WIDTH by HEIGHT; instants in microseconds."""

    start: int
    end: int
    line: str
    area: str


def read(plan_id: str, *, start: int, now: int, counts: Counts) -> Curve | None:
    """From the first import until now; of a plan that has drained, until its last event. None where nothing settled."""
    if not counts.settled:
        return None
    end = _end(plan_id, now) if counts.drained else now
    slot = max(1, -(-(end - start) // SLOTS))
    at_end = [*_steps(plan_id, start, slot, end)[:-1], counts.settled]
    heights = [HEIGHT, *(HEIGHT - HEIGHT * min(max(number, 0), counts.total) // counts.total for number in at_end)]
    line = " ".join(f"{WIDTH * place // SLOTS},{height}" for place, height in enumerate(heights))
    return Curve(start, end, line, f"0,{HEIGHT} {line} {WIDTH},{HEIGHT}")


def _end(plan_id: str, now: int) -> int:
    rows = sql.fetch(_LAST, [plan_id])
    return int(rows[0][0]) if rows else now


def _steps(plan_id: str, start: int, slot: int, end: int) -> list[int]:
    """How many had settled at the end of each slot."""
    key = f"curve:{plan_id}:{end // (KEPT_S * 1_000_000)}"
    kept: list[int] | None = cache.get(key)
    if kept is not None:
        return kept
    before = "e.data::json ->> 'from'" if connection.vendor == "postgresql" else "json_extract(e.data, '$.from')"
    found = [0] * SLOTS
    for place, number in sql.fetch(_STEPS.format(before=before), [start, slot, plan_id]):
        found[min(max(int(place), 0), SLOTS - 1)] += int(number)
    steps = [*accumulate(found)]
    cache.set(key, steps, KEPT_S)
    return steps
