"""Replay on its own: events alone give everything back, and events that cannot be are told."""

from collections.abc import Callable
from typing import Any

import pytest

from leases.record import AttemptRecord, EdgeRecord, LeaseRecord, NodeRecord, PlanRecord, RunRecord
from leases.replay import Happening, Replay


class Story:
    """Events of one plan, told one after the other; each has its number as its time."""

    def __init__(self) -> None:
        self.events: list[Happening] = []

    def tell(self, type_: str, node: str = "", *, objective: str = "o", reason: str = "", **rest: Any) -> "Story":
        ids = {name: rest.pop(name, "") for name in ("lease", "run", "attempt")}
        seq = len(self.events) + 1
        self.events.append(Happening(seq, type_, seq, "p", objective, node, **ids, reason=reason, data=rest))
        return self

    def added(self, node: str, parent: str | None = None) -> "Story":
        text: dict[str, Any] = {"key": node, "full_key": node, "title": f"T {node}", "body": ""}
        return self.tell("node.added", node, parent=parent, clone=None, **text)

    def needs(self, dependent: str, dependency: str, edge: str) -> "Story":
        self.tell("edge.added", dependent, edge=edge, dependency=dependency, waived=False)
        self.events[-1].data["reason"] = ""
        return self

    def moved(self, node: str, before: str, to: str, by: str, **data: Any) -> "Story":
        move: dict[str, Any] = {"from": before, "to": to, "by": by}
        return self.tell(f"node.{to}", node, **move, **data)

    def claimed(self, node: str, lease: str, fence: int = 1, moves_with: str | None = None) -> "Story":
        data: dict[str, Any] = {"token": "w", "holder": "h", "fence": fence, "generation": 1, "ttl_s": 60}
        return self.tell("lease.claimed", node, lease=lease, moves_with=moves_with, **data)

    def replayed(self) -> Replay:
        replay = Replay()
        replay.feed(self.events)
        replay.finish()
        return replay


@pytest.fixture
def story() -> Story:
    """A plan `p`: the objective `o` with tasks `a` and `b`; `b` needs `a`."""
    story = Story().tell("plan.imported", name="plan", created=True)
    story.added("o").added("a", "o").added("b", "o")
    story.needs("b", "a", "e")
    return story.moved("o", "pending", "ready", "promotion").moved("a", "pending", "ready", "promotion")


def run_a(story: Story) -> Story:
    story.claimed("a", "la").claimed("o", "lo", moves_with="la")
    story.tell("run.opened", "o", run="ro", lease="la").tell("run.opened", "a", run="ra", lease="la")
    story.tell("attempt.opened", "a", run="ra", attempt="t1", number=1)
    return story.moved("a", "ready", "running", "claim").moved("o", "ready", "running", "claim")


def test_a_plan_and_its_walk(story: Story) -> None:
    replay = story.replayed()
    assert not replay.faults
    assert replay.record.plans == {"p": PlanRecord("plan", 1, 1)}
    assert replay.record.nodes["a"] == NodeRecord(
        "p", "o", "o", "a", "a", "T a", "", "", "", state="ready", leaf=True, position=1
    )
    assert {node: (each.state, each.leaf, each.position) for node, each in replay.record.nodes.items()} == {
        "o": ("ready", False, 0), "a": ("ready", True, 1), "b": ("pending", True, 2)
    }  # fmt: skip
    assert replay.record.edges == {"e": EdgeRecord("b", "a", False, "")}


def test_a_claim_and_its_report(story: Story) -> None:
    run_a(story)
    story.tell("attempt.closed", "a", run="ra", attempt="t1", outcome="rejected", reason="no")
    story.tell("attempt.opened", "a", run="ra", attempt="t2", number=2)
    story.tell("attempt.closed", "a", run="ra", attempt="t2", outcome="partial")
    story.tell("run.closed", "a", run="ra", outcome="partial", summary="s", result=[1])
    story.tell("lease.expired", "o", lease="lo")
    story.tell("lease.released", "a", lease="la", end="released")
    story.tell("lease.released", "o", lease="lo", end="released")
    story.moved("a", "running", "partial", "report").moved("b", "pending", "ready", "promotion")
    replay = story.replayed()
    assert not replay.faults
    assert replay.record.leases == {
        "la": LeaseRecord("a", "o", None, "w", "h", 1, 1, 60, 8, None, 20, "released"),
        "lo": LeaseRecord("o", "o", "la", "w", "h", 1, 1, 60, 9, 19, 21, "released"),
    }
    assert replay.record.runs == {
        "ro": RunRecord("o", "la", 10),
        "ra": RunRecord("a", "la", 11, 18, "partial", "s", [1]),
    }
    assert replay.record.attempts == {
        "t1": AttemptRecord("ra", 1, 12, 15, "rejected", "no"),
        "t2": AttemptRecord("ra", 2, 16, 17, "partial"),
    }
    assert replay.record.nodes["a"].rejections == 1
    assert replay.record.nodes["o"].ever_claimed and not replay.record.nodes["b"].ever_claimed
    assert replay.run_due == {"o": True}


def test_a_run_is_due_from_the_first_claim_until_the_objective_settles(story: Story) -> None:
    run_a(story)
    assert story.replayed().run_due == {"o": True}
    story.tell("run.closed", "o", run="ro", outcome="done", summary="", result=None)
    assert story.replayed().run_due == {"o": False}


