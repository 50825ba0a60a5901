"""Replay: the events, from an empty database, fold to plans, nodes, edges, leases, runs and attempts.

Pure. What the events say that cannot be (a state left that was not entered, a fence out of turn, an id that nothing
made) becomes a fault; the fold goes on with what the event says.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from graph import topology
from leases.record import AttemptRecord, EdgeRecord, LeaseRecord, NodeRecord, PlanRecord, Record, RunRecord


class Happening(NamedTuple):
    """One event; ids are '' where it has none."""

    seq: int
    type: str
    at: int
    plan: str
    objective: str
    node: str
    lease: str
    run: str
    attempt: str
    reason: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Fault:
    """Event `seq` cannot have happened as it says, and which promise (contract, section 8) that breaks."""

    promise: int
    sentence: str
    seq: int
    node: str = ""


WAITING: Final = ("ready", "pending")
SETTLED: Final = ("done", "partial", "cancelled")

MOVES: Final[dict[tuple[str, str], frozenset[str]]] = {
    ("pending", "ready"): frozenset({"promotion"}),
    ("ready", "pending"): frozenset({"demotion"}),
    ("ready", "running"): frozenset({"claim"}),
    ("running", "done"): frozenset({"report"}),
    ("running", "partial"): frozenset({"report"}),
    ("running", "blocked"): frozenset({"reject", "abandon", "recovery"}),
    **{("running", to): frozenset({"release", "abandon", "recovery"}) for to in WAITING},
    **{("blocked", to): frozenset({"unblock"}) for to in WAITING},
    **{(before, to): frozenset({"reopen", "import"}) for before in SETTLED for to in WAITING},
    **{(before, "cancelled"): frozenset({"cancel", "prune"}) for before in (*WAITING, "blocked")},
}
"""How a leaf may move and by what: the table of contract section 2. Containers move by roll-up."""


class Replay:
    """Feed it the events in order, then `finish`."""

    def __init__(self) -> None:
        self.record = Record()
        self.faults: list[Fault] = []
        self.run_due: dict[str, bool] = {}
        """Objective → whether a claim was made in its lane since its last run closed."""
        self._fences: dict[str, int] = {}
        self._steps: dict[str, Callable[[Happening], None]] = {
            "plan.imported": self._plan_imported,
            "node.added": self._node_added,
            "node.changed": self._node_changed,
            "node.unblocked": lambda event: self._reset([event.node]),
            "node.reopened": self._node_reopened,
            "node.held": self._node_held,
            "node.abandoned": self._claim_ended_for_another,
            "node.recovered": self._claim_ended_for_another,
            "edge.added": self._edge_added,
            "edge.removed": self._edge_removed,
            "edge.waived": lambda event: self._edge_laid(event, True),
            "edge.unwaived": lambda event: self._edge_laid(event, False),
            "lease.claimed": self._lease_claimed,
            "lease.expired": self._lease_expired,
            "lease.released": self._lease_ended,
            "lease.revoked": self._lease_ended,
            "run.opened": self._run_opened,
            "run.adopted": self._run_adopted,
            "run.closed": self._run_closed,
            "attempt.opened": self._attempt_opened,
            "attempt.closed": self._attempt_closed,
            **{
                f"node.{state}": self._node_moved
                for state in ("pending", "ready", "running", "done", "partial", "blocked", "cancelled")
            },
        }

    def feed(self, events: Iterable[Happening]) -> None:
        for event in events:
            step = self._steps.get(event.type)
            if step is None:
                self._fault(event, f"nothing is known of the type {event.type}")
                continue
            try:
                step(event)
            except KeyError as missing:
                self._fault(event, f"it speaks of {missing}, which no event before it brought")

    def finish(self) -> Record:
        """The record, with each node's position in the walk of its plan."""
        nodes: dict[str, list[tuple[str, str | None]]] = {plan: [] for plan in self.record.plans}
        edges: dict[str, list[tuple[str, str]]] = {plan: [] for plan in self.record.plans}
        for node_id, node in self.record.nodes.items():
            nodes[node.plan].append((node_id, node.parent))
        for edge in self.record.edges.values():
            edges[self.record.nodes[edge.dependent].plan].append((edge.dependent, edge.dependency))
        for plan_id in self.record.plans:
            try:
                positions = topology.walk(nodes[plan_id], edges[plan_id])
            except topology.CycleFound as cycle:
                self.faults.append(Fault(7, f"the plan {plan_id} cannot be walked: {cycle}", 0))
                continue
            for node_id, position in positions.items():
                self.record.nodes[node_id].position = position
        return self.record

    def _fault(self, event: Happening, sentence: str, promise: int = 7) -> None:
        self.faults.append(Fault(promise, f"event {event.seq} ({event.type}): {sentence}", event.seq, event.node))

    # Plans, nodes, edges

    def _plan_imported(self, event: Happening) -> None:
        known = self.record.plans.get(event.plan)
        if (known is None) != bool(event.data["created"]):
            self._fault(event, f"the plan was {'not ' if known is None else ''}there before")
        created_at = event.at if known is None else known.created_at
        self.record.plans[event.plan] = PlanRecord(event.data["name"], created_at, event.at)

    def _node_added(self, event: Happening) -> None:
        data = event.data
        clone = data.get("clone") or {}
        if event.node in self.record.nodes:
            self._fault(event, "the node was there before")
        if data["parent"] is not None:
            self.record.nodes[data["parent"]].leaf = False
        self.record.nodes[event.node] = NodeRecord(
            event.plan, event.objective, data["parent"], data["key"], data["full_key"], data["title"], data["body"],
            clone.get("repo") or "", clone.get("ref") or "",
        )  # fmt: skip

    def _node_changed(self, event: Happening) -> None:
        node = self.record.nodes[event.node]
        data = event.data
        node.title = data.get("title", node.title)
        node.body = data.get("body", node.body)
        node.pruned = data.get("pruned", node.pruned)
        if "clone" in data:
            clone = data["clone"] or {}
            node.clone_repo, node.clone_ref = clone.get("repo") or "", clone.get("ref") or ""

    def _node_moved(self, event: Happening) -> None:
        node = self.record.nodes[event.node]
        before, to, by = event.data["from"], event.data["to"], event.data["by"]
        if node.state != before:
            self._fault(event, f"the node was {node.state}, not {before}")
        if before == to or event.type != f"node.{to}":
            self._fault(event, f"it tells of a move from {before} to {to}")
        elif node.leaf and by not in MOVES.get((before, to), ()):
            self._fault(event, f"a leaf does not move from {before} to {to} by {by}")
        node.state = to
        if to == "cancelled" and node.leaf:
            node.cancel_act = event.data.get("cancel_act", "")
            node.pruned = event.data.get("pruned", False)
            called_on = event.data.get("cancelled", event.node)
            if called_on != event.node:
                self.record.nodes[called_on].last_cancel = node.cancel_act

    def _node_reopened(self, event: Happening) -> None:
        leaves = event.data["leaves"]
        self._reset(leaves)
        for node_id in leaves:
            self.record.nodes[node_id].cancel_act = ""
            self.record.nodes[node_id].pruned = False
        if leaves:  # none: an import gave the container a task, and its last cancel can still be undone
            self.record.nodes[event.node].last_cancel = ""

    def _reset(self, leaves: Iterable[str]) -> None:
        for node_id in leaves:
            self.record.nodes[node_id].rejections = 0
            self.record.nodes[node_id].stale_ends = 0

    def _node_held(self, event: Happening) -> None:
        self.record.nodes[event.node].held = True

    def _claim_ended_for_another(self, event: Happening) -> None:
        node = self.record.nodes[event.node]
        if event.data["stale"] and node.leaf:
            node.stale_ends += 1

    def _edge_added(self, event: Happening) -> None:
        data = event.data
        if data["edge"] in self.record.edges:
            self._fault(event, "the edge was there before")
        for end in (event.node, data["dependency"]):
            self.record.nodes[end]
        self.record.edges[data["edge"]] = EdgeRecord(event.node, data["dependency"], data["waived"], data["reason"])

    def _edge_removed(self, event: Happening) -> None:
        del self.record.edges[event.data["edge"]]

    def _edge_laid(self, event: Happening, waived: bool) -> None:
        edge = self.record.edges[event.data["edge"]]
        if edge.waived == waived:
            self._fault(event, f"the edge was {'' if waived else 'not '}waived before")
        edge.waived, edge.waive_reason = waived, event.reason if waived else ""

    # Leases, runs, attempts

    def _lease_claimed(self, event: Happening) -> None:
        data = event.data
        last = self._fences.get(event.node, 0)
        if data["fence"] != last + 1:
            self._fault(event, f"fence {data['fence']} follows fence {last}", promise=2)
        self._fences[event.node] = data["fence"]
        self.record.leases[event.lease] = LeaseRecord(
            event.node, event.objective, data["moves_with"], data["token"], data["holder"], data["fence"],
            data["generation"], data["ttl_s"], event.at,
        )  # fmt: skip
        self.run_due[event.objective] = True
        above: str | None = event.node
        while above is not None:
            node = self.record.nodes[above]
            node.ever_claimed = True
            above = node.parent

    def _lease_expired(self, event: Happening) -> None:
        lease = self.record.leases[event.lease]
        if lease.expired_at is not None or lease.ended_at is not None:
            self._fault(event, "the lease had expired or ended before")
        lease.expired_at = event.at

    def _lease_ended(self, event: Happening) -> None:
        lease = self.record.leases[event.lease]
        if lease.ended_at is not None:
            self._fault(event, "the lease had ended before")
        lease.ended_at, lease.ending = event.at, event.data["end"]
        if (lease.ending == "released") != (event.type == "lease.released"):
            self._fault(event, f"a lease that was {lease.ending}")
        if lease.moves_with is None:
            self.record.nodes[lease.subject].held = False

    def _run_opened(self, event: Happening) -> None:
        self.record.leases[event.lease]
        self.record.runs[event.run] = RunRecord(event.node, event.lease, event.at)

    def _run_adopted(self, event: Happening) -> None:
        run = self.record.runs[event.run]
        if run.node != event.node or run.closed_at is not None:
            self._fault(event, "the run is closed or of another node")

    def _run_closed(self, event: Happening) -> None:
        run = self.record.runs[event.run]
        if run.closed_at is not None:
            self._fault(event, "the run had closed before")
        run.closed_at, run.outcome = event.at, event.data["outcome"]
        run.summary, run.result = event.data["summary"], event.data["result"]
        if run.node == event.objective:
            self.run_due[run.node] = False

    def _attempt_opened(self, event: Happening) -> None:
        self.record.runs[event.run]
        self.record.attempts[event.attempt] = AttemptRecord(event.run, event.data["number"], event.at)

    def _attempt_closed(self, event: Happening) -> None:
        attempt = self.record.attempts[event.attempt]
        if attempt.closed_at is not None:
            self._fault(event, "the attempt had closed before")
        attempt.closed_at, attempt.outcome, attempt.reason = event.at, event.data["outcome"], event.reason
        if attempt.outcome == "rejected":
            self.record.nodes[event.node].rejections += 1
