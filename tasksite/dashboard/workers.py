"""The workers: whoever holds or lately held a claim, by the name that the claim was taken under.

A name is no account: a worker is known by its claims alone. No index leads to names, which every claim would pay
for; so the last claims are looked through, a bounded number of them, and the pages say so.
"""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from graph import sql
from graph.errors import NotFound
from tasksite.dashboard.live import Page

LOOKED_THROUGH: Final = 20_000
"""Leases, two to a task's claim, that are looked through for a name."""
MOST_WORKERS: Final = 200
MOST_CLAIMS: Final = 50

_LAST: Final = f"""
    SELECT * FROM leases_lease WHERE id >= coalesce((
        SELECT id FROM leases_lease ORDER BY id DESC LIMIT 1 OFFSET {LOOKED_THROUGH}), '')"""


class Worker(NamedTuple):
    """A name and what its claims say; `seen_at` in microseconds."""

    name: str
    seen_at: int
    claims: int
    open: int
    stale: int


_WORKERS: Final = f"""
    SELECT holder, max(coalesce(ended_at, beat_at)) AS seen_at, count(*),
        sum(CASE WHEN ended_at IS NULL THEN 1 ELSE 0 END) AS held,
        sum(CASE WHEN ended_at IS NULL AND expires_at <= %s THEN 1 ELSE 0 END)
    FROM ({_LAST}) last WHERE moves_with_id IS NULL GROUP BY holder
    ORDER BY CASE WHEN sum(CASE WHEN ended_at IS NULL THEN 1 ELSE 0 END) > 0 THEN 0 ELSE 1 END, holder
    LIMIT {MOST_WORKERS + 1}"""


def read_all(now: int) -> dict[str, Any]:
    """Those who hold something in front, then by name."""
    workers = [Worker(*row) for row in sql.fetch(_WORKERS, [now])]
    return {
        "workers": workers[:MOST_WORKERS],
        "more": len(workers) > MOST_WORKERS,
        "busy": sum(1 for worker in workers if worker.open),
        "looked_through": LOOKED_THROUGH // 2,
    }


class Claim(NamedTuple):
    """A claim that a worker had or has; instants in microseconds."""

    lease_id: str
    node_id: str
    full_key: str
    title: str
    objective_id: str
    lane: str
    plan: str
    fence: int
    acquired_at: int
    beat_at: int
    expires_at: int
    ended_at: int | None
    ending: str
    progress: str
    outcome: str | None
    summary: str | None

    @property
    def how(self) -> str:
        """How it ended, in a word."""
        if self.ending in ("revoked", "recovered"):
            return "abandoned"
        return self.outcome or self.ending

    @property
    def seconds(self) -> float:
        return ((self.ended_at or self.beat_at) - self.acquired_at) / 1e6


_CLAIM: Final = """
    SELECT l.id, n.id, n.full_key, n.title, o.id, o.full_key, p.name, l.fence, l.acquired_at, l.beat_at, l.expires_at,
        l.ended_at, l.ending, l.progress, r.outcome, r.summary
    FROM {leases} JOIN graph_node n ON n.id = l.subject_id JOIN graph_node o ON o.id = l.objective_id
    JOIN graph_plan p ON p.id = n.plan_id LEFT JOIN leases_run r ON r.lease_id = l.id AND r.node_id = l.subject_id
    {where} ORDER BY l.acquired_at DESC, l.id DESC"""
_OPEN: Final = _CLAIM.format(
    leases="leases_lease l", where="WHERE l.ended_at IS NULL AND l.moves_with_id IS NULL AND l.holder = %s"
)
_ENDED: Final = _CLAIM.format(
    leases=f"""(SELECT * FROM ({_LAST}) last
        WHERE holder = %s AND moves_with_id IS NULL AND ended_at IS NOT NULL
        ORDER BY id DESC LIMIT {MOST_CLAIMS + 1}) l""",
    where="",
)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """How the claims that are shown ended, and how long they took."""

    counts: list[tuple[str, int]]
    seconds: float

    @property
    def words(self) -> str:
        return ", ".join(f"{count} {how}" for how, count in self.counts)


def read_one(now: int, *, name: str) -> dict[str, Any]:
    """Raises NotFound for a name that no claim among the last was taken under."""
    held = [Claim(*row) for row in sql.fetch(_OPEN, [name])]
    ended = [Claim(*row) for row in sql.fetch(_ENDED, [name])]
    if not held and not ended:
        raise NotFound(f"No claim was taken by {name} lately.")
    shown = ended[:MOST_CLAIMS]
    counts: dict[str, int] = {}
    for claim in shown:
        counts[claim.how] = counts.get(claim.how, 0) + 1
    listed = sorted(counts.items(), key=lambda each: -each[1])
    average = sum(claim.seconds for claim in shown) / len(shown) if shown else 0.0
    return {
        "name": name,
        "held": held,
        "ended": shown,
        "more": len(ended) > MOST_CLAIMS,
        "outcomes": Outcomes(listed, average),
        "seen_at": max(claim.ended_at or claim.beat_at for claim in [*held, *ended]),
        "looked_through": LOOKED_THROUGH // 2,
    }


LIST: Final = Page("workers", whole="pages/workers.html", part="partials/workers.html", read=read_all)
PAGE: Final = Page("worker", whole="pages/worker.html", part="partials/worker.html", read=read_one)
