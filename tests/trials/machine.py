"""The state machine: every verb against the model, in any order, with any earlier lease and fence used again.

After each step the server gave the same answer as the model, has the same states, and the audit finds nothing (it
replays the events, too).
"""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from graph import editing
from graph.actors import Caller
from graph.errors import PlanConflict, PlanInvalid
from leases import acts, recover
from leases.claim import claim, claim_next
from leases.heartbeat import heartbeat
from leases.settle import reject, release, report
from tests.builders import LEAD
from tests.trials import facts, oracle
from tests.trials.facts import SECOND, Refused
from tests.trials.pair import Pair
from tests.trials.plans import CHANGES

NOBODY = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
TTLS = (5, 60, 3600)

INDEX = st.integers(0, 11)
"""Picks one of a list, whatever its length."""
WORKER = st.sampled_from(["ann", "bob"])
TWIST = st.sampled_from(["", "", "", "", "", "", "fence", "worker", "node", "beside", "earlier"])
"""What is wrong with the way a lease is used."""

APT = st.sampled_from([True, True, False])
"""Whether a node is picked that the verb is meant for, or any."""


class Server(Pair):
    # Workers

    @rule(index=INDEX, worker=WORKER, ttl_s=st.sampled_from(TTLS), hand=st.booleans())
    def claim(self, index: int, worker: str, ttl_s: int, hand: bool) -> None:
        self.claim_by_id(self.key(index), worker, ttl_s, hand)

    def claim_by_id(self, key: str, worker: str, ttl_s: int, hand: bool) -> None:
        verb = "claim" if self.model.leaf(key) else "hold"
        granted = self.both(
            verb,
            lambda: claim(node_id=self.ids[key], caller=self.callers[worker], ttl_s=ttl_s, hand=hand),
            lambda: self.model.claim(key, worker=worker, ttl_s=ttl_s, hand=hand),
        )
        if granted:
            self.granted(*granted, ttl_s)
            self.reached[verb, "ok"] += 1

    @rule(worker=WORKER, ttl_s=st.sampled_from(TTLS), index=st.none() | INDEX)
    def claim_next(self, worker: str, ttl_s: int, index: int | None) -> None:
        objective = None if index is None else self.model.nodes[self.key(index)].objective
        lane = None if objective is None else self.ids[objective]
        granted = self.both(
            "claim_next",
            lambda: claim_next(caller=self.callers[worker], ttl_s=ttl_s, objective=lane),
            lambda: self.model.claim_next(worker=worker, ttl_s=ttl_s, objective=objective),
        )
        assert granted is not None
        answer, expected = granted
        assert (answer is None) == (expected is None)
        self.reached["claim_next", "none" if answer is None else "ok"] += 1
        if answer is not None:
            assert answer.node.full_key == expected[0]
            self.granted(answer, expected[1], ttl_s)

    @precondition(lambda self: self.at_rest())
    @rule(worker=WORKER, times=st.integers(1, 4), outcome=st.sampled_from(["done", "done", "partial"]))
    def work(self, worker: str, times: int, outcome: str) -> None:
        """Claim and report, some times over: most of what there is to try comes after some work is done."""
        for _ in range(times):
            if self.at_rest():
                self.claim_next(worker, 60, None)
                self.report(0, "", outcome)

    @precondition(lambda self: self.edges and self.at_rest())
    @rule(index=INDEX, worker=WORKER)
    def work_towards(self, index: int, worker: str) -> None:
        """Do what some node needs, as far as it can be done, and claim what becomes ready below that node."""
        edge = self.model.edges[index % len(self.model.edges)]
        for key in self.model.below(edge.dependency):
            if key in self.at_rest():
                self.claim_by_id(key, worker, 60, hand=False)
                self.report(0, "", "done")
        for key in self.model.below(edge.dependent):
            if key in self.at_rest():
                self.claim_by_id(key, worker, 60, hand=False)

    @precondition(lambda self: self.at_rest())
    @rule(index=INDEX, worker=WORKER, times=st.sampled_from([1, 3]), marked=st.booleans())
    def die(self, index: int, worker: str, times: int, marked: bool) -> None:
        """A worker that claims is not heard of again, and so the next one."""
        key = self.key(index, self.at_rest())
        for _ in range(times):
            self.claim_by_id(key, worker, 5, hand=False)
            if self.model.nodes[key].life == "running":
                self.model.now = max(lease.expires_at for lease in self.model.leases if not lease.ended)
                self.recover(marked)

    def at_rest(self) -> list[str]:
        """Leaves that could be claimed now."""
        return [key for key in self.in_state("ready") if self.model.leaf(key) and not self.model.in_lane(key)]

    @precondition(lambda self: self.leases)
    @rule(index=INDEX, twist=TWIST, progress=st.sampled_from([None, "half"]))
    def heartbeat(self, index: int, twist: str, progress: str | None) -> None:
        self.beat(self.used(index, twist), progress)

    def beat(self, used: dict[str, Any], progress: str | None) -> None:
        granted = self.both(
            "heartbeat",
            lambda: heartbeat(**self.shown(used), progress=progress),
            lambda: self.model.heartbeat(**used),
        )
        if granted:
            beat, expected = granted
            assert (beat.expires_at, [*beat.asks]) == expected
            self.reached["heartbeat", "asked" if beat.asks else "ok"] += 1

    @precondition(lambda self: self.leases)
    @rule(index=INDEX, twist=TWIST, outcome=st.sampled_from(["done", "done", "partial"]))
    def report(self, index: int, twist: str, outcome: str) -> None:
        used = self.used(index, twist)
        granted = self.both(
            "report",
            lambda: report(**self.shown(used), outcome=outcome, summary=outcome, result={"by": used["worker"]}),
            lambda: self.model.report(**used, outcome=outcome),
        )
        if granted:
            reported, expected = granted
            assert {self.keys[node] for node in reported.became_ready} == expected.became_ready
            assert reported.node.state == outcome
            self.reached["report", outcome] += 1

    @precondition(lambda self: self.leases)
    @rule(index=INDEX, twist=TWIST, times=st.sampled_from([1, 3]))
    def reject(self, index: int, twist: str, times: int) -> None:
        used = self.used(index, twist)
        for _ in range(times):
            granted = self.both(
                "reject", lambda: reject(**self.shown(used), reason="no"), lambda: self.model.reject(**used)
            )
            if granted:
                rejected, number = granted
                assert (rejected.attempt and rejected.attempt.number) == number
                assert rejected.node.state == ("blocked" if number is None else "running")
                self.reached["reject", rejected.node.state] += 1

    @precondition(lambda self: self.leases)
    @rule(index=INDEX, twist=TWIST)
    def release(self, index: int, twist: str) -> None:
        self.give_back(self.used(index, twist))

    def give_back(self, used: dict[str, Any]) -> None:
        granted = self.both(
            "release", lambda: release(**self.shown(used), reason="later"), lambda: self.model.release(**used)
        )
        if granted:
            state = granted[0].node.state
            assert state == self.model.states()[used["key"]]
            self.reached["release", state] += 1

    # Leads

    @precondition(lambda self: any(not lease.ended for lease in self.model.leases))
    @rule(index=INDEX, apt=APT, off=st.sampled_from([None, None, 0, 1]))
    def abandon(self, index: int, apt: bool, off: int | None) -> None:
        key = self.key(index, [each.subject for each in self.model.leases if apt and not self._idle(each)])
        fence = None if off is None else self.model.fence(key) + off
        self.edited(
            "abandon",
            lambda: recover.abandon(node_id=self.ids[key], caller=LEAD, reason="gone", fence=fence),
            lambda: self.model.abandon(key, fence),
        )

    @precondition(lambda self: any(not each.ended and each.stale(self.model.now) for each in self.model.leases))
    @rule(mark_first=st.booleans())
    def recover(self, mark_first: bool) -> None:
        if mark_first:
            assert recover.mark_expired() == self.model.mark_expired()
            assert recover.mark_expired() == 0
        done = recover.recover_all(actor="recovery")
        assert not done.failed and done.recovered
        assert {each.full_key for each in done.recovered} == self.model.recover()
        assert recover.recover_all(actor="recovery") == recover.Recovery((), ())
        for key in {each.full_key for each in done.recovered}:
            self.reached["recover", self.model.states()[key]] += 1

    @precondition(lambda self: any(not each.ended and not each.marked for each in self.model.leases))
    @rule()
    def report_expiries(self) -> None:
        marked = recover.mark_expired()
        assert marked == self.model.mark_expired()
        self.reached["mark_expired", "some" if marked else "none"] += 1

    def in_state(self, *wanted: str) -> list[str]:
        return [key for key, state in self.model.states().items() if state in wanted]

    @precondition(lambda self: self.in_state("blocked"))
    @rule(index=INDEX, apt=APT)
    def unblock(self, index: int, apt: bool) -> None:
        key = self.key(index, self.in_state("blocked") if apt else [])
        self.edit("unblock", key, editing.unblock, self.model.unblock)

    @precondition(lambda self: self.in_state(*facts.SETTLED))
    @rule(index=INDEX, apt=APT, needed=st.booleans())
    def reopen(self, index: int, apt: bool, needed: bool) -> None:
        settled = self.in_state(*facts.SETTLED) if apt else []
        busy = self.in_state("running")
        upstream = [edge.dependency for edge in self.model.edges if edge.dependent in busy] if needed else []
        key = self.key(index, [each for each in settled if each in upstream] or settled)
        self.edit("reopen", key, editing.reopen, self.model.reopen)

    @precondition(lambda self: self.rugs())
    @rule(index=INDEX, then=st.sampled_from(["heartbeat", "release", "die"]))
    def pull_the_rug(self, index: int, then: str) -> None:
        """What a running task was claimed on is reopened, and its holder goes on or gives up."""
        number, key = self.rugs()[index % len(self.rugs())]
        self.edit("reopen", key, editing.reopen, self.model.reopen)
        lease = self.model.leases[number]
        used = {"key": lease.subject, "number": number, "fence": lease.fence, "worker": lease.worker}
        self.beat(used, None)
        if then == "release":
            self.give_back(used)
        elif then == "die":
            self.model.now = max(lease.expires_at, self.model.now)
            self.recover(False)

    def rugs(self) -> list[tuple[int, str]]:
        """Live leases, and done leaves that their subjects need."""
        found = []
        for number, lease in enumerate(self.model.leases):
            if self._idle(lease) or lease.stale(self.model.now):
                continue
            above = oracle.chain(lease.subject, self.model.parents)
            needed = [each.dependency for each in self.model.edges if each.dependent in above and not each.waived]
            below = [key for needs in needed for key in self.model.below(needs)]
            found += [(number, key) for key in below if self.model.nodes[key].life in facts.SATISFYING]
        return [(number, key) for number, key in found if self.model.leaf(key)]

    @precondition(lambda self: 2 * len(self.in_state("cancelled")) < len(self.model.nodes))
    @rule(index=INDEX, apt=APT)
    def cancel(self, index: int, apt: bool) -> None:
        key = self.key(index, self.in_state("pending", "ready", "blocked") if apt else [])
        self.edit("cancel", key, acts.cancel, self.model.cancel)

    def edit(
        self, verb: str, key: str, theirs: Callable[..., editing.Edited], ours: Callable[[str], facts.Edited]
    ) -> None:
        self.edited(
            verb if self.model.leaf(key) else f"{verb} container",
            lambda: theirs(node_id=self.ids[key], caller=LEAD, reason=verb),
            lambda: ours(key),
        )

    @precondition(lambda self: self.edges)
    @rule(index=INDEX, waived=st.booleans())
    def lay(self, index: int, waived: bool) -> None:
        number = index % len(self.edges)
        service = editing.waive if waived else editing.unwaive
        self.edited(
            "waive" if waived else "unwaive",
            lambda: service(edge_id=self.edges[number], caller=LEAD, reason="so"),
            lambda: self.model.lay(number, waived=waived),
        )

    @rule(what=st.sampled_from(["", *CHANGES]), one=INDEX, other=INDEX, prune=st.booleans())
    def import_again(self, what: str, one: int, other: int, prune: bool) -> None:
        before = self.model.states()
        self.file.change(what, one, other)
        try:
            result = acts.import_plan(plan=self.file.plan(), caller=LEAD, prune=prune)
        except (PlanConflict, PlanInvalid) as refusal:
            self.reached["import", refusal.code] += 1
            return
        self.reached["import", "changed" if result.changed else "nothing"] += 1
        self.load()
        after = self.model.states()
        at_work = {each.subject for each in self.model.leases if not each.ended}
        assert all(after[key] == before[key] for key in at_work)
        again = acts.import_plan(plan=self.file.plan(), caller=LEAD, prune=prune)
        assert not again.changed, "the same file changes nothing the second time"

    @precondition(lambda self: len(self.leases) < 4)
    @rule(verb=st.sampled_from(["claim", "heartbeat", "abandon", "unblock", "reopen", "cancel", "waive"]))
    def what_is_not_there(self, verb: str) -> None:
        caller: Caller = self.callers["ann"]
        calls: dict[str, Callable[[], Any]] = {
            "claim": lambda: claim(node_id=NOBODY, caller=caller),
            "heartbeat": lambda: heartbeat(node_id=self.ids[self.key(0)], lease_id=NOBODY, fence=1, caller=caller),
            "abandon": lambda: recover.abandon(node_id=NOBODY, caller=LEAD, reason="x"),
            "unblock": lambda: editing.unblock(node_id=NOBODY, caller=LEAD, reason="x"),
            "reopen": lambda: editing.reopen(node_id=NOBODY, caller=LEAD, reason="x"),
            "cancel": lambda: acts.cancel(node_id=NOBODY, caller=LEAD, reason="x"),
            "waive": lambda: editing.waive(edge_id=NOBODY, caller=LEAD, reason="x"),
        }

        def nothing() -> None:
            raise Refused("not_found")

        self.both(verb, calls[verb], nothing)

    # Time

    @rule(micros=st.sampled_from([1, 5 * SECOND // 3, 20 * SECOND, -5 * SECOND, 3600 * SECOND]))
    def tick(self, micros: int) -> None:
        self.model.now += micros

    @precondition(lambda self: any(not lease.ended for lease in self.model.leases))
    @rule(index=INDEX, off=st.sampled_from([-1, 0, 1]))
    def tick_to_an_expiry(self, index: int, off: int) -> None:
        due = [lease.expires_at for lease in self.model.leases if not lease.ended]
        self.model.now = due[index % len(due)] + off
