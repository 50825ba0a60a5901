"""The audit: promises 1 to 7 of contract section 8, held against the tables.

A second opinion: readiness, roll-up and the rest are worked out here once more from the rows, and nothing of what
the services use for it is called. Memory grows with the nodes, edges and leases, not with the events.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from graph import transaction
from leases import tables
from leases.record import AttemptRecord, LeaseRecord, NodeRecord, Record, RunRecord
from leases.replay import Replay

OPEN: Final = frozenset({"pending", "ready", "running", "blocked"})
SATISFYING: Final = frozenset({"done", "partial"})


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken promise: its number, what is wrong, and the rows that show it."""

    promise: int
    sentence: str
    rows: tuple[Mapping[str, Any], ...]


@dataclass(slots=True)
class _Facts:
    """What the checks look at."""

    nodes: dict[str, NodeRecord] = field(default_factory=dict)
    children: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    unmet: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Node → what its own unwaived edges wait for."""
    leases: dict[str, tuple[LeaseRecord, int]] = field(default_factory=dict)
    """Open ones, with their expiry."""
    fences: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    claimed: set[str] = field(default_factory=set)
    """Nodes that had a lease, and what is above them."""
    runs: dict[str, RunRecord] = field(default_factory=dict)
    """Active ones."""
    attempts: dict[str, AttemptRecord] = field(default_factory=dict)
    """Open ones."""
    run_due: dict[str, bool] = field(default_factory=dict)


def audit() -> list[Violation]:
    """Every violation, by promise. Reads one moment of a live database; see `transaction.snapshot`."""
    with transaction.snapshot():
        replay = Replay()
        replay.feed(tables.events())
        record = replay.finish()
        found = [
            Violation(fault.promise, fault.sentence, ({"seq": fault.seq, "node": fault.node},))
            for fault in replay.faults
        ]
        facts = _Facts(run_due=replay.run_due)
        found += _compared(record, facts)
    for check in (_leases, _fences, _runs, _running, _readiness, _roll_up):
        found += check(facts)
    return sorted(found, key=lambda violation: violation.promise)


# 7: the tables are what the events replay to


def _compared(record: Record, facts: _Facts) -> Iterator[Violation]:
    """Compare row by row, keep what the checks need, and forget each row's replay and texts."""
    for plan_id, plan in tables.plans():
        yield from _differences("plan", plan_id, plan, record.plans.pop(plan_id, None))
    for node_id, node in tables.nodes():
        yield from _differences("node", node_id, node, record.nodes.pop(node_id, None))
        node.title = node.body = ""
        facts.nodes[node_id] = node
        if node.parent is not None:
            facts.children[node.parent].append(node_id)
    for edge_id, edge in tables.edges():
        yield from _differences("edge", edge_id, edge, record.edges.pop(edge_id, None))
        if facts.nodes[edge.dependent].plan != facts.nodes[edge.dependency].plan:
            yield _violation(5, "an edge joins two plans", edge=edge_id)
        if not edge.waived and facts.nodes[edge.dependency].state not in SATISFYING:
            facts.unmet[edge.dependent].append(edge.dependency)
    for lease_id, lease, expires_at in tables.leases():
        yield from _differences("lease", lease_id, lease, record.leases.pop(lease_id, None))
        facts.fences[lease.subject].append(lease.fence)
        facts.claimed.update(_chain(facts, lease.subject))
        if lease.ended_at is None:
            facts.leases[lease_id] = lease, expires_at
    for run_id, run in tables.runs():
        yield from _differences("run", run_id, run, record.runs.pop(run_id, None))
        if run.closed_at is None:
            facts.runs[run_id] = run
    for attempt_id, attempt in tables.attempts():
        yield from _differences("attempt", attempt_id, attempt, record.attempts.pop(attempt_id, None))
        if attempt.closed_at is None:
            facts.attempts[attempt_id] = attempt
    for left in fields(record):
        for row_id in getattr(record, left.name):
            yield _violation(7, f"the events bring a row to {left.name} that is not there", id=row_id)


def _differences(kind: str, row_id: str, row: Any, replayed: Any) -> Iterator[Violation]:
    if replayed is None:
        yield _violation(7, f"no event brings this {kind}", **{kind: row_id})
    elif row != replayed:
        names = [each.name for each in fields(row) if getattr(row, each.name) != getattr(replayed, each.name)]
        rows = [{"column": name, "stored": getattr(row, name), "replayed": getattr(replayed, name)} for name in names]
        what = f"{kind} {row_id}: the events give another {', '.join(names)}"
        yield Violation(7, what, ({kind: row_id}, *rows))


# 1 and 2: leases and their fences