def test_cancel_and_reopen_of_a_container(story: Story) -> None:
    story.moved("a", "ready", "cancelled", "cancel", cancel_act="act", cancelled="o")
    story.moved("b", "pending", "cancelled", "prune", cancel_act="other", pruned=True)
    nodes = story.replayed().record.nodes
    assert (nodes["a"].cancel_act, nodes["a"].pruned, nodes["b"].cancel_act, nodes["b"].pruned) == (
        "act", False, "other", True
    )  # fmt: skip
    assert nodes["o"].last_cancel == "act"
    story.moved("a", "cancelled", "ready", "reopen").tell("node.reopened", "o", leaves=["a"])
    replay = story.replayed()
    assert not replay.faults
    assert replay.record.nodes["a"].cancel_act == replay.record.nodes["o"].last_cancel == ""


def test_counts_and_where_they_start_again(story: Story) -> None:
    run_a(story).tell("node.recovered", "a", lease="la", stale=True).moved("a", "running", "blocked", "recovery")
    assert story.replayed().record.nodes["a"].stale_ends == 1
    story.tell("node.unblocked", "a")
    assert story.replayed().record.nodes["a"].stale_ends == 0


def test_a_hold_lasts_as_long_as_its_lease(story: Story) -> None:
    story.claimed("o", "lo").tell("node.held", "o", lease="lo", fence=1)
    assert story.replayed().record.nodes["o"].held
    story.tell("lease.revoked", "o", lease="lo", end="recovered")
    replay = story.replayed()
    assert not replay.record.nodes["o"].held and replay.record.leases["lo"].ending == "recovered"


def test_changes_of_texts_edges_and_waivers(story: Story) -> None:
    story.tell("node.changed", "o", title="new", clone={"repo": "https://example.org/x.git", "ref": "main"})
    story.tell("edge.waived", "b", edge="e", dependency="a", reason="why")
    replay = story.replayed()
    assert (replay.record.nodes["o"].title, replay.record.nodes["o"].clone_ref) == ("new", "main")
    assert replay.record.edges["e"] == EdgeRecord("b", "a", True, "why")
    story.tell("edge.unwaived", "b", edge="e", dependency="a", reason="not").tell("node.changed", "o", clone=None)
    replay = story.replayed()
    assert replay.record.edges["e"] == EdgeRecord("b", "a", False, "")
    assert replay.record.nodes["o"].clone_repo == ""
    assert not story.tell("edge.removed", "b", edge="e", dependency="a").replayed().record.edges


IMPOSSIBLE: dict[str, tuple[Callable[[Story], Story], int, str]] = {
    "a second birth": (lambda s: s.added("a", "o"), 7, "was there before"),
    "a plan made twice": (lambda s: s.tell("plan.imported", name="plan", created=True), 7, "there before"),
    "a move from elsewhere": (lambda s: s.moved("b", "ready", "running", "claim"), 7, "was pending, not ready"),
    "a move to where it is": (lambda s: s.moved("a", "ready", "ready", "promotion"), 7, "from ready to ready"),
    "a move under another name": (
        lambda s: s.tell("node.done", "a", **{"from": "ready", "to": "running", "by": "claim"}), 7, "a move from ready"
    ),
    "a move that no leaf makes": (lambda s: s.moved("a", "ready", "done", "report"), 7, "a leaf does not move"),
    "a move by the wrong act": (lambda s: s.moved("a", "ready", "pending", "claim"), 7, "a leaf does not move"),
    "an edge twice": (
        lambda s: s.needs("b", "a", "e"), 7, "was there before"
    ),
    "an edge to nowhere": (
        lambda s: s.needs("b", "x", "f"), 7, "speaks of 'x'"
    ),
    "an edge waived twice": (lambda s: s.tell("edge.unwaived", "b", edge="e", dependency="a"), 7, "was not waived"),
    "a fence again": (lambda s: run_a(s).claimed("a", "l2", fence=1), 2, "fence 1 follows fence 1"),
    "a lease that ends twice": (
        lambda s: run_a(s).tell("lease.released", "a", lease="la", end="released")
        .tell("lease.released", "a", lease="la", end="released"), 7, "had ended before"
    ),
    "a lease that ends by another name": (
        lambda s: run_a(s).tell("lease.released", "a", lease="la", end="revoked"), 7, "a lease that was revoked"
    ),
    "a lease that expires twice": (
        lambda s: run_a(s).tell("lease.expired", "a", lease="la").tell("lease.expired", "a", lease="la"),
        7, "had expired or ended",
    ),
    "a run that closes twice": (
        lambda s: run_a(s).tell("run.closed", "a", run="ra", outcome="done", summary="", result=None)
        .tell("run.closed", "a", run="ra", outcome="done", summary="", result=None), 7, "had closed before"
    ),
    "a run of another node": (lambda s: run_a(s).tell("run.adopted", "o", run="ra"), 7, "closed or of another node"),
    "an attempt that closes twice": (
        lambda s: run_a(s).tell("attempt.closed", "a", run="ra", attempt="t1", outcome="done")
        .tell("attempt.closed", "a", run="ra", attempt="t1", outcome="done"), 7, "had closed before"
    ),
    "an unknown type": (lambda s: s.tell("node.lost", "a"), 7, "nothing is known"),
    "a circle": (
        lambda s: s.needs("a", "b", "f"), 7, "cannot be walked"
    ),
}  # fmt: skip


@pytest.mark.parametrize("told", IMPOSSIBLE)
def test_what_cannot_be_is_told(story: Story, told: str) -> None:
    tell, promise, sentence = IMPOSSIBLE[told]
    tell(story)
    (fault,) = story.replayed().faults
    assert fault.promise == promise and sentence in fault.sentence
