"""What the bus is told of a step."""

import json

from signpost.content import SOURCE, BusEvent
from signpost.model import JsonObject
from signpost.records import dataclass
from signpost.workflow.instance import AuditEvent

TOLD = frozenset({
    "applied",
    "approval_id",
    "attempt",
    "branchIndex",
    "by",
    "candidate",
    "chainDepth",
    "code",
    "definitionId",
    "definition_id",
    "deterministic",
    "elapsedMs",
    "errorClass",
    "expectedVersion",
    "finalState",
    "fromState",
    "guard",
    "guardIndex",
    "happened",
    "idempotencyKey",
    "kind",
    "kinds",
    "outcome",
    "passed",
    "queue",
    "requestId",
    "state",
    "steps",
    "sub_workflow_id",
    "timeoutMs",
    "timeout_ms",
    "toState",
    "transition",
    "version",
})  # fmt: skip
"""Of what a record says: names, numbers and kinds. Rules of anybody in the account read it."""
NOT_TOLD = frozenset({"error", "message", "previousError"})
"""A sentence about what went wrong may quote arguments, which are for who may see the workflow."""


@dataclass(frozen=True, slots=True)
class Happened:
    """An event of the audit, and of whose workflow."""

    tenant: str
    workflow_id: str
    event: AuditEvent


def bus_event(happened: Happened) -> BusEvent:
    event = happened.event
    about: JsonObject = {
        "workflowId": happened.workflow_id,
        "correlationId": event.correlation_id,
        "at": event.at,
        "actor": event.subject,
    }
    told = {name: value for name, value in event.record.payload.items() if name in TOLD}
    return BusEvent(
        source=SOURCE,
        type=event.record.type,
        detail=json.dumps({**told, **about}, ensure_ascii=False),
        resources=(f"urn:signpost:instance:{happened.workflow_id}", f"urn:signpost:tenant:{happened.tenant}"),
    )