def _leases(facts: _Facts) -> Iterator[Violation]:
    subjects: dict[str, list[str]] = defaultdict(list)
    lanes: dict[str, list[str]] = defaultdict(list)
    for lease_id, (lease, _) in facts.leases.items():
        subjects[lease.subject].append(lease_id)
        if lease.subject != lease.objective:
            lanes[lease.objective].append(lease_id)
        if lease.objective != facts.nodes[lease.subject].objective:
            yield _of_leases(1, "a lease stands in another lane than its subject", [lease_id], facts)
    for subject, found in subjects.items():
        if len(found) > 1:
            yield _of_leases(1, f"{_name(facts, subject)} has {len(found)} open leases", found, facts)
    for objective, found in lanes.items():
        if len(found) > 1:
            what = f"the lane of {_name(facts, objective)} has {len(found)} open leases besides the objective's"
            yield _of_leases(1, what, found, facts)


def _fences(facts: _Facts) -> Iterator[Violation]:
    """That they rise in the order of the claims is found by replay; here, that none is missing or used twice."""
    for subject, fences in facts.fences.items():
        if sorted(fences) != [*range(1, len(fences) + 1)]:
            what = f"the fences of {_name(facts, subject)} do not count up by one"
            yield _violation(2, what, node=subject, fences=sorted(fences))


# 3 and 4: runs, and what is running


def _runs(facts: _Facts) -> Iterator[Violation]:
    of_node: dict[str, list[str]] = defaultdict(list)
    tries = Counter(attempt.run for attempt in facts.attempts.values())
    for run_id, run in facts.runs.items():
        of_node[run.node].append(run_id)
        node = facts.nodes[run.node]
        if node.leaf and tries[run_id] != 1:
            what = f"the active run of leaf {node.full_key} has {tries[run_id]} open attempts"
            yield _violation(3, what, run=run_id, attempts=_attempts_of(facts, run_id))
        if not node.leaf and node.parent is not None:
            yield _violation(3, f"{node.full_key} is a container below an objective and has an active run", run=run_id)
    for node_id, found in of_node.items():
        if len(found) > 1:
            yield _violation(3, f"{_name(facts, node_id)} has {len(found)} active runs", node=node_id, runs=found)
    for attempt_id, attempt in facts.attempts.items():
        active = facts.runs.get(attempt.run)
        if active is None or not facts.nodes[active.node].leaf:
            yield _violation(3, "an open attempt has no active run of a leaf", attempt=attempt_id, run=attempt.run)
    yield from _runs_of_nodes(facts, of_node)


def _runs_of_nodes(facts: _Facts, of_node: Mapping[str, list[str]]) -> Iterator[Violation]:
    open_on = {lease.subject for lease, _ in facts.leases.values()}
    running: dict[str, list[str]] = defaultdict(list)
    for node_id, node in facts.nodes.items():
        runs = of_node.get(node_id, [])
        if node.state not in OPEN and (runs or node_id in open_on):
            what = f"{node.full_key} is {node.state} and has an open run, attempt or lease"
            yield _violation(3, what, node=node_id, state=node.state, runs=runs, leased=node_id in open_on)
        if node.leaf and (node.state == "running") != bool(runs):
            what = f"the leaf {node.full_key} is {node.state} and has {len(runs)} active runs"
            yield _violation(3, what, node=node_id, state=node.state, runs=runs)
        if node.leaf and node.state == "running":
            running[node.objective].append(node_id)
        due = facts.run_due.get(node_id, False)
        if not node.leaf and node.parent is None and due != bool(runs):
            what = f"the objective {node.full_key} {'was claimed and has no' if due else 'is not claimed and has an'}"
            yield _violation(3, f"{what} active run", node=node_id, state=node.state, runs=runs)
    for objective, leaves in running.items():
        if len(leaves) > 1:
            what = f"{len(leaves)} leaves run in the lane of {_name(facts, objective)}"
            yield Violation(3, what, tuple(_row(facts, leaf) for leaf in leaves))


def _running(facts: _Facts) -> Iterator[Violation]:
    by_subject = {lease.subject: lease_id for lease_id, (lease, _) in facts.leases.items()}
    for node_id, node in facts.nodes.items():
        found = by_subject.get(node_id)
        own = facts.leases[found][0].moves_with is None if found else False
        if node.leaf and (node.state == "running") != own:
            what = f"the leaf {node.full_key} is {node.state} and has {'an' if own else 'no'} open lease of its own"
            yield Violation(4, what, (_row(facts, node_id), {"lease": found}))
        if not node.leaf and node.held != own:
            what = f"the container {node.full_key} is {'' if node.held else 'not '}held"
            what += f" and has {'an' if own else 'no'} open lease of its own"
            yield Violation(4, what, (_row(facts, node_id), {"lease": found}))
    for lease_id, (lease, expires_at) in facts.leases.items():
        yield from _companion(facts, by_subject, lease_id, lease, expires_at)


