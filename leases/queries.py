"""Reads that join who works with what there is to do: lists of nodes and of leases, the status."""

import shlex
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from graph import clock, queries, sql
from graph.fields import iso
from graph.filters import narrowed
from graph.queries import LIST_COLUMNS
from graph.states import State
from leases.sql import FREE, POOL

Cursor = tuple[str, int]
"""A place in the order of the pool: a plan's id and a position."""


# Lists of nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFilter:
    """Which nodes a list shows. `plan` is an id or a name; `leaf` None shows both; `free` leaves out taken lanes."""

    state: str | None = None
    plan: str | None = None
    objective: str | None = None
    kind: str | None = None
    leaf: bool | None = None
    free: bool = False
    q: str | None = None

    def where(self) -> tuple[str, list[Any]]:
        """Conditions on the node `n`. States stand in the text, so that the partial index of the pool is found."""
        conditions = []
        if self.state == State.READY and self.leaf:
            conditions.append(POOL)
        else:
            if self.state is not None:
                conditions.append(f"n.state = '{State(self.state).value}'")
            if self.leaf is not None:
                conditions.append("n.leaf" if self.leaf else "NOT n.leaf")
        if self.kind is not None:
            conditions.append(f"n.parent_id IS {'NULL' if self.kind == 'objective' else 'NOT NULL'}")
        if self.free:
            conditions.append(FREE)
        where, params = narrowed(plan=self.plan, objective=self.objective, q=self.q)
        return " AND ".join(conditions or ["(1 = 1)"]) + where, params


def nodes(only: NodeFilter, *, after: Cursor | None = None, limit: int) -> list[tuple[Any, ...]]:
    """Nodes in pool order, as rows of NodeRow without their bodies."""
    where, params = only.where()
    one_plan = only.plan is not None or only.objective is not None
    if after is not None:
        # Within one plan the position alone is the place, and both indexes by plan and by lane lead to it.
        where += " AND n.position > %s" if one_plan else " AND (n.plan_id, n.position) > (%s, %s)"
        params += after[1:] if one_plan else after
    order = "n.position" if one_plan else "n.plan_id, n.position"
    return sql.fetch(
        f"SELECT {LIST_COLUMNS} FROM graph_node n WHERE {where} ORDER BY {order} LIMIT %s", [*params, limit]
    )


def count(only: NodeFilter) -> int:
    """How many nodes `nodes` would list in all."""
    where, params = only.where()
    return int(sql.fetch(f"SELECT count(*) FROM graph_node n WHERE {where}", params)[0][0])


# Leases


class LeaseRow(NamedTuple):
    """An open lease with its node; instants in microseconds."""

    id: str
    subject_id: str
    full_key: str
    title: str
    plan_id: str
    plan_name: str
    objective_id: str
    moves_with_id: str | None
    holder: str
    fence: int
    generation: int
    ttl_s: int
    acquired_at: int
    expires_at: int
    beat_at: int
    expired_at: int | None
    progress: str

    def stale(self, now: int) -> bool:
        return self.expired_at is not None or now >= self.expires_at

    def brief(self, now: int) -> dict[str, Any]:
        """The lease as every answer shows it."""
        stale = self.stale(now)
        return {
            "id": self.id,
            "subject": self.subject_id,
            "full_key": self.full_key,
            "title": self.title,
            "plan": self.plan_id,
            "objective": self.objective_id,
            "moves_with": self.moves_with_id,
            "holder": self.holder,
            "fence": self.fence,
            "generation": self.generation,
            "ttl_s": self.ttl_s,
            "acquired_at": iso(self.acquired_at),
            "beat_at": iso(self.beat_at),
            "expires_at": iso(self.expires_at),
            "live": not stale,
            "stale": stale,
            "progress": self.progress,
        }

    def timed(self, now: int) -> dict[str, Any]:
        """The same with what the clock says of it: life left (negative when stale) and age, in seconds."""
        left, age = (self.expires_at - now) / 1e6, (now - self.acquired_at) / 1e6
        return self.brief(now) | {"expires_in_s": left, "age_s": age}


_LEASE: Final = """
    SELECT l.id, l.subject_id, n.full_key, n.title, n.plan_id, p.name, l.objective_id, l.moves_with_id, l.holder,
        l.fence, l.generation, l.ttl_s, l.acquired_at, l.expires_at, l.beat_at, l.expired_at, l.progress
    FROM leases_lease l JOIN graph_node n ON n.id = l.subject_id JOIN graph_plan p ON p.id = n.plan_id
    WHERE l.ended_at IS NULL"""
_LIVE: Final = " AND l.expires_at > %s AND l.expired_at IS NULL"
_STALE: Final = " AND (l.expires_at <= %s OR l.expired_at IS NOT NULL)"


def leases(*, now: int, live: bool | None = None, after: tuple[int, str] | None = None, limit: int) -> list[LeaseRow]:
    """Open leases, the one that ends first in front; `live` False are the stale ones.

    `after` is the expiry and id of the last one seen. A heartbeat moves a lease back, so that one may be seen
    again on a later page, and none is missed.
    """
    where, params = "", list[Any]()
    if live is not None:
        where += _LIVE if live else _STALE
        params.append(now)
    if after is not None:
        where += " AND (l.expires_at, l.id) > (%s, %s)"
        params += after
    return [
        LeaseRow(*row) for row in sql.fetch(f"{_LEASE}{where} ORDER BY l.expires_at, l.id LIMIT %s", [*params, limit])
    ]


def open_lease(node_id: str) -> LeaseRow | None:
    """The open lease whose subject is this node."""
    rows = sql.fetch(f"{_LEASE} AND l.subject_id = %s", [node_id])
    return LeaseRow(*rows[0]) if rows else None


# The status


@dataclass(frozen=True, slots=True)
class Status:
    """How things stand: counts by state, and the claims that are held, the one that ends first in front."""

    now: int
    leaves: dict[str, int]
    containers: dict[str, int]
    live: list[LeaseRow]
    stale: list[LeaseRow]

    def brief(self) -> dict[str, Any]:
        return {
            "now": iso(self.now),
            "counts": self.leaves,
            "containers": self.containers,
            "live": [lease.timed(self.now) for lease in self.live],
            "stale": [lease.timed(self.now) | {"act": act(lease)} for lease in self.stale],
        }


def act(lease: LeaseRow) -> dict[str, str]:
    """What brings a stale claim back: a lead's abandon (or `manage.py recover`, for all of them at once)."""
    return {
        "verb": "abandon",
        "node": lease.subject_id,
        "command": f"manage.py abandon --reason TEXT -- {shlex.quote(lease.plan_name)} {lease.full_key}",
    }


def status() -> Status:
    """A claim counts once: the objective's lease that moves with a task's is not shown."""
    now = clock.read()
    leaves, containers = queries.counts()
    held = [LeaseRow(*row) for row in sql.fetch(f"{_LEASE} AND l.moves_with_id IS NULL ORDER BY l.expires_at, l.id")]
    stale = [lease for lease in held if lease.stale(now)]
    return Status(now, leaves, containers, [lease for lease in held if not lease.stale(now)], stale)
