"""The overview: all that stands on `/`, in a number of queries that does not depend on the size of the graph."""

from typing import Any, Final

from tasksite.dashboard import attention, progress, timeline, work
from tasksite.dashboard.live import Page


def read(now: int) -> dict[str, Any]:
    plans = progress.read()
    blocked = attention.blocked()
    ready = work.pool()
    return {
        "stale": attention.stale(now),
        "progress": plans,
        "blocked": blocked,
        "blocked_left_off": plans.counts["blocked"] - len(blocked),
        "ready": ready,
        "ready_left_off": plans.counts["ready"] - len(ready),
        "lanes": work.lanes(),
        "lines": timeline.newest(),
    }


PAGE: Final = Page("overview", whole="pages/overview.html", part="partials/overview.html", read=read)
