"""What answers look like, as JSON Schema. The tests hold every answer they get against these."""

from collections.abc import Mapping
from typing import Any, Final

from graph.events import TYPES
from graph.states import State
from leases.models import AttemptOutcome, RunOutcome

Schema = dict[str, Any]


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def record(**properties: Schema) -> Schema:
    """An object with exactly these members."""
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def or_null(schema: Schema) -> Schema:
    if "$ref" in schema:
        return {"oneOf": [schema, {"type": "null"}]}
    nullable = {**schema, "type": [schema["type"], "null"]}
    if "enum" in schema:
        nullable["enum"] = [*schema["enum"], None]
    return nullable


def listing(item: str) -> Schema:
    return record(results=array(ref(item)), next=or_null(URL))


TEXT: Final[Schema] = {"type": "string"}
FLAG: Final[Schema] = {"type": "boolean"}
WHOLE: Final[Schema] = {"type": "integer"}
SECONDS: Final[Schema] = {"type": "number", "description": "seconds"}
INSTANT: Final[Schema] = {"type": "string", "format": "date-time", "description": "UTC, with microseconds"}
URL: Final[Schema] = {"type": "string", "format": "uri"}
ID: Final[Schema] = {"type": "string", "pattern": "^[0-7][0-9A-HJKMNP-TV-Z]{25}$", "description": "a ULID"}
IDS: Final = array(ID)
STATE: Final[Schema] = {"type": "string", "enum": [state.value for state in State]}
ANY: Final[Schema] = {"description": "any JSON"}
COUNTS: Final = record(**{state.value: {"type": "integer", "minimum": 0} for state in State})


def _ends(outcomes: type[RunOutcome] | type[AttemptOutcome]) -> Schema:
    return {"type": ["string", "null"], "enum": [*[end.value for end in outcomes if end], None]}


_NODE: Final[Mapping[str, Schema]] = {
    "id": ID,
    "key": TEXT,
    "full_key": {"type": "string", "description": "objective, or objective/task"},
    "title": TEXT,
    "kind": {"type": "string", "enum": ["objective", "task"]},
    "state": STATE,
    "plan": ID,
    "objective": {**ID, "description": "its lane; an objective's own id"},
    "parent": or_null(ID),
    "leaf": FLAG,
    "position": {"type": "integer", "description": "in the walk of its plan"},
}
_WAIT: Final[Mapping[str, Schema]] = {"id": ID, "full_key": TEXT, "title": TEXT, "state": STATE}
_OPEN_LEASE: Final[Mapping[str, Schema]] = {
    "id": ID,
    "subject": ID,
    "full_key": TEXT,
    "title": TEXT,
    "plan": ID,
    "objective": ID,
    "moves_with": {**or_null(ID), "description": "of an objective's lease: the task's lease it was taken with"},
    "holder": TEXT,
    "fence": WHOLE,
    "generation": {"type": "integer", "description": "of the lane's clone"},
    "ttl_s": {"type": "integer", "description": "seconds"},
    "acquired_at": INSTANT,
    "beat_at": {**INSTANT, "description": "of the claim or the last heartbeat"},
    "expires_at": INSTANT,
    "live": FLAG,
    "stale": {"type": "boolean", "description": "expired and not recovered"},
    "progress": TEXT,
}
_TIMED_LEASE: Final[Mapping[str, Schema]] = {**_OPEN_LEASE, "expires_in_s": SECONDS, "age_s": SECONDS}
_LISTS: Final = ("became_ready", "demoted", "running_dependents", "settled_dependents")

