"""The list of plans."""

from typing import Any, Final

from tasksite.dashboard import attention, progress
from tasksite.dashboard.live import Page

MOST: Final = 200


def read(now: int) -> dict[str, Any]:
    return {"progress": progress.read(most=MOST), "stale": attention.stale(now)}


PAGE: Final = Page("plans", whole="pages/plans.html", part="partials/plan_list.html", read=read)
