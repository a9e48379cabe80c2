"""The workflow events of the workflows table's stream."""

from collections.abc import Sequence

from signpost.adapters import keys
from signpost.adapters.dynamodb.rows import Row
from signpost.workflow.running.bus_events import WorkflowAuditEvent
from signpost.workflow.running.serialization import audit_of, link_of


def workflow_events_in(image: Row) -> Sequence[WorkflowAuditEvent]:
    if not image["sk"]["S"].startswith(keys.AUDIT):
        return ()
    tenant, workflow_id = keys.instance_of(image["pk"]["S"])
    events = audit_of(image["text"]["S"], image["correlation"]["S"], image["subject"]["S"])
    return [WorkflowAuditEvent(tenant, workflow_id, event, _hash_in(image)) for event in events]


def _hash_in(image: Row) -> str:
    return link_of(image["link"]["S"]).hash if "link" in image else image.get("hash", {"S": ""})["S"]
