"""One example of each answer, each body and each refusal, for people who read the schema."""

from collections.abc import Mapping
from typing import Any, Final

from graph import errors as graph
from graph.errors import Refusal
from leases import errors as leases
from tasksite.api import errors as hall
from tasksite.api.problems import document

PLAN: Final = "01KB8T0V3N8Y5R2Q4W6E7T9PAA"
API: Final = "01KB8T0V3N8Y5R2Q4W6E7T9PAB"
SCHEMA: Final = "01KB8T0V3N8Y5R2Q4W6E7T9PAC"
ENDPOINTS: Final = "01KB8T0V3N8Y5R2Q4W6E7T9PAD"
EDGE: Final = "01KB8T0V3N8Y5R2Q4W6E7T9PAE"
LEASE: Final = "01KB8T3C5D7F9G1H3J5K7M9NAA"
LANE_LEASE: Final = "01KB8T3C5D7F9G1H3J5K7M9NAB"
RUN: Final = "01KB8T3C5D7F9G1H3J5K7M9NAC"
LANE_RUN: Final = "01KB8T3C5D7F9G1H3J5K7M9NAD"
ATTEMPT: Final = "01KB8T3C5D7F9G1H3J5K7M9NAE"
NEXT_ATTEMPT: Final = "01KB8T3C5D7F9G1H3J5K7M9NAF"
CLAIMED_AT: Final = "2026-11-29T11:59:00.000000Z"
EXPIRES_AT: Final = "2026-11-29T12:00:00.000000Z"
SERVER: Final = "https://tasks.example.org/api/v1"


def _node(state: str, id_: str = SCHEMA, key: str = "schema", title: str = "Design the schema") -> dict[str, Any]:
    return {
        "id": id_, "key": key, "full_key": f"api/{key}", "title": title, "kind": "task", "state": state,
        "plan": PLAN, "objective": API, "parent": API, "leaf": True, "position": 1,
    }  # fmt: skip


def _lease(id_: str, subject: str, fence: int) -> dict[str, Any]:
    return {"id": id_, "subject": subject, "fence": fence, "expires_at": EXPIRES_AT, "expires_in_s": 60.0}


_STATES: Final = ("pending", "ready", "running", "done", "partial", "blocked", "cancelled")
_COUNTS: Final = {**dict.fromkeys(_STATES, 0), "pending": 1, "running": 1}
_NO_COUNTS: Final = {**dict.fromkeys(_STATES, 0), "running": 1}
_PLAN: Final = {
    "id": PLAN, "name": "checkout-rewrite", "created_at": CLAIMED_AT, "imported_at": CLAIMED_AT,
    "counts": _COUNTS, "containers": _NO_COUNTS,
}  # fmt: skip
_OPEN: Final = {
    "id": LEASE, "subject": SCHEMA, "full_key": "api/schema", "title": "Design the schema", "plan": PLAN,
    "objective": API, "moves_with": None, "holder": "worker-1", "fence": 1, "generation": 1, "ttl_s": 60,
    "acquired_at": CLAIMED_AT, "beat_at": CLAIMED_AT, "expires_at": EXPIRES_AT, "live": True, "stale": False,
    "progress": "reading",
}  # fmt: skip
_TIMED: Final = {**_OPEN, "expires_in_s": 42.0, "age_s": 18.0}
_STALE: Final = {
    **_OPEN, "live": False, "stale": True, "expires_in_s": -300.0, "age_s": 360.0,
    "act": {
        "verb": "abandon", "node": SCHEMA,
        "command": "manage.py abandon --reason TEXT -- checkout-rewrite api/schema",
    },
}  # fmt: skip
_LISTS: Final[dict[str, list[str]]] = {
    "became_ready": [], "demoted": [], "running_dependents": [], "settled_dependents": []
}  # fmt: skip
_WAIT: Final = {"id": SCHEMA, "full_key": "api/schema", "title": "Design the schema", "state": "running"}
_HOLD: Final = {"lease": LEASE, "fence": 1}

