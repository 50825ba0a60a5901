"""Which leaves an import would make ready, before anything is written. Pure.

The readiness rule itself is SQL (`graph.sql.unmet`), because it is asked of what is stored; this is the same rule for
a plan that is not, and a test holds the two together.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from graph.difference import Difference
from graph.outlook import Outlook
from graph.standing import Standing
from graph.states import WAITING, State


@dataclass(frozen=True, slots=True)
class Forecast:
    """Full keys of leaves, in the order of the plan."""

    ready: list[str] = field(default_factory=list)
    """Those that would become ready."""
    demoted: list[str] = field(default_factory=list)
    """Those that are ready now and would wait."""


def foresee(standing: Standing, outlook: Outlook, difference: Difference) -> Forecast:
    satisfying = outlook.settled - outlook.cancelled
    shut = {dependent for dependent, dependency in _edges(standing, difference) if dependency not in satisfying}
    ready, demoted = [], []
    for key, parent in outlook.parents.items():  # parents before their children
        if parent in shut or parent in outlook.cancelled:
            shut.add(key)
        if key in outlook.children or key in outlook.settled:
            continue
        node = standing.nodes.get(key)
        if node is not None and node.state not in WAITING and key not in outlook.reopened:
            continue
        is_ready = node is not None and node.leaf and node.state is State.READY
        if key not in shut and not is_ready:
            ready.append(key)
        elif key in shut and is_ready:
            demoted.append(key)
    return Forecast(ready, demoted)


def _edges(standing: Standing, difference: Difference) -> Iterator[tuple[str, str]]:
    """Those that will stand and are not waived."""
    removed = {edge.id for edge in difference.edges_removed}
    for edge in standing.edges:
        if edge.waived is None and edge.id not in removed:
            yield edge.dependent, edge.dependency
    for added in difference.edges_added:
        if added.waived is None:
            yield added.dependent, added.dependency
