"""A plan's page: how far it is, since when, and what is in it. The graph beside it comes by a view of its own."""

from typing import Any, Final

from graph import queries
from graph.states import State
from tasksite.dashboard import attention, curve, objectives
from tasksite.dashboard.live import Page
from tasksite.dashboard.progress import Counts


def read(now: int, *, plan_id: str, q: str, state: str, opened: str, after: int) -> dict[str, Any]:
    """Raises NotFound."""
    plan = queries.plan(plan_id)
    counts = Counts({State(name): number for name, number in plan.leaves.items()})
    return {
        "plan": plan,
        "counts": counts,
        "curve": curve.read(plan_id, start=plan.created_at, now=now, counts=counts),
        "table": objectives.read(plan_id, q=q, state=state, opened=opened, after=after),
        "q": q,
        "state": state,
        "opened": opened,
        "after": after,
        "stale": attention.stale(now),
    }


PAGE: Final = Page("plan", whole="pages/plan.html", part="partials/plan.html", read=read)
