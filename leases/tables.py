"""The tables and the events, read in chunks as plain values for replay and audit. Only looks."""

import json
import sys
from collections.abc import Iterator
from typing import Any, Final

from graph import sql
from leases.record import AttemptRecord, EdgeRecord, LeaseRecord, NodeRecord, PlanRecord, RunRecord
from leases.replay import Happening

CHUNK: Final = 5_000
"""Rows that are in memory at once, however many there are."""

_PLANS: Final = "SELECT id, name, created_at, imported_at FROM graph_plan WHERE id > %s ORDER BY id LIMIT %s"
_NODES: Final = """
    SELECT id, plan_id, objective_id, parent_id, key, full_key, title, body, clone_repo, clone_ref, state,
        leaf, position, ever_claimed, held, rejections, stale_ends, cancel_act, last_cancel, pruned
    FROM graph_node WHERE id > %s ORDER BY id LIMIT %s"""
_EDGES: Final = """
    SELECT id, dependent_id, dependency_id, waived, waive_reason FROM graph_edge WHERE id > %s ORDER BY id LIMIT %s"""
_LEASES: Final = """
    SELECT id, subject_id, objective_id, moves_with_id, token_id, holder, fence, generation, ttl_s, acquired_at,
        expired_at, ended_at, ending, expires_at
    FROM leases_lease WHERE id > %s ORDER BY id LIMIT %s"""
_RUNS: Final = """
    SELECT id, node_id, lease_id, opened_at, closed_at, outcome, summary, result
    FROM leases_run WHERE id > %s ORDER BY id LIMIT %s"""
_ATTEMPTS: Final = """
    SELECT id, run_id, number, opened_at, closed_at, outcome, reason
    FROM leases_attempt WHERE id > %s ORDER BY id LIMIT %s"""
_EVENTS: Final = """
    SELECT seq, type, at, plan, objective, node, lease, run, attempt, reason, data
    FROM graph_event WHERE seq > %s ORDER BY seq LIMIT %s"""


def _rows(statement: str, after: Any = "") -> Iterator[tuple[Any, ...]]:
    """Every row, by its key: one statement for each chunk, so that SQLite and PostgreSQL do the same."""
    while chunk := sql.fetch(statement, [after, CHUNK]):
        yield from chunk
        after = chunk[-1][0]


def _shared(*ids: Any) -> tuple[Any, ...]:
    """The same ids come back in many rows: each is kept once."""
    return tuple(sys.intern(each) if each is not None else None for each in ids)


def plans() -> Iterator[tuple[str, PlanRecord]]:
    for plan_id, *row in _rows(_PLANS):
        yield plan_id, PlanRecord(*row)


def nodes() -> Iterator[tuple[str, NodeRecord]]:
    for row in _rows(_NODES):
        node_id, plan, objective, parent = _shared(*row[:4])
        leaf, position, claimed, held, *counts, pruned = row[11:]
        flags = [bool(leaf), position, bool(claimed), bool(held), *counts, bool(pruned)]
        yield node_id, NodeRecord(*[plan, objective, parent, *row[4:11], *flags])


def edges() -> Iterator[tuple[str, EdgeRecord]]:
    for row in _rows(_EDGES):
        edge_id, dependent, dependency = _shared(*row[:3])
        yield edge_id, EdgeRecord(dependent, dependency, bool(row[3]), row[4])


def leases() -> Iterator[tuple[str, LeaseRecord, int]]:
    """Each with its `expires_at`, which is no part of what the events tell."""
    for row in _rows(_LEASES):
        lease_id, subject, objective, moves_with, token = _shared(*row[:5])
        yield lease_id, LeaseRecord(subject, objective, moves_with, token, *row[5:13]), row[13]


def runs() -> Iterator[tuple[str, RunRecord]]:
    for row in _rows(_RUNS):
        run_id, node, lease = _shared(*row[:3])
        yield run_id, RunRecord(*[node, lease, *row[3:7], row[7] and json.loads(row[7])])


def attempts() -> Iterator[tuple[str, AttemptRecord]]:
    for row in _rows(_ATTEMPTS):
        attempt_id, run = _shared(*row[:2])
        yield attempt_id, AttemptRecord(run, *row[2:])


def events() -> Iterator[Happening]:
    for row in _rows(_EVENTS, 0):
        yield Happening(*[*row[:3], *_shared(*row[3:9]), row[9], json.loads(row[10])])
