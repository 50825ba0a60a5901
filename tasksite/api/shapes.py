"""What the verbs answer, as JSON objects (contract, sections 4 and 5)."""

from typing import Any

from graph.editing import Edited
from graph.fields import iso
from leases.claim import Grant, Granted
from leases.heartbeat import Beat
from leases.settle import Rejected, Released, Reported

BEATS_IN_TTL = 3
"""Heartbeats that a worker is asked to send within the life of its lease."""


def grant(found: Grant) -> dict[str, Any]:
    return {
        "node": found.node.brief() | {"body": found.node.body},
        "lease": _lease(found.lease, found.ttl_s),
        "objective_lease": _lease(found.objective_lease, found.ttl_s),
        "run": None if found.run_id is None else {"id": found.run_id},
        "objective_run": {"id": found.objective_run_id, "adopted": found.adopted},
        "attempt": None if found.attempt_id is None else {"id": found.attempt_id, "number": 1},
        "heartbeat_every_s": found.ttl_s / BEATS_IN_TTL,
        "inputs": [
            {"full_key": each.full_key, "outcome": each.outcome, "summary": each.summary, "result": each.result}
            for each in found.inputs
        ],
        "clone": {"repo": found.clone.repo, "ref": found.clone.ref, "dir": found.clone.dir},
    }


def beat(found: Beat) -> dict[str, Any]:
    return {"expires_at": iso(found.expires_at), "expires_in_s": found.expires_in_s, "asks": [*found.asks]}


def reported(found: Reported) -> dict[str, Any]:
    return {"node": found.node.brief(), "became_ready": found.became_ready}


def rejected(found: Rejected) -> dict[str, Any]:
    attempt = found.attempt
    following = None if attempt is None else {"id": attempt.id, "number": attempt.number}
    return {"node": found.node.brief(), "attempt": following}


def released(found: Released) -> dict[str, Any]:
    return {"node": found.node.brief()}


def edited(found: Edited) -> dict[str, Any]:
    return {
        "node": found.node.brief(),
        "became_ready": found.became_ready,
        "demoted": found.demoted,
        "running_dependents": found.running_dependents,
        "settled_dependents": found.settled_dependents,
    }


def _lease(lease: Granted, ttl_s: int) -> dict[str, Any]:
    return {
        "id": lease.id,
        "subject": lease.subject_id,
        "fence": lease.fence,
        "expires_at": iso(lease.expires_at),
        "expires_in_s": float(ttl_s),
    }
