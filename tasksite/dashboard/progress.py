"""How far each plan is: leaves by state, and, where nothing is left to do, what its last tasks reported."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from django.db.models import Count

from graph import sql
from graph.models import Node, Plan
from graph.states import SETTLED, State

MOST_PLANS: Final = 20
MOST_REPORTS: Final = 3
BAR: Final = 1000
"""Units of a bar's whole length."""

ORDER: Final = (
    State.DONE,
    State.PARTIAL,
    State.RUNNING,
    State.BLOCKED,
    State.READY,
    State.PENDING,
    State.CANCELLED,
)
"""In which states stand beside each other, in bars and in words."""


@dataclass(frozen=True, slots=True)
class Segment:
    state: State
    count: int
    start: int
    width: int


class Report(NamedTuple):
    """What one of the last tasks of a plan said of itself."""

    full_key: str
    outcome: str
    summary: str


@dataclass(frozen=True, slots=True)
class Counts:
    """Leaves by state."""

    by_state: dict[State, int]

    def __getitem__(self, state: str) -> int:
        return self.by_state.get(State(state), 0)

    @property
    def total(self) -> int:
        return sum(self.by_state.values())

    @property
    def settled(self) -> int:
        return sum(self[state] for state in SETTLED)

    @property
    def drained(self) -> bool:
        return 0 < self.total == self.settled

    @property
    def words(self) -> str:
        """`30 done, 2 running, 18 pending`."""
        return ", ".join(f"{self[state]:,} {state}" for state in ORDER if self[state]) or "nothing"

    @property
    def shown(self) -> list[tuple[State, int]]:
        return [(state, self[state]) for state in ORDER if self[state]]

    @property
    def segments(self) -> Iterator[Segment]:
        """The bar: each state's share of its length, rounded so that they meet."""
        before = 0
        for state, count in self.shown:
            start, end = BAR * before // self.total, BAR * (before + count) // self.total
            yield Segment(state, count, start, end - start)
            before += count


@dataclass(frozen=True, slots=True)
class PlanProgress:
    id: str
    name: str
    imported_at: datetime
    counts: Counts
    reports: list[Report]


@dataclass(frozen=True, slots=True)
class Progress:
    """Plans with work left in front, then the latest; `counts` is over all of them, those left off included."""

    plans: list[PlanProgress]
    left_off: int
    counts: Counts

    @property
    def drained(self) -> bool:
        return self.counts.drained


def read(most: int = MOST_PLANS) -> Progress:
    counted: dict[str, dict[State, int]] = {}
    total: dict[State, int] = {}
    for plan_id, state, count in (
        Node.objects.filter(leaf=True).order_by().values_list("plan_id", "state").annotate(Count("id"))
    ):
        counted.setdefault(plan_id, {})[State(state)] = count
        total[State(state)] = total.get(State(state), 0) + count
    rows = [(plan, Counts(counted.get(plan.id, {}))) for plan in Plan.objects.order_by("-imported_at", "-id")]
    rows.sort(key=lambda row: row[1].drained)  # stable: the latest stay in front
    shown = rows[:most]
    reports = _reports([plan.id for plan, counts in shown if counts.drained])
    plans = [
        PlanProgress(plan.id, plan.name, plan.imported_at, counts, reports.get(plan.id, [])) for plan, counts in shown
    ]
    return Progress(plans, len(rows) - len(shown), Counts(total))


# The last tasks to settle, by the events: those of one plan are found without reading any others.
_CLOSED: Final = """SELECT * FROM (
    SELECT seq, run FROM graph_event
    WHERE plan = %s AND type = 'run.closed' ORDER BY seq DESC LIMIT {limit}) e{number}"""
_REPORTS: Final = """
    SELECT n.plan_id, n.full_key, r.outcome, r.summary FROM ({closed}) e
    JOIN leases_run r ON r.id = e.run JOIN graph_node n ON n.id = r.node_id
    WHERE n.leaf AND r.outcome IN ('done', 'partial') AND r.summary <> '' ORDER BY e.seq DESC"""


def _reports(plan_ids: Sequence[str]) -> dict[str, list[Report]]:
    """Of each plan, newest first. Runs of containers close without words: twice as many are looked at."""
    found: dict[str, list[Report]] = {}
    if not plan_ids:
        return found
    closed = " UNION ALL ".join(_CLOSED.format(limit=4 * MOST_REPORTS, number=i) for i in range(len(plan_ids)))
    for plan_id, *report in sql.fetch(_REPORTS.format(closed=closed), plan_ids):
        reports = found.setdefault(plan_id, [])
        if len(reports) < MOST_REPORTS:
            reports.append(Report(*report))
    return found
