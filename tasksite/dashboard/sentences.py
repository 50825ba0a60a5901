"""Events in words: one sentence for each type, for a reader who does not know the tables.

A sentence is HTML; whatever came from outside is escaped as it goes in.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.utils.html import format_html
from django.utils.safestring import SafeString

Phrase = Callable[["Told"], SafeString]


@dataclass(frozen=True, slots=True)
class Told:
    """What a sentence is made of."""

    type: str
    actor: str
    node: SafeString
    """The node as it is shown, '' where the event is about none."""
    other: SafeString
    """The node at the other end of an edge."""
    leaf: bool
    plan: str
    data: Mapping[str, Any]

    @property
    def by(self) -> str:
        return str(self.data.get("by", ""))

    @property
    def outcome(self) -> str:
        return str(self.data.get("outcome", ""))

    @property
    def holder(self) -> str:
        return str(self.data.get("holder") or "its worker")


def sentence(told: Told) -> SafeString:
    return PHRASES[told.type](told)


def _says(text: str) -> Phrase:
    """`{actor}`, `{node}`, `{other}`, `{holder}` and `{plan}` stand for what they name."""

    def phrase(told: Told) -> SafeString:
        return _filled(text, told)

    return phrase


def _filled(text: str, told: Told) -> SafeString:
    actor = format_html("<b>{}</b>", told.actor)
    holder = format_html("<b>{}</b>", told.holder)
    plan = format_html("<b>{}</b>", told.plan)
    return format_html(text, actor=actor, node=told.node, other=told.other, holder=holder, plan=plan)


def _by(choices: Mapping[str, str], otherwise: str) -> Phrase:
    """The wording depends on what moved the node."""

    def phrase(told: Told) -> SafeString:
        return _filled(choices.get(told.by, otherwise), told)

    return phrase


def _running(told: Told) -> SafeString:
    if told.by == "claim":
        return _filled("{actor} started {node}" if told.leaf else "{node} began", told)
    return _filled("{node} is open again", told)


_IMPORTED: Final = ("added", "changed", "pruned")


def _imported(told: Told) -> SafeString:
    """The counts of the import follow the name, as far as there are any."""
    said = _filled("{actor} imported the plan {plan}", told)
    counts = [(told.data[name], name) for name in _IMPORTED if isinstance(told.data.get(name), int)]
    listed = ", ".join(f"{count:,} {name}" for count, name in counts if count)
    return format_html("{}: {}", said, listed) if listed else said


_ATTEMPTS: Final = {
    "done": "{actor} ended an attempt at {node}: done",
    "partial": "{actor} ended an attempt at {node}: partly done",
    "rejected": "{actor} rejected an attempt at {node}",
    "released": "{actor} gave up an attempt at {node}",
    "cancelled": "An attempt at {node} was cut off",
}


def _attempt_closed(told: Told) -> SafeString:
    return _filled(_ATTEMPTS.get(told.outcome, "An attempt at {node} ended"), told)


def _run_closed(told: Told) -> SafeString:
    return format_html("{}: {}", _filled("A run of {node} ended", told), told.outcome or "closed")


PHRASES: Final[Mapping[str, Phrase]] = {
    "plan.imported": _imported,
    "node.added": _says("{actor} added {node}"),
    "node.changed": _says("{actor} changed {node}"),
    "node.ready": _by(
        {
            "promotion": "{node} became ready",
            "import": "{node} became ready",
            "release": "{actor} gave {node} back: it is ready again",
        },
        "{node} is ready again",
    ),
    "node.pending": _by({"release": "{actor} gave {node} back: it waits"}, "{node} waits again"),
    "node.running": _running,
    "node.done": _by({"report": "{actor} finished {node}"}, "{node} is done"),
    "node.partial": _by({"report": "{actor} finished {node} in part"}, "{node} is done in part"),
    "node.blocked": _by(
        {"reject": "{actor} rejected {node} once too often: it is blocked"},
        "Claims of {node} went stale too often: it is blocked",
    ),
    "node.cancelled": _by(
        {"cancel": "{actor} cancelled {node}", "prune": "{actor} dropped {node} from the plan"}, "{node} is cancelled"
    ),
    "node.abandoned": _says("{actor} abandoned the claim of {holder} on {node}"),
    "node.recovered": _says("{actor} took {node} back from {holder}"),
    "node.unblocked": _says("{actor} unblocked {node}"),
    "node.reopened": _says("{actor} reopened {node}"),
    "node.held": _says("{actor} took the lane at {node} for work by hand"),
    "edge.added": _says("{node} now needs {other}"),
    "edge.removed": _says("{node} no longer needs {other}"),
    "edge.waived": _says("{actor} waived that {node} needs {other}"),
    "edge.unwaived": _says("{actor} made {node} need {other} again"),
    "lease.claimed": _says("{holder} claimed {node}"),
    "lease.expired": _says("The claim of {holder} on {node} went stale"),
    "lease.released": _says("The claim on {node} was given back"),
    "lease.revoked": _says("The claim on {node} was taken away"),
    "run.opened": _says("A run of {node} began"),
    "run.adopted": _says("The run of {node} went on"),
    "run.closed": _run_closed,
    "attempt.opened": _says("{actor} began an attempt at {node}"),
    "attempt.closed": _attempt_closed,
}
