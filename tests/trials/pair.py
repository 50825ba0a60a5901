"""The server and the model side by side: begun alike, asked alike, compared.

Each example is one transaction that is rolled back.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from django.db import connection, transaction
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant

from graph import clock, editing, sql
from graph.errors import Refusal
from leases.audit import audit
from leases.claim import Grant
from tests.builders import make_plan, make_worker
from tests.trials import facts, oracle
from tests.trials.facts import SECOND, Edge, Lease, Node, Refused
from tests.trials.model import Model
from tests.trials.plans import File, Shape, shapes

START = 1_800_000_000 * SECOND


class Pair(RuleBasedStateMachine):
    reached: ClassVar[Counter[tuple[str, str]]] = Counter()
    """(verb, answer) → how often."""

    @initialize(shape=shapes())
    def begin(self, shape: Shape) -> None:
        self.atomic = transaction.atomic()
        self.atomic._from_testcase = True  # type: ignore[attr-defined]  # so that durable blocks may stand in it
        self.atomic.__enter__()
        self.judged = clock.judged
        self.model = Model(START)
        clock.judged = lambda micros: self.model.now
        make_plan(shape)
        self.callers = {name: make_worker(name) for name in ("ann", "bob")}
        self.leases: list[str] = []
        """Ids by the model's numbers."""
        self.load()
        needs = {(edge.dependent, edge.dependency) for edge in self.model.edges}
        self.file = File(dict(self.model.parents), needs, dict(sql.fetch("SELECT full_key, title FROM graph_node")))

    def teardown(self) -> None:
        if hasattr(self, "atomic"):
            clock.judged = self.judged
            connection.set_rollback(True)
            self.atomic.__exit__(None, None, None)

    def load(self) -> None:
        """Tell the model of the plan as it stands. The audit is what holds an import to its promises."""
        rows = sql.fetch("""
            SELECT full_key, id, parent_id, state, ever_claimed, rejections, stale_ends, cancel_act, last_cancel
            FROM graph_node ORDER BY id""")
        edges = sql.fetch("SELECT id, dependent_id, dependency_id, waived, reopened FROM graph_edge ORDER BY id")
        self.ids = {row[0]: row[1] for row in rows}
        self.keys = {node_id: key for key, node_id in self.ids.items()}
        self.edges = [edge[0] for edge in edges]
        nodes = {}
        for key, _, parent, state, claimed, *counts in rows:
            life = "open" if state in facts.WAITING else state
            nodes[key] = Node(parent and self.keys[parent], key.partition("/")[0], [], life, bool(claimed), *counts)
        walked = oracle.order({row[1]: row[2] for row in rows}, [(edge[1], edge[2]) for edge in edges])
        needs = [Edge(self.keys[edge[1]], self.keys[edge[2]], bool(edge[3]), bool(edge[4])) for edge in edges]
        self.model.load(nodes, needs, [self.keys[node] for node in walked])

    # Choosing

    def key(self, index: int, among: Sequence[str] = ()) -> str:
        """One of these nodes; of all where there are none."""
        keys = [*among] or [*self.model.nodes]
        return keys[index % len(keys)]

    def used(self, index: int, twist: str) -> dict[str, Any]:
        """The arguments of a settling verb: an open lease as its holder would show it, or with a twist."""
        leases = self.model.leases
        mine = [i for i, lease in enumerate(leases) if not self._idle(lease)]
        beside = [i for i, lease in enumerate(leases) if not lease.ended and lease.beside is not None]
        wanted = {"beside": beside, "earlier": [*range(len(leases))]}.get(twist) or mine or [*range(len(leases))]
        number = wanted[-1 - index % len(wanted)]
        lease = leases[number]
        other = {"ann": "bob", "bob": "ann"}[lease.worker]
        return {
            "key": self.key(index) if twist == "node" else lease.subject,
            "number": number,
            "fence": lease.fence + (1 if index % 2 else -1) if twist == "fence" else lease.fence,
            "worker": other if twist == "worker" else lease.worker,
        }

    @staticmethod
    def _idle(lease: Lease) -> bool:
        return lease.ended or lease.beside is not None

    # Asking both

    def both(self, verb: str, theirs: Callable[[], Any], ours: Callable[[], Any]) -> tuple[Any, Any] | None:
        """Both answers, where both grant. A refusal must be the same one."""
        refused: Refused | None = None
        try:
            expected = ours()
        except Refused as refusal:
            refused = refusal
        try:
            answer = theirs()
        except Refusal as refusal:
            self.reached[verb, refusal.code] += 1
            assert refused is not None, f"{verb}: refused with {refusal.code}, granted by the model"
            assert refusal.code == refused.code, f"{verb}: refused with {refusal.code}, by the model: {refused.code}"
            self._same_fields(refusal, refused)
            return None
        assert refused is None, f"{verb}: granted, refused by the model with {refused.code}"
        return answer, expected

    def _same_fields(self, refusal: Refusal, refused: Refused) -> None:
        for name, value in refused.fields.items():
            told = refusal.fields[name]
            told = told["full_key"] if name == "ancestor" else told
            assert told == value, f"{refusal.code}: {name} is {told}, in the model {value}"

    def edited(self, verb: str, theirs: Callable[[], editing.Edited], ours: Callable[[], facts.Edited]) -> None:
        granted = self.both(verb, theirs, ours)
        if granted is None:
            return
        answer, expected = granted
        self.reached[verb, "ok"] += 1
        for name in ("became_ready", "demoted", "running_dependents", "settled_dependents"):
            told = [self.keys[node] for node in getattr(answer, name)]
            assert {*told} == getattr(expected, name), f"{verb}: {name}"
            assert told == sorted(told, key=self.model.order.index), f"{verb}: {name} in the order of the pool"
        assert answer.node.state == self.model.states()[answer.node.full_key]

    def granted(self, grant: Grant, expected: facts.Grant, ttl_s: int) -> None:
        self.leases += [grant.lease.id] if grant.lease is grant.objective_lease else [
            grant.lease.id, grant.objective_lease.id
        ]  # fmt: skip
        assert len(self.leases) == len(self.model.leases)
        for lease, number in ((grant.lease, expected.lease), (grant.objective_lease, expected.lane_lease)):
            twin = self.model.leases[number]
            assert (self.keys[lease.subject_id], lease.fence, lease.expires_at) == (
                twin.subject, twin.fence, self.model.now + ttl_s * SECOND
            )  # fmt: skip
        assert grant.adopted == expected.adopted
        assert grant.clone.dir.endswith(f".{expected.generation}")
        assert sorted((each.full_key, each.outcome) for each in grant.inputs) == expected.inputs
        assert (grant.attempt_id is not None) == (grant.run_id is not None) == grant.node.leaf

    def shown(self, used: dict[str, Any]) -> dict[str, Any]:
        return {
            "node_id": self.ids[used["key"]],
            "lease_id": self.leases[used["number"]],
            "fence": used["fence"],
            "caller": self.callers[used["worker"]],
        }

    # What holds after each step

    @invariant()
    def both_stand_alike(self) -> None:
        stored = dict(sql.fetch("SELECT full_key, state FROM graph_node"))
        assert stored == self.model.states()
        assert audit() == []