ANSWERS: Final[Mapping[str, Any]] = {
    "Grant": {
        "node": {**_node("running"), "body": "Draw the tables."},
        "lease": _lease(LEASE, SCHEMA, 1),
        "objective_lease": _lease(LANE_LEASE, API, 4),
        "run": {"id": RUN},
        "objective_run": {"id": LANE_RUN, "adopted": True},
        "attempt": {"id": ATTEMPT, "number": 1},
        "heartbeat_every_s": 20.0,
        "inputs": [{"full_key": "db/tables", "outcome": "done", "summary": "Nine tables.", "result": {"tables": 9}}],
        "clone": {"repo": "https://example.org/pay.git", "ref": "main", "dir": f"api-{API}.1"},
    },
    "Beat": {"expires_at": EXPIRES_AT, "expires_in_s": 60.0, "asks": []},
    "Reported": {"node": _node("done"), "became_ready": [ENDPOINTS]},
    "Rejected": {"node": _node("running"), "attempt": {"id": NEXT_ATTEMPT, "number": 2}},
    "Released": {"node": _node("ready")},
    "Edited": {"node": _node("ready"), **_LISTS},
    "NodePage": {"results": [_node("ready")], "next": f"{SERVER}/nodes/?state=ready&cursor=MDFLQi4x"},
    "NodeDetail": {
        **_node("pending", ENDPOINTS, "endpoints", "Write the endpoints"), "body": "", "rejections": 0, "stale_ends": 0,
        "clone": {"repo": "https://example.org/pay.git", "ref": "main"},
        "marks": [], "waiting_on": [_WAIT], "upstream_reopened": [], "children": [],
        "ancestors": [{"id": API, "full_key": "api", "title": "Payment API", "state": "running", "waiting_on": []}],
        "needs": [{"id": EDGE, "waived": False, "waive_reason": "", "node": _WAIT}], "needed_by": [],
        "lease": None, "runs": [], "left_off": {},
    },
    "Plan": _PLAN,
    "PlanPage": {"results": [_PLAN], "next": None},
    "Graph": {
        "plan": {"id": PLAN, "name": "checkout-rewrite"},
        "nodes": [_node("running"), {**_node("pending", ENDPOINTS, "endpoints", "Write the endpoints"), "position": 2}],
        "edges": [{"id": EDGE, "dependent": ENDPOINTS, "dependency": SCHEMA, "waived": False}],
        "next": None,
    },
    "Imported": {
        "plan": PLAN, "name": "checkout-rewrite", "created": True, "changed": True, "dry_run": False,
        "counts": {"added": 3, "edges_added": 1}, "added": ["api", "api/schema", "api/endpoints"], "updated": [],
        "edges_added": [{"node": "api/endpoints", "needs": "api/schema"}], "edges_removed": [], "reopened": [],
        "regressed": [], "pruned": [], "missing": [], "left": [], "warnings": [], **_LISTS, "became_ready": [SCHEMA],
    },
    "EventPage": {
        "results": [
            {
                "seq": 7, "type": "node.running", "at": CLAIMED_AT, "actor": "worker-1", "plan": PLAN,
                "objective": API, "node": SCHEMA, "lease": None, "run": None, "attempt": None, "reason": "",
                "data": {"from": "ready", "to": "running", "by": "claim"},
            }
        ],
        "next": None,
        "cursor": "7",
    },
    "LeasePage": {"results": [_OPEN], "next": None},
    "Status": {
        "now": EXPIRES_AT, "counts": _COUNTS, "containers": _NO_COUNTS, "live": [_TIMED], "stale": [_STALE],
    },
}  # fmt: skip

BODIES: Final[Mapping[str, Any]] = {
    "claim_node": {"ttl_s": 60, "holder": "worker-1/pid-4711"},
    "claim_next": {"ttl_s": 60, "plan": "checkout-rewrite"},
    "heartbeat": {**_HOLD, "progress": "reading"},
    "report": {**_HOLD, "outcome": "done", "summary": "Nine tables.", "result": {"tables": 9}},
    "reject": {**_HOLD, "reason": "The tests fail."},
    "release": {**_HOLD, "reason": "The machine goes down."},
    "abandon": {"reason": "The worker is gone.", "fence": 1},
    "unblock": {"reason": "The flaky test is mended."},
    "reopen": {"reason": "A table is missing."},
    "cancel": {"reason": "Not needed any more."},
    "waive": {"reason": "The mock will do."},
    "unwaive": {"reason": "The real one is there."},
}

PLAN_FILE: Final = {
    "plan": "checkout-rewrite",
    "objectives": [
        {
            "key": "api",
            "title": "Payment API",
            "clone": {"repo": "https://example.org/pay.git", "ref": "main"},
            "tasks": [
                {"key": "schema", "title": "Design the schema", "body": "Draw the tables."},
                {"key": "endpoints", "title": "Write the endpoints", "needs": ["schema"]},
            ],
        }
    ],
}

_CONFLICT: Final = {
    "relation": "sibling", "subject": SCHEMA, "full_key": "api/schema", "holder": "worker-1", "fence": 1,
    "expires_at": EXPIRES_AT, "stale": False,
}  # fmt: skip

REFUSALS: Final[Mapping[type[Refusal], Refusal]] = {
    type(refusal): refusal
    for refusal in (
        graph.Invalid({"ttl_s": ["must be from 5 to 3600"], "state": ["is set by the server alone"]}),
        graph.PlanInvalid(
            "The plan has 1 fault.",
            faults=[
                {
                    "code": "unknown_key", "path": "objectives[0].tasks[1].needs[0]", "line": 9,
                    "message": "There is no schme.", "nearest": "schema",
                }
            ],
        ),
        graph.PlanConflict("api/schema is being worked on.", nodes=[{**_WAIT, "why": "it has an open lease"}]),
        graph.NotFound("There is nothing under that id."),
        graph.NotReady("api/endpoints is pending.", state="pending", waiting_on=[_WAIT]),
        graph.WrongState("api/schema is running, not blocked.", state="running", node=SCHEMA),
        graph.Busy(),
        leases.AncestorIncomplete(
            "api above it is waiting.",
            ancestor={"id": API, "full_key": "api", "state": "pending"}, why="waiting", waiting_on=[_WAIT],
        ),
        leases.LeaseRefused(
            "api/schema (sibling) is held by worker-1.",
            **{name: value for name, value in _CONFLICT.items() if name != "full_key"}, conflicts=[_CONFLICT],
        ),
        leases.Container("api is a container: it is claimed with hand, to hold its lane."),
        leases.NotHolder(),
        leases.StaleFence("The current fence is 2.", fence=2, current_fence=2),
        leases.LeaseClosed("The lease has ended.", ended_at=EXPIRES_AT),
        leases.LeaseExpired("The lease has expired.", expires_at=EXPIRES_AT),
        leases.IdempotencyMismatch(),
        hall.Unauthenticated("The token is unknown, expired or revoked."),
        hall.Forbidden("This takes a lead token."),
        hall.MethodNotAllowed(),
        hall.NotAcceptable(),
        hall.LengthRequired(),
        hall.TooLarge(),
        hall.UnsupportedMediaType(),
        hall.Internal(),
    )
}  # fmt: skip
"""One of each kind; the tests hold this against the table of statuses."""


def refusal(kind: type[Refusal]) -> dict[str, Any]:
    """What an answer of this kind says, for example."""
    return document(REFUSALS[kind])
