"""A node's page: what it is, why it is where it is, and how its runs ended."""

from typing import Any, Final

from leases import detail
from tasksite.dashboard.live import Page


def read(now: int, *, node_id: str) -> dict[str, Any]:
    """Raises NotFound."""
    return {"detail": detail.read(node_id)}


PAGE: Final = Page("node", whole="pages/node.html", part="partials/node.html", read=read)
