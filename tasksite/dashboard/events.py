"""All events, newest first, narrowed as a reader asks; and one of them with everything that is stored of it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

from django.utils.http import urlencode

from graph import queries, sql
from graph.errors import NotFound
from graph.events import TYPES
from graph.fields import from_micros
from graph.filters import holds
from graph.models import Node, Plan
from tasksite.dashboard import timeline
from tasksite.dashboard.live import Page
from tasksite.dashboard.timeline import Line, Row

MOST: Final = 100
MOST_PLANS: Final = 50
MOST_OF_DATA: Final = 20_000
"""Characters of an event's data: of a longer one no sentence is made, and its page shows the beginning."""
LOOKED_THROUGH: Final = 50_000
"""Numbers that a page looks through for what no index leads to; it then says how far it has come."""
AROUND: Final = 25
"""Numbers to each side of an event among which others of the same moment are looked for."""
LOOKED_AT_OF_LANE: Final = 250
HIGHEST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Filter:
    """What is asked for, '' where nothing is. `plan`, `node` and `lane` are ids, `text` is part of a reason."""

    type: str = ""
    plan: str = ""
    node: str = ""
    lane: str = ""
    actor: str = ""
    text: str = ""

    def query(self, **other: str) -> str:
        """As the query of an address, without what is empty."""
        return urlencode({name: value for name, value in {**asdict(self), **other}.items() if value})

    @property
    def without(self) -> dict[str, str]:
        """For each name, the query that asks for all but it."""
        return {name: self.query(**{name: ""}) for name in asdict(self)}

    @property
    def slow(self) -> bool:
        """Whether something is asked for that no index leads to."""
        return bool(self.actor or self.text)


@dataclass(frozen=True, slots=True)
class Found:
    """`before` is where the next page begins, 0 where nothing is left; `looked_back_to` is set where it may."""

    lines: list[Line]
    before: int
    looked_back_to: int = 0


_DATA: Final = f"CASE WHEN length(CAST(e.data AS TEXT)) <= {MOST_OF_DATA} THEN CAST(e.data AS TEXT) ELSE '' END"
_COLUMNS: Final = f"e.seq, e.type, e.at, e.actor, e.plan, e.objective, e.node, e.reason, {_DATA}"
_SELECT: Final = f"""
    SELECT {_COLUMNS} FROM {{source}} WHERE e.seq > %s AND e.seq < %s{{where}} ORDER BY e.seq DESC LIMIT %s"""
# A lane's events are those of its nodes, each by the index of its own. SQLite joins in this order if it is told to.
_OF_LANE: Final = "graph_node n CROSS JOIN graph_event e"
_ENDS: Final = """
    SELECT coalesce((SELECT min(seq) FROM graph_event), 0), coalesce((SELECT max(seq) FROM graph_event), 0)"""


def find(only: Filter, before: int = 0) -> Found:
    """Events below the number `before` (0: from the newest on)."""
    first, last = sql.fetch(_ENDS)[0]
    top = min(before or HIGHEST, last + 1)
    floor = top - 1 - LOOKED_THROUGH if only.slow and top - 1 - LOOKED_THROUGH >= first else 0
    rows = _found(only, floor, top, MOST + 1)
    lines = timeline.tell(rows[:MOST])
    if len(rows) > MOST:
        return Found(lines, lines[-1].seq)
    return Found(lines, floor + 1 if floor else 0, looked_back_to=floor)


def last_of_lane(objective_id: str) -> list[Line]:
    """What happened last in a lane, without the steps in between."""
    return timeline.told_once(_found(Filter(lane=objective_id), 0, HIGHEST, LOOKED_AT_OF_LANE))


def _found(only: Filter, floor: int, top: int, limit: int) -> list[Row]:
    source, where, params = _narrowed(only)
    return _rows(_SELECT.format(source=source, where=where), [floor, top, *params, limit])


def _narrowed(only: Filter) -> tuple[str, str, list[str]]:
    source, where, params = "graph_event e", "", list[str]()
    if only.lane:
        source, where = _OF_LANE, " AND e.node = n.id AND n.objective_id = %s"
        params.append(only.lane)
    for column in ("type", "plan", "node", "actor"):
        if wanted := getattr(only, column):
            where += f" AND e.{column} = %s"
            params.append(wanted)
    if only.text:
        condition, folded = holds("e.reason", only.text)
        where += f" AND {condition}"
        params.append(folded)
    return source, where, params


def _rows(statement: str, params: Sequence[Any]) -> list[Row]:
    return [Row._make([*row[:-1], json.loads(row[-1] or "{}")]) for row in sql.fetch(statement, params)]


# The page


def read(now: int, *, only: Filter, before: int = 0) -> dict[str, Any]:
    plans = list(Plan.objects.order_by("-imported_at", "-id").values_list("id", "name")[:MOST_PLANS])
    if only.plan and only.plan not in dict(plans):
        plans += Plan.objects.filter(id=only.plan).values_list("id", "name")
    about = {id_ for id_ in (only.node, only.lane) if id_}
    names = dict(Node.objects.filter(id__in=about).values_list("id", "full_key")) if about else {}
    return {
        "only": only,
        "before": before,
        "found": find(only, before),
        "types": sorted(TYPES),
        "plans": plans,
        "node_name": names.get(only.node, only.node),
        "lane_name": names.get(only.lane, only.lane),
    }


PAGE: Final = Page("events", whole="pages/events.html", part="partials/events.html", read=read)


# One event


class Stored(NamedTuple):
    """An event as it is stored."""

    seq: int
    type: str
    at: int
    actor: str
    plan: str
    objective: str
    node: str
    lease: str
    run: str
    attempt: str
    reason: str
    data: str
    size: int


_ONE: Final = f"""
    SELECT seq, type, at, actor, plan, objective, node, lease, run, attempt, reason,
        substr(CAST(data AS TEXT), 1, {MOST_OF_DATA}), length(CAST(data AS TEXT)) FROM graph_event WHERE seq = %s"""
_BESIDE: Final = f"""
    SELECT {_COLUMNS} FROM graph_event e WHERE e.seq > %s AND e.seq < %s AND e.at = %s ORDER BY e.seq"""


def one(seq: int) -> Mapping[str, Any]:
    """One event, and the others of the same act. Raises NotFound."""
    found = sql.fetch(_ONE, [seq])
    if not found:
        raise NotFound(f"There is no event {seq}.")
    stored = Stored(*found[0])
    lines = timeline.tell(_rows(_BESIDE, [seq - AROUND, seq + AROUND, stored.at]))  # itself among them
    names = dict(Node.objects.filter(id__in={stored.node, stored.objective} - {""}).values_list("id", "full_key"))
    cut = stored.size > MOST_OF_DATA
    return {
        "event": stored,
        "line": next(line for line in lines if line.seq == seq),
        "beside": [line for line in lines if line.seq != seq],
        "plan_name": queries.plan_name(stored.plan) if stored.plan else "",
        "node_name": names.get(stored.node, ""),
        "lane_name": names.get(stored.objective, ""),
        "data": stored.data if cut else json.dumps(json.loads(stored.data), indent=2, ensure_ascii=False),
        "at": from_micros(stored.at).strftime("%Y-%m-%d %H:%M:%S.%f UTC"),
        "cut": stored.size - MOST_OF_DATA if cut else 0,
    }
