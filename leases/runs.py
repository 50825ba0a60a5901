"""Opening and closing runs, attempts and leases; each step returns the events it is owed."""

from collections.abc import Collection
from typing import Any

from graph import events
from graph import sql as graph_sql
from graph.events import Draft, of_node
from graph.fields import json_text
from graph.ids import new_id
from graph.rows import NodeRow
from graph.transaction import LostRace, expect
from leases import sql
from leases.models import AttemptOutcome, Ending, RunOutcome


def open_attempt(node: NodeRow, run_id: str, number: int, now: int) -> tuple[str, Draft]:
    attempt_id = new_id()
    graph_sql.execute(sql.INSERT_ATTEMPT, [attempt_id, run_id, number, now])
    return attempt_id, of_node("attempt.opened", node, run=run_id, attempt=attempt_id, data={"number": number})


def close_attempt(
    node: NodeRow, run_id: str, attempt_id: str, outcome: AttemptOutcome, now: int, reason: str = ""
) -> Draft:
    expect(graph_sql.execute(sql.CLOSE_ATTEMPT, [now, outcome, reason, attempt_id]), 1, "attempts")
    return of_node("attempt.closed", node, run=run_id, attempt=attempt_id, reason=reason, data={"outcome": outcome})


def close_run(
    node: NodeRow, run_id: str, outcome: RunOutcome, now: int, *, summary: str = "", result: Any = None
) -> Draft:
    stored = None if result is None else json_text(result)
    expect(graph_sql.execute(sql.CLOSE_RUN, [now, outcome, summary, stored, run_id]), 1, "runs")
    data: dict[str, Any] = {"outcome": outcome, "summary": summary, "result": result}
    return of_node("run.closed", node, run=run_id, data=data)


def end_leases(
    node: NodeRow, lease_id: str, ending: Ending, now: int, *, reason: str = "", stale: bool = False
) -> list[Draft]:
    """End a lease and the one that moves with it. `stale`: only where it is still stale."""
    params: list[Any] = [now, ending, lease_id, lease_id]
    guard = ""
    if stale:
        guard = " AND (expires_at <= %s OR expired_at IS NOT NULL)"
        params.append(now)
    ended = graph_sql.fetch(sql.END_LEASES.format(guard=guard), params)
    if not ended:
        raise LostRace(f"the lease {lease_id} had ended")
    type_ = "lease.released" if ending == Ending.RELEASED else "lease.revoked"
    return [
        Draft(type_, node.plan_id, node.objective_id, subject_id, lease=ended_id, reason=reason, data={"end": ending})
        for ended_id, subject_id in sorted(ended, key=lambda row: row[0] != lease_id)
    ]


def close_settled(node_ids: Collection[str], *, now: int, actor: str) -> None:
    """Close the runs of objectives among `node_ids`, which settled in this transaction (contract, section 8.3)."""
    if not node_ids:
        return
    named, params = graph_sql.among(node_ids)
    rows = graph_sql.fetch(
        f"""SELECT {graph_sql.columns("n")}, r.id FROM leases_run r JOIN graph_node n ON n.id = r.node_id
        WHERE r.closed_at IS NULL AND n.parent_id IS NULL AND n.id IN ({named}) ORDER BY n.id""",
        params,
    )
    drafts = []
    for *columns, run_id in rows:
        node = NodeRow(*columns)
        drafts.append(close_run(node, run_id, RunOutcome(node.state), now))
    events.append(drafts, actor=actor, now=now)
