"""Claims as bars on the time axis of their lanes. Of one lane they never overlap: that is what a reader sees."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from graph import sql
from graph.fields import from_micros
from tasksite.dashboard.axis import Axis

MOST_READ: Final = 200
"""Claims of one lane that are looked at, the newest."""
MOST_DRAWN: Final = 400
"""Bars on a page."""
MOST_OF_A_LANE: Final = 60
NARROWEST: Final = 0.35
"""Percent of the axis: about three pixels. What is shorter is drawn so wide, or together with its neighbours."""

WOVEN: Final = frozenset({"partial", "stale", "held", "abandoned", "many", "unread"})


class Claim(NamedTuple):
    """One claim and the run under it; instants in microseconds."""

    objective_id: str
    node_id: str
    full_key: str
    leaf: bool
    holder: str
    acquired_at: int
    expires_at: int
    ended_at: int | None
    ending: str
    run_id: str | None
    outcome: str | None
    cut: bool
    """Whether the lane has older claims than those that were read."""

    def kind(self, now: int) -> str:
        """In a word, how it stands or how it ended."""
        if self.ended_at is None:
            return "stale" if self.expires_at <= now else "running" if self.leaf else "held"
        if self.ending != "released":
            return "abandoned"
        return (self.outcome or "released") if self.leaf else "held"


@dataclass(frozen=True, slots=True)
class Mark:
    """A glyph on a bar: a rejection, a release, an abandon."""

    kind: str
    x: float


@dataclass(frozen=True, slots=True)
class Bar:
    """One claim, or several that stand too close together to be told apart (`count`)."""

    kind: str
    x: float
    width: float
    words: str
    node_id: str
    marks: list[Mark]
    count: int = 1
    live: bool = False

    @property
    def woven(self) -> bool:
        """Whether a pattern lies over the colour: no two kinds differ by colour alone, the glyphs aside."""
        return self.kind in WOVEN


@dataclass(slots=True)
class _Group:
    claims: list[Claim]
    rejected: list[int] = field(default_factory=list)

    @property
    def first(self) -> Claim:
        return self.claims[0]

    @property
    def last(self) -> Claim:
        return self.claims[-1]


# The newest claims of each lane, by the fences of its objective: they rise by one with each claim, and ids need not.
_CLAIMS: Final = f"""
    SELECT l.objective_id, n.id, n.full_key, n.leaf, l.holder, l.acquired_at, l.expires_at, l.ended_at, l.ending,
        r.id, r.outcome, newest.floor > 0
    FROM (SELECT o.id, (SELECT max(k.fence) FROM leases_lease k WHERE k.subject_id = o.id) - {MOST_READ} AS floor
        FROM graph_node o WHERE o.id IN ({{ids}})) newest
    JOIN leases_lease lane ON lane.subject_id = newest.id AND lane.fence > newest.floor
    JOIN leases_lease l ON l.id = coalesce(lane.moves_with_id, lane.id)
    JOIN graph_node n ON n.id = l.subject_id
    LEFT JOIN leases_run r ON r.lease_id = l.id AND r.node_id = l.subject_id
    WHERE lane.ended_at IS NULL OR lane.ended_at > %s ORDER BY lane.subject_id, lane.fence"""
_REJECTED: Final = """
    SELECT run_id, closed_at FROM leases_attempt WHERE run_id IN ({ids}) AND outcome = 'rejected'
    ORDER BY run_id, number"""


def read(objective_ids: Collection[str], axis: Axis) -> dict[str, list[Bar]]:
    """The bars of each lane, the oldest first; few enough for a page, however much happened."""
    if not objective_ids:
        return {}
    claims: dict[str, list[Claim]] = {}
    for row in sql.fetch(_CLAIMS.format(ids=sql.marks(len(objective_ids))), [*objective_ids, axis.start]):
        claims.setdefault(row[0], []).append(Claim(*row))
    rejected = _rejections([claim.run_id for lane in claims.values() for claim in lane if claim.run_id])
    most = max(2, min(MOST_OF_A_LANE, MOST_DRAWN // len(objective_ids)))
    return {id_: list(_drawn(lane, rejected, axis, most)) for id_, lane in claims.items()}


def _rejections(run_ids: Collection[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    if run_ids:
        named, params = sql.among(run_ids)
        for run_id, at in sql.fetch(_REJECTED.format(ids=named), params):
            found.setdefault(run_id, []).append(at)
    return found


def _drawn(lane: Sequence[Claim], rejected: dict[str, list[int]], axis: Axis, most: int) -> Iterator[Bar]:
    if lane[0].cut and lane[0].acquired_at > axis.start:
        words = "Claims before these are not drawn"
        yield Bar("unread", 0.0, axis.place(lane[0].acquired_at), words, "", [], count=0)
    reach = NARROWEST
    while len(groups := _together(lane, axis, reach)) > most:
        reach *= 2
    for group in groups:
        group.rejected = [at for claim in group.claims for at in rejected.get(claim.run_id or "", ())]
        yield _bar(group, axis)


def _together(lane: Sequence[Claim], axis: Axis, reach: float) -> list[_Group]:
    """Claims that together take less than `reach` percent of the axis are one group; an open one stands alone."""
    groups: list[_Group] = []
    for claim in lane:
        if groups and claim.ended_at and axis.place(claim.ended_at) - axis.place(groups[-1].first.acquired_at) < reach:
            groups[-1].claims.append(claim)
        else:
            groups.append(_Group([claim]))
    return groups


def _bar(group: _Group, axis: Axis) -> Bar:
    first, last = group.first, group.last
    x, end = axis.place(first.acquired_at), axis.place(last.ended_at or axis.now)
    width = round(max(end - x, NARROWEST), 2)
    x = min(x, round(100 - width, 2))
    marks = _marks(group, axis)
    if len(group.claims) == 1:
        kind = last.kind(axis.now)
        return Bar(kind, x, width, _words(group, kind, axis), last.node_id, marks, live=last.ended_at is None)
    kinds = Counter(claim.kind(axis.now) for claim in group.claims)
    listed = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    words = f"{len(group.claims)} claims: {listed}; {_clock(first.acquired_at)} to {_clock(last.ended_at or axis.now)}"
    return Bar("many", x, width, words, "", marks, count=len(group.claims))


def _marks(group: _Group, axis: Axis) -> list[Mark]:
    """At most three rejections and one of each other kind: the words count them all."""
    ends = {claim.kind(axis.now): claim.ended_at for claim in group.claims if claim.ended_at and claim.ending}
    marks = [Mark("rejected", axis.place(at)) for at in group.rejected[-3:] if at > axis.start]
    return marks + [Mark(kind, axis.place(at)) for kind, at in ends.items() if kind in ("released", "abandoned")]


def _words(group: _Group, kind: str, axis: Axis) -> str:
    claim = group.last
    until = "now" if claim.ended_at is None else _clock(claim.ended_at)
    again = len(group.rejected)
    rejections = f", {again} rejection{'s' if again > 1 else ''}" if again else ""
    key = claim.full_key if len(claim.full_key) <= 80 else claim.full_key[:79] + "…"
    return f"{key}: {kind}{rejections}; {claim.holder[:40]}, {_clock(claim.acquired_at)} to {until}"


def _clock(micros: int) -> str:
    return from_micros(micros).strftime("%H:%M:%S")
