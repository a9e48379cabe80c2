"""Builds the bus events of audit events."""

import json

from signpost.content.model import EVENT_SOURCE, BusEvent
from signpost.model import JsonObject
from signpost.records import dataclass
from signpost.workflow.audit_events import PUBLISHED_FIELDS
from signpost.workflow.instance import AuditEvent


@dataclass(frozen=True, slots=True)
class WorkflowAuditEvent:
    """An audit event, and the tenant and workflow that it belongs to."""

    tenant: str
    workflow_id: str
    event: AuditEvent
    hash: str = ""
    """The hash of the write that recorded it; empty if a release without hashes did."""


def build_bus_event(audit_event: WorkflowAuditEvent) -> BusEvent:
    event = audit_event.event
    origin: JsonObject = {
        "workflowId": audit_event.workflow_id,
        "correlationId": event.correlation_id,
        "at": event.at,
        "actor": event.subject,
        **({"hash": audit_event.hash} if audit_event.hash else {}),
    }
    published = {name: value for name, value in event.record.payload.items() if name in PUBLISHED_FIELDS}
    return BusEvent(
        source=EVENT_SOURCE,
        type=event.record.type,
        detail=json.dumps({**published, **origin}, ensure_ascii=False),
        resources=(f"urn:signpost:instance:{audit_event.workflow_id}", f"urn:signpost:tenant:{audit_event.tenant}"),
    )
