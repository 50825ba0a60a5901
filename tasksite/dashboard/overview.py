"""The overview: all that stands on `/`, in a number of queries that does not depend on the size of the graph."""

from typing import Any, Final

from tasksite.dashboard import attention, held_up, lanes, progress, timeline, work
from tasksite.dashboard.live import Page


def read(now: int, *, window: str = "") -> dict[str, Any]:
    """`window` is how far back the lanes are shown, '' to choose."""
    plans = progress.read()
    blocked = attention.blocked()
    ready = work.pool()
    return {
        "stale": attention.stale(now),
        "progress": plans,
        "blocked": blocked,
        "blocked_left_off": plans.counts["blocked"] - len(blocked),
        "held_up": held_up.read(now),
        "ready": ready,
        "ready_left_off": plans.counts["ready"] - len(ready),
        "lanes": lanes.read(now, window),
        "lines": timeline.newest(),
    }


PAGE: Final = Page("overview", whole="pages/overview.html", part="partials/overview.html", read=read)
