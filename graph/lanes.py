"""Holding lanes: lock, then read the clock, then everything else.

A lane is locked by its objective's row. Whoever may touch several takes them in id order, so that two never
wait for each other, and counts readiness only when it holds them all: two dependencies of one node that settle
at once would else each find the other unsettled, and the node would wait for ever. On SQLite the transaction
itself (BEGIN IMMEDIATE) is the lock.
"""

from collections.abc import Collection
from typing import Final

from django.db import connection

from graph import clock, sql, transaction
from graph.errors import NotFound

LOCK: Final = " FOR NO KEY UPDATE"


def hold_lane_of(node_id: str) -> int:
    """Lock the lane of a node. Returns now, in microseconds. Raises NotFound."""
    transaction.required()
    if connection.vendor == "postgresql" and not sql.fetch(sql.LOCK_LANE, [node_id]):
        raise NotFound(f"There is no node {node_id}.")
    return clock.read_and_mark()


def hold_lanes_of(node_ids: Collection[str]) -> int:
    """Lock the lanes of these nodes. Returns now, in microseconds."""
    transaction.required()
    if connection.vendor == "postgresql":
        named, params = sql.among(node_ids)
        lanes = f"SELECT objective_id FROM graph_node WHERE id IN ({named})"
        sql.fetch(f"SELECT id FROM graph_node WHERE id IN ({lanes}) ORDER BY id{LOCK}", params)
    return clock.read_and_mark()


def hold_reach(node_ids: Collection[str], *, below: bool = False) -> int:
    """Lock every lane that settling or reopening these nodes (`below`: and all under them) may touch.

    Returns now, in microseconds. Raises transaction.Again where an import added a lane meanwhile.
    """
    transaction.required()
    if connection.vendor == "postgresql":
        statement, params = sql.reach(node_ids, below=below)
        held = sql.fetch(statement + LOCK + " OF o", params)
        if sql.fetch(statement, params) != held:
            raise transaction.Again
    return clock.read_and_mark()


def hold_plan(plan_id: str) -> int:
    """Lock a plan against other imports, then every lane of it. Returns now, in microseconds."""
    transaction.required()
    if connection.vendor == "postgresql":
        sql.fetch("SELECT id FROM graph_plan WHERE id = %s" + LOCK, [plan_id])
        sql.fetch("SELECT id FROM graph_node WHERE plan_id = %s AND parent_id IS NULL ORDER BY id" + LOCK, [plan_id])
    return clock.read_and_mark()
