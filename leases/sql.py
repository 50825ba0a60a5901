"""The hot path's statements of the leases, in the order in which a claim, a heartbeat or a report runs them.

Portable between SQLite and PostgreSQL; see `graph.sql`, whose helpers run them.
"""

from typing import Final

# The pool's first leaf whose lane is free. {where} narrows by plan, objective or text.
FREE: Final = """NOT EXISTS (
        SELECT 1 FROM leases_lease taken WHERE taken.objective_id = n.objective_id AND taken.ended_at IS NULL)"""
POOL: Final = "n.state = 'ready' AND n.leaf"
FIRST_FREE: Final = f"""
    SELECT n.id FROM graph_node n JOIN graph_node o ON o.id = n.objective_id
    WHERE {POOL} AND {FREE}{{where}} ORDER BY n.plan_id, n.position LIMIT 1"""

# The open leases of a lane: at most two, the one a worker uses and the objective's that moves with it.
OPEN_OF_LANE: Final = """
    SELECT l.id, l.subject_id, n.full_key, l.holder, l.fence, l.expires_at, l.expired_at, l.moves_with_id
    FROM leases_lease l JOIN graph_node n ON n.id = l.subject_id
    WHERE l.objective_id = %s AND l.ended_at IS NULL ORDER BY l.id"""

# The sweep: mark what ran past its expiry and was not marked yet.
MARK_EXPIRED: Final = """
    UPDATE leases_lease SET expired_at = %s
    WHERE objective_id = %s AND ended_at IS NULL AND expired_at IS NULL AND expires_at <= %s
    RETURNING id, subject_id, fence, holder"""

# What a grant continues: the last fences of node and objective, the lane's clone, the objective's active run.
LAST: Final = """
    SELECT (SELECT max(fence) FROM leases_lease WHERE subject_id = %s), o.fence, o.generation, o.ending,
        (SELECT id FROM leases_run WHERE node_id = %s AND closed_at IS NULL)
    FROM (SELECT 1) one LEFT JOIN (
        SELECT fence, generation, ending FROM leases_lease WHERE subject_id = %s ORDER BY fence DESC LIMIT 1) o
    ON 1 = 1"""

INSERT_LEASES: Final = """
    INSERT INTO leases_lease (id, subject_id, objective_id, moves_with_id, token_id, holder, fence, generation, ttl_s,
        acquired_at, expires_at, beat_at, progress, ending) VALUES {rows}"""
LEASE_ROW: Final = "(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, '', '')"

INSERT_RUNS: Final = "INSERT INTO leases_run (id, node_id, lease_id, opened_at, outcome, summary) VALUES {rows}"
RUN_ROW: Final = "(%s, %s, %s, %s, '', '')"

INSERT_ATTEMPT: Final = """
    INSERT INTO leases_attempt (id, run_id, number, opened_at, outcome, reason) VALUES (%s, %s, %s, %s, '', '')"""

# What the dependencies of a node and its ancestors came to, each once, with the words of the run that settled it: a
# leaf's last, and fences tell which that is. A container's runs have no words, and old ones are of its time as a leaf.
INPUTS: Final = """
    SELECT d.full_key, d.state, r.summary, r.result
    FROM (SELECT DISTINCT dependency_id FROM graph_edge WHERE dependent_id IN ({ids})) need
    JOIN graph_node d ON d.id = need.dependency_id
    LEFT JOIN leases_run r ON r.id = (
        SELECT last.id FROM leases_run last JOIN leases_lease l ON l.id = last.lease_id
        WHERE last.node_id = d.id AND d.leaf AND last.outcome = d.state ORDER BY l.fence DESC LIMIT 1)
    ORDER BY d.position"""

# The lease a worker shows, with what decides whether it still gives a right, and the run and attempt under it.
HELD: Final = """
    SELECT l.id, l.subject_id, l.objective_id, l.token_id, l.holder, l.fence, l.ttl_s, l.expires_at, l.expired_at,
        l.ended_at, l.moves_with_id, (SELECT max(fence) FROM leases_lease WHERE subject_id = l.subject_id),
        r.id, a.id, a.number
    FROM leases_lease l
    LEFT JOIN leases_run r ON r.node_id = l.subject_id AND r.closed_at IS NULL
    LEFT JOIN leases_attempt a ON a.run_id = r.id AND a.closed_at IS NULL
    WHERE l.{by} = %s"""

# A heartbeat moves the lease and the objective's that moves with it, both or none.
BEAT: Final = """
    UPDATE leases_lease SET expires_at = %s, beat_at = %s, progress = CASE WHEN moves_with_id IS NULL
        THEN coalesce(%s, progress) ELSE progress END
    WHERE (id = %s OR moves_with_id = %s) AND ended_at IS NULL AND expired_at IS NULL AND expires_at > %s"""

# Whether what this node was claimed on has been reopened since (the mark *upstream reopened*).
UPSTREAM_REOPENED: Final = """
    WITH RECURSIVE up(id, parent_id) AS (
        SELECT id, parent_id FROM graph_node WHERE id = %s
        UNION ALL SELECT n.id, n.parent_id FROM up JOIN graph_node n ON n.id = up.parent_id)
    SELECT 1 FROM up WHERE EXISTS (
        SELECT 1 FROM graph_edge e JOIN graph_node d ON d.id = e.dependency_id
        WHERE e.dependent_id = up.id AND e.reopened AND NOT e.waived AND d.state NOT IN ('done', 'partial')
        LIMIT 1 OFFSET 0)"""

# The ending of a lease and of the one that moves with it. The guard says again what was judged under the lock.
END_LEASES: Final = """
    UPDATE leases_lease SET ended_at = %s, ending = %s
    WHERE (id = %s OR moves_with_id = %s) AND ended_at IS NULL{guard} RETURNING id, subject_id"""

CLOSE_ATTEMPT: Final = """
    UPDATE leases_attempt SET closed_at = %s, outcome = %s, reason = %s WHERE id = %s AND closed_at IS NULL"""

CLOSE_RUN: Final = """
    UPDATE leases_run SET closed_at = %s, outcome = %s, summary = %s, result = %s
    WHERE id = %s AND closed_at IS NULL"""

COUNT_REJECTION: Final = "UPDATE graph_node SET rejections = rejections + 1 WHERE id = %s"
COUNT_STALE_END: Final = "UPDATE graph_node SET stale_ends = stale_ends + 1 WHERE id = %s"
