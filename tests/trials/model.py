"""A model of the whole server in dicts and lists: what each verb answers, and what it leaves.

No Django, no SQL, and nothing kept that can be worked out: only what leaves went through is stored, every other
state is read off it anew. Nodes go by full key, leases by their number, instants are microseconds.
"""

from collections.abc import Mapping, Sequence

from tests.trials import oracle
from tests.trials.facts import SATISFYING, SECOND, SETTLED, WAITING, Edge, Edited, Grant, Lane, Lease, Node, Refused


class Model:
    def __init__(self, now: int) -> None:
        self.now = now
        self.nodes: dict[str, Node] = {}
        """In document order."""
        self.parents: dict[str, str | None] = {}
        self.edges: list[Edge] = []
        self.order: list[str] = []
        """That of the pool."""
        self.lanes: dict[str, Lane] = {}
        self.leases: list[Lease] = []
        self.reject_limit, self.stale_limit, self.acts = 3, 3, 0

    def load(self, nodes: Mapping[str, Node], edges: Sequence[Edge], order: Sequence[str]) -> None:
        """Another plan, or the plan as an import left it; leases and lanes stay."""
        self.nodes, self.edges, self.order = dict(nodes), list(edges), list(order)
        self.parents = {key: node.parent for key, node in nodes.items()}
        for key, parent in self.parents.items():
            if parent is None:
                self.lanes.setdefault(key, Lane())
            else:
                self.nodes[parent].children.append(key)
        self._follow("", self.states())

    # What can be read off

    def states(self) -> dict[str, str]:
        found: dict[str, str | None] = {}

        def settle(key: str) -> str | None:
            node = self.nodes[key]
            if not node.children:
                found[key] = None if node.life == "open" else node.life
            else:
                below = [settle(child) or "pending" for child in node.children]
                found[key] = oracle.rolled_up(below, claimed=node.claimed)
            return found[key]

        for objective in self.lanes:
            settle(objective)
        known = {key: state or "pending" for key, state in found.items()}
        for key, state in found.items():
            if state is None:
                known[key] = "ready" if oracle.satisfied(key, self.parents, self._needs(), known) else "pending"
        return known

    def _needs(self) -> list[tuple[str, str, bool]]:
        return [(edge.dependent, edge.dependency, edge.waived) for edge in self.edges]

    def leaf(self, key: str) -> bool:
        return not self.nodes[key].children

    def below(self, key: str) -> list[str]:
        """The node and all under it."""
        return [each for each in self.nodes if key in oracle.chain(each, self.parents)]

    def fence(self, subject: str) -> int:
        return sum(lease.subject == subject for lease in self.leases)

    def open_lease(self, subject: str) -> int | None:
        found = [i for i, lease in enumerate(self.leases) if lease.subject == subject and not lease.ended]
        return found[0] if found else None

    def held(self, key: str) -> bool:
        """A container under a lease of its own."""
        number = self.open_lease(key)
        return not self.leaf(key) and number is not None and self.leases[number].beside is None

    def in_lane(self, key: str) -> list[Lease]:
        objective = self.nodes[key].objective
        return [each for each in self.leases if not each.ended and self.nodes[each.subject].objective == objective]

    # Claims

    def claim(self, key: str, *, worker: str, ttl_s: int, hand: bool) -> Grant:
        if not self.leaf(key) and not hand:
            raise Refused("container")
        for lease in self.in_lane(key):
            lease.marked = lease.stale(self.now)
        states = self.states()
        self._refuse_incomplete(key, states)
        for lease in self.in_lane(key):
            if lease.beside is None:
                raise Refused("lease_refused", relation=self._relation(key, lease.subject), stale=lease.marked)
        if states[key] != "ready" and (self.leaf(key) or states[key] != "running"):
            raise Refused("not_ready", state=states[key])
        return self._grant(key, worker, ttl_s, states)

    def claim_next(self, *, worker: str, ttl_s: int, objective: str | None) -> tuple[str, Grant] | None:
        states = self.states()
        for key in self.order:
            if objective is not None and self.nodes[key].objective != objective:
                continue
            if self.leaf(key) and states[key] == "ready" and not self.in_lane(key):
                return key, self.claim(key, worker=worker, ttl_s=ttl_s, hand=False)
        return None

    def _refuse_incomplete(self, key: str, states: Mapping[str, str]) -> None:
        for above in reversed(oracle.chain(key, self.parents)[1:]):
            waits = any(
                edge.dependent == above and not edge.waived and states[edge.dependency] not in SATISFYING
                for edge in self.edges
            )
            if states[above] in SETTLED or waits:
                raise Refused("ancestor_incomplete", ancestor=above)

    def _relation(self, key: str, subject: str) -> str:
        if subject == key:
            return "self"
        if subject in oracle.chain(key, self.parents):
            return "parent"
        return "descendant" if key in oracle.chain(subject, self.parents) else "sibling"

    def _grant(self, key: str, worker: str, ttl_s: int, states: Mapping[str, str]) -> Grant:
        objective = self.nodes[key].objective
        lane = self.lanes[objective]
        own = self._lease(key, None, worker, ttl_s)
        beside = own if key == objective else self._lease(objective, own, worker, ttl_s)
        adopted, lane.running = lane.running, True
        lane.generation, lane.unclean = lane.generation + lane.unclean, False
        above = oracle.chain(key, self.parents)
        for each in above:
            self.nodes[each].claimed = True
        if self.leaf(key):
            self.nodes[key].life = "running"
        needed = sorted({edge.dependency for edge in self.edges if edge.dependent in above})
        inputs = [(each, states[each] if states[each] in SETTLED else None) for each in needed]
        return Grant(own, beside, adopted, lane.generation, inputs)

    def _lease(self, subject: str, beside: int | None, worker: str, ttl_s: int) -> int:
        expires_at = self.now + ttl_s * SECOND
        self.leases.append(Lease(subject, beside, worker, self.fence(subject) + 1, ttl_s, expires_at))
        return len(self.leases) - 1

    # What a holder does

    def judge(self, key: str, number: int, fence: int, worker: str) -> Lease:
        lease = self.leases[number]
        if lease.subject != key:
            raise Refused("not_found")
        if lease.worker != worker:
            raise Refused("not_holder")
        if not fence == lease.fence == self.fence(key):
            raise Refused("stale_fence", current_fence=self.fence(key))
        if lease.ended:
            raise Refused("lease_closed")
        if lease.stale(self.now):
            raise Refused("lease_expired")
        if lease.beside is not None:
            raise Refused("wrong_state")
        return lease

    def heartbeat(self, key: str, number: int, fence: int, worker: str) -> tuple[int, list[str]]:
        lease = self.judge(key, number, fence, worker)
        for each in self._with(number):
            each.expires_at = self.now + lease.ttl_s * SECOND
        states, above = self.states(), oracle.chain(key, self.parents)
        marked = any(
            edge.reopened and not edge.waived and states[edge.dependency] not in SATISFYING
            for edge in self.edges
            if edge.dependent in above
        )
        return lease.expires_at, ["upstream_reopened"] if marked else []

    def report(self, key: str, number: int, fence: int, worker: str, outcome: str) -> Edited:
        self._worked(key, number, fence, worker)
        return self._leave(key, number, outcome)

    def reject(self, key: str, number: int, fence: int, worker: str) -> int | None:
        """The number of the next attempt, or None where the node is blocked."""
        lease = self._worked(key, number, fence, worker)
        self.nodes[key].rejections += 1
        if self.nodes[key].rejections < self.reject_limit:
            lease.attempt += 1
            return lease.attempt
        self._leave(key, number, "blocked")
        return None

    def release(self, key: str, number: int, fence: int, worker: str) -> None:
        self.judge(key, number, fence, worker)
        self._leave(key, number, "open")

    def _worked(self, key: str, number: int, fence: int, worker: str) -> Lease:
        lease = self.judge(key, number, fence, worker)
        if not self.leaf(key):
            raise Refused("wrong_state")
        return lease

    def _with(self, number: int) -> list[Lease]:
        return [each for i, each in enumerate(self.leases) if i == number or each.beside == number]

    def _leave(self, key: str, number: int, life: str) -> Edited:
        """A claim ends; of a leaf with this life."""
        before = self.states()
        for each in self._with(number):
            each.ended = True
        if self.leaf(key):
            self.nodes[key].life = life
            if key in self.lanes:
                self.lanes[key].running = False
        return self._follow(key, before)

    # What a lead does

    def abandon(self, key: str, fence: int | None) -> Edited:
        number = self.open_lease(key)
        if number is None or self.leases[number].beside is not None:
            raise Refused("wrong_state", state=self.states()[key])
        if fence is not None and fence != self.fence(key):
            raise Refused("stale_fence", current_fence=self.fence(key))
        return self._take_away(key, number)

    def _take_away(self, key: str, number: int) -> Edited:
        node, life = self.nodes[key], "open"
        if self.leases[number].stale(self.now) and self.leaf(key):
            node.stale_ends += 1
            life = "blocked" if 0 < self.stale_limit <= node.stale_ends else "open"
        self.lanes[node.objective].unclean = True
        return self._leave(key, number, life)

    def recover(self) -> set[str]:
        """The nodes that were stale."""
        due = [i for i, each in enumerate(self.leases) if not each.ended and each.beside is None]
        stale = [i for i in due if self.leases[i].stale(self.now)]
        for number in stale:
            self._take_away(self.leases[number].subject, number)
        return {self.leases[number].subject for number in stale}

    def mark_expired(self) -> int:
        due = [each for each in self.leases if not each.ended and not each.marked and each.stale(self.now)]
        for lease in due:
            lease.marked = True
        return len(due)

    def unblock(self, key: str) -> Edited:
        before = self.states()
        if before[key] != "blocked":
            raise Refused("wrong_state", state=before[key])
        self._open_again([key])
        return self._follow(key, before)

    def reopen(self, key: str) -> Edited:
        before = self.states()
        node = self.nodes[key]
        leaves = [key]
        if not self.leaf(key):
            leaves = [
                each
                for each in self.below(key)
                if self.nodes[each].life == "cancelled" and self.nodes[each].cancelled_by == node.last_cancel != ""
            ]
        if before[key] not in SETTLED or not leaves:
            raise Refused("wrong_state", state=before[key])
        self._open_again(leaves)
        node.last_cancel = ""
        return self._follow(key, before)

    def _open_again(self, leaves: Sequence[str]) -> None:
        for key in leaves:
            node = self.nodes[key]
            node.life, node.rejections, node.stale_ends, node.cancelled_by = "open", 0, 0, ""

    def cancel(self, key: str) -> Edited:
        before = self.states()
        around = {*oracle.chain(key, self.parents), *self.below(key)}
        lives = [each for each in self.below(key) if self.leaf(each)]
        busy = any(self.nodes[each].life == "running" for each in lives) or any(map(self.held, around))
        if before[key] in SETTLED or busy:
            raise Refused("wrong_state", state=before[key])
        self.acts += 1
        act = f"act {self.acts}"
        for each in lives:
            if self.nodes[each].life in ("open", "blocked"):
                self.nodes[each].life, self.nodes[each].cancelled_by = "cancelled", act
        if not self.leaf(key):
            self.nodes[key].last_cancel = act
        return self._follow(key, before)

    def lay(self, number: int, *, waived: bool) -> Edited:
        """Waive an edge, or take the waiver away."""
        edge = self.edges[number]
        if edge.waived == waived:
            raise Refused("wrong_state", waived=waived)
        before = self.states()
        edge.waived = waived
        edited = self._follow(edge.dependent, before)
        after = self.states()
        edited.running_dependents = {each for each in self.below(edge.dependent) if after[each] == "running"}
        edited.settled_dependents = {each for each in self.below(edge.dependent) if after[each] in SETTLED}
        return edited

    def _follow(self, key: str, before: Mapping[str, str]) -> Edited:
        """What follows from a change: runs of settled objectives close, dependents of what regressed are marked."""
        after = self.states()
        for objective, lane in self.lanes.items():
            if after[objective] in SETTLED:
                lane.running = False
        moved = {each for each in after if after[each] != before[each]}
        regressed = {each for each in moved if before[each] in SATISFYING and after[each] not in SATISFYING}
        dependents: set[str] = set()
        for edge in self.edges:
            if edge.dependency in regressed:
                edge.reopened = any(after[each] not in WAITING for each in self.below(edge.dependent))
                dependents |= set() if edge.waived else {*self.below(edge.dependent)}
        leaves = {each for each in moved if self.leaf(each) and each != key}
        return Edited(
            became_ready={each for each in leaves if after[each] == "ready"},
            demoted={each for each in leaves if (before[each], after[each]) == ("ready", "pending")},
            running_dependents={each for each in dependents if after[each] == "running"},
            settled_dependents={each for each in dependents if before[each] in SETTLED and after[each] in SETTLED},
        )