def _companion(
    facts: _Facts, by_subject: Mapping[str, str], lease_id: str, lease: LeaseRecord, expires_at: int
) -> Iterator[Violation]:
    """A lease that a worker uses has the objective's beside it, alike in holder and expiry; and the other way."""
    if lease.moves_with is not None:
        if lease.moves_with not in facts.leases or lease.subject != lease.objective:
            yield _of_leases(4, "a lease moves with one that is not open", [lease_id], facts)
        return
    if lease.subject == lease.objective:
        return
    beside_id = by_subject.get(lease.objective)
    if beside_id is None:
        yield _of_leases(4, "a lease has no open lease of its objective beside it", [lease_id], facts)
        return
    beside, beside_expires_at = facts.leases[beside_id]
    theirs = beside.moves_with, beside.token, beside.holder, beside_expires_at, beside.expired_at is None
    if theirs != (lease_id, lease.token, lease.holder, expires_at, lease.expired_at is None):
        what = f"the leases of {_name(facts, lease.subject)} and its objective differ in holder or expiry"
        yield _of_leases(4, what, [lease_id, beside_id], facts)


# 5 and 6: readiness and roll-up


def _readiness(facts: _Facts) -> Iterator[Violation]:
    for node_id, node in facts.nodes.items():
        if node.state not in ("pending", "ready"):
            continue
        waits = {above: facts.unmet[above] for above in _chain(facts, node_id) if above in facts.unmet}
        if (node.state == "ready") == bool(waits):
            what = f"{node.full_key} is {node.state} and {'not ' if waits else ''}satisfied"
            rows = [{"waits": above, "for": needed} for above, found in waits.items() for needed in found]
            yield Violation(5, what, (_row(facts, node_id), *rows))


def _roll_up(facts: _Facts) -> Iterator[Violation]:
    for node_id, node in facts.nodes.items():
        below = facts.children.get(node_id, [])
        if node.leaf == bool(below):
            what = f"{node.full_key} is called a {'leaf' if node.leaf else 'container'} and has {len(below)} children"
            yield Violation(6, what, (_row(facts, node_id),))
        parent = None if node.parent is None else facts.nodes[node.parent]
        if node.objective != (node_id if parent is None else parent.objective) or (parent and parent.plan != node.plan):
            yield Violation(6, f"{node.full_key} is in another lane or plan than its parent", (_row(facts, node_id),))
        if node.ever_claimed != (node_id in facts.claimed):
            what = f"{node.full_key} counts as {'' if node.ever_claimed else 'never '}claimed"
            yield Violation(6, what, (_row(facts, node_id),))
        if below:
            yield from _rolled(facts, node_id, node, below)


def _rolled(facts: _Facts, node_id: str, node: NodeRecord, below: list[str]) -> Iterator[Violation]:
    states = {facts.nodes[child].state for child in below}
    if states == {"cancelled"}:
        allowed = {"cancelled"}
    elif not states & OPEN:
        allowed = {"partial" if "partial" in states else "done"}
    else:
        allowed = {"running"} if node_id in facts.claimed else {"pending", "ready"}
    if node.state not in allowed:
        what = f"the container {node.full_key} is {node.state}; its children make it {' or '.join(sorted(allowed))}"
        yield Violation(6, what, (_row(facts, node_id), *(_row(facts, child) for child in below)))


# Rows to show


def _violation(promise: int, sentence: str, **row: Any) -> Violation:
    return Violation(promise, sentence, (row,))


def _of_leases(promise: int, sentence: str, lease_ids: list[str], facts: _Facts) -> Violation:
    rows = []
    for lease_id in lease_ids:
        lease, expires_at = facts.leases[lease_id]
        row = {each.name: getattr(lease, each.name) for each in fields(lease)}
        rows.append({"lease": lease_id, **row, "expires_at": expires_at})
    return Violation(promise, sentence, tuple(rows))


def _row(facts: _Facts, node_id: str) -> dict[str, Any]:
    node = facts.nodes[node_id]
    return {"node": node_id, "full_key": node.full_key, "state": node.state, "leaf": node.leaf}


def _name(facts: _Facts, node_id: str) -> str:
    return facts.nodes[node_id].full_key


def _attempts_of(facts: _Facts, run_id: str) -> list[str]:
    return [attempt_id for attempt_id, attempt in facts.attempts.items() if attempt.run == run_id]


def _chain(facts: _Facts, node_id: str) -> Iterator[str]:
    """A node and its ancestors."""
    above: str | None = node_id
    while above is not None:
        yield above
        above = facts.nodes[above].parent
