"""Instances and what happened to them as text: in every store alike, and read again by the next release."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from signpost.model import JsonObject
from signpost.workflow.guards import Tally
from signpost.workflow.instance import AuditEvent, Entry, EvidenceItem, Hop, Instance, Record


def head_text(instance: Instance) -> str:
    """All that decides but context and input, which may be long."""
    fields: dict[str, Any] = {
        "definition": instance.definition_id,
        "digest": instance.digest,
        "state": instance.state,
        "version": instance.version,
        "startedAt": instance.started_at,
        "endsAt": instance.ends_at,
        "evidence": {
            kind: {"count": tally.count, "subjects": sorted(tally.subjects)}
            for kind, tally in instance.evidence.items()
        },
    }
    return text_of(fields)


def instance_of(workflow_id: str, head: str, context: str, given: str) -> Instance:
    fields = json.loads(head)
    return Instance(
        id=workflow_id,
        definition_id=fields["definition"],
        digest=fields["digest"],
        state=fields["state"],
        version=fields["version"],
        context=json.loads(context),
        input=json.loads(given),
        started_at=fields["startedAt"],
        ends_at=fields["endsAt"],
        evidence={
            kind: Tally(tally["count"], frozenset(tally["subjects"])) for kind, tally in fields["evidence"].items()
        },
    )


def history_text(entry: Entry) -> str:
    return text_of({
        "hops": [asdict(hop) for hop in entry.hops],
        "evidence": [asdict(item) for item in entry.evidence],
    })  # fmt: skip


def history_of(text: str) -> tuple[Sequence[Hop], Sequence[EvidenceItem]]:
    fields = json.loads(text)
    return [Hop(**hop) for hop in fields["hops"]], [EvidenceItem(**item) for item in fields["evidence"]]


def audit_text(events: Sequence[AuditEvent]) -> str:
    """The events of one call, which share what they say of it."""
    return text_of([{"type": event.record.type, "payload": event.record.payload, "at": event.at} for event in events])


def audit_of(text: str, correlation_id: str, subject: str) -> Sequence[AuditEvent]:
    return [
        AuditEvent(Record(event["type"], event["payload"]), event["at"], correlation_id, subject)
        for event in json.loads(text)
    ]


def text_of(value: JsonObject | Sequence[Mapping[str, Any]]) -> str:
    """In the order in which it was declared."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