COMPONENTS: Final[Mapping[str, Schema]] = {
    # Nodes
    "Node": record(**_NODE),
    "NodePage": listing("Node"),
    "Wait": record(**_WAIT),
    "Ancestor": record(**_WAIT, waiting_on=array(ref("Wait"))),
    "Edge": record(id=ID, waived=FLAG, waive_reason=TEXT, node=ref("Wait")),
    "NodeDetail": record(
        **_NODE,
        body={"type": "string", "description": "Markdown for the worker"},
        clone=record(repo=or_null(TEXT), ref=or_null(TEXT)),
        rejections={"type": "integer", "description": "since the node last became claimable"},
        stale_ends={"type": "integer", "description": "stale claims that were ended, since the same moment"},
        marks=array({"type": "string", "enum": ["stale", "held", "upstream_reopened"]}),
        waiting_on=array(ref("Wait")),
        ancestors={**array(ref("Ancestor")), "description": "topmost first"},
        upstream_reopened=array(record(**_WAIT, edge=ID)),
        children=array(ref("Node")),
        needs=array(ref("Edge")),
        needed_by=array(ref("Edge")),
        lease=or_null(ref("TimedLease")),
        runs={**array(ref("Run")), "description": "newest first"},
        left_off={
            "type": "object",
            "additionalProperties": WHOLE,
            "description": "how many entries of a list are not shown, by its name; empty for almost every node",
        },
    ),
    # Leases and what they grant
    "Lease": record(id=ID, subject=ID, fence=WHOLE, expires_at=INSTANT, expires_in_s=SECONDS),
    "Input": record(
        full_key=TEXT,
        outcome={"type": ["string", "null"], "enum": ["done", "partial", "cancelled", None]},
        summary=or_null(TEXT),
        result=ANY,
    ),
    "Grant": record(
        node=record(**_NODE, body=TEXT),
        lease=ref("Lease"),
        objective_lease=ref("Lease"),
        run={**or_null(record(id=ID)), "description": "null for a lane that is held by hand, as is `attempt`"},
        objective_run=record(id=ID, adopted=FLAG),
        attempt=or_null(record(id=ID, number=WHOLE)),
        heartbeat_every_s=SECONDS,
        inputs=array(ref("Input")),
        clone=record(repo=or_null(TEXT), ref=or_null(TEXT), dir=TEXT),
    ),
    "Beat": record(
        expires_at=INSTANT, expires_in_s=SECONDS, asks=array({"type": "string", "enum": ["upstream_reopened"]})
    ),
    "Reported": record(node=ref("Node"), became_ready=IDS),
    "Rejected": record(
        node=ref("Node"),
        attempt={**or_null(record(id=ID, number=WHOLE)), "description": "the next one; null when the node is blocked"},
    ),
    "Released": record(node=ref("Node")),
    "Edited": record(node=ref("Node"), **dict.fromkeys(_LISTS, IDS)),
    "OpenLease": record(**_OPEN_LEASE),
    "LeasePage": listing("OpenLease"),
    "TimedLease": record(**_TIMED_LEASE),
    "StaleLease": record(**_TIMED_LEASE, act=record(verb=TEXT, node=ID, command=TEXT)),
    "Status": record(
        now=INSTANT,
        counts={**COUNTS, "description": "leaves by state"},
        containers={**COUNTS, "description": "containers by state"},
        live=array(ref("TimedLease")),
        stale=array(ref("StaleLease")),
    ),
    "Attempt": record(
        id=ID,
        number=WHOLE,
        opened_at=INSTANT,
        closed_at=or_null(INSTANT),
        outcome=_ends(AttemptOutcome),
        reason=TEXT,
    ),
    "Run": record(
        id=ID,
        lease=ID,
        holder=TEXT,
        fence=WHOLE,
        opened_at=INSTANT,
        closed_at=or_null(INSTANT),
        outcome=_ends(RunOutcome),
        summary=TEXT,
        result=ANY,
        attempts=array(ref("Attempt")),
    ),
    # Plans
    "Plan": record(
        id=ID,
        name=TEXT,
        created_at=INSTANT,
        imported_at={**INSTANT, "description": "of the last import that changed something"},
        counts={**COUNTS, "description": "leaves by state"},
        containers={**COUNTS, "description": "containers by state"},
    ),
    "PlanPage": listing("Plan"),
    "Arrow": record(id=ID, dependent=ID, dependency=ID, waived=FLAG),
    "Graph": record(
        plan=record(id=ID, name=TEXT), nodes=array(ref("Node")), edges=array(ref("Arrow")), next=or_null(URL)
    ),
    "Fault": record(code=TEXT, path=TEXT, line=or_null(WHOLE), message=TEXT, nearest=or_null(TEXT)),
    "Imported": record(
        plan=or_null(ID),
        name=TEXT,
        created=FLAG,
        changed=FLAG,
        dry_run=FLAG,
        counts={"type": "object", "additionalProperties": WHOLE, "description": "how long each list is as a whole"},
        added=array(TEXT),
        updated=array(record(node=TEXT, fields=array(TEXT))),
        edges_added=array(record(node=TEXT, needs=TEXT)),
        edges_removed=array(record(node=TEXT, needs=TEXT)),
        reopened=array(TEXT),
        regressed=array(TEXT),
        pruned=array(TEXT),
        missing={**array(TEXT), "description": "what the file no longer has"},
        left={**array(record(node=TEXT, fields=array(TEXT))), "description": "differences on settled nodes"},
        warnings=array(ref("Fault")),
        **dict.fromkeys(_LISTS, IDS),
    ),
    # Events
    "Event": record(
        seq=WHOLE,
        type={"type": "string", "enum": sorted(TYPES)},
        at=INSTANT,
        actor=TEXT,
        **dict.fromkeys(("plan", "objective", "node", "lease", "run", "attempt"), or_null(ID)),
        reason=TEXT,
        data={"type": "object"},
    ),
    "EventPage": record(
        results=array(ref("Event")),
        next=or_null(URL),
        cursor={"type": "string", "description": "to be given as `after`"},
    ),
    # Refusals
    "Problem": {
        "type": "object",
        "description": "RFC 9457; the code says which further members there are.",
        "properties": {
            "type": URL,
            "title": TEXT,
            "status": WHOLE,
            "detail": TEXT,
            "code": {"type": "string", "description": "what a program goes by"},
        },
        "required": ["type", "title", "status", "detail", "code"],
    },
}
