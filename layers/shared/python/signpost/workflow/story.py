"""Instances and what happened to them as text: in every store alike, and read again by the next release."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from signpost.model import JsonObject, Principal
from signpost.workflow.guards import Tally
from signpost.workflow.instance import (
    AuditEvent,
    Cancelled,
    Claim,
    Entry,
    EvidenceItem,
    Fault,
    Hop,
    Instance,
    Job,
    Record,
    Request,
    Waiting,
)

_SETS = ("approved_by", "asked_before_by")
_OF_PRINCIPALS = ("roles", "permissions")


def head_text(instance: Instance) -> str:
    """All that decides but context and input, which may be long."""
    fields: dict[str, Any] = {
        "definition": instance.definition_id,
        "digest": instance.digest,
        "state": instance.state,
        "version": instance.version,
        "startedAt": instance.started_at,
        "startedBy": instance.started_by,
        "endsAt": instance.ends_at,
        "evidence": {
            kind: {"count": tally.count, "subjects": sorted(tally.subjects)}
            for kind, tally in instance.evidence.items()
        },
        "request": None if instance.request is None else _request_fields(instance.request),
        **_unusual(instance),
    }
    return text_of(fields)


def _unusual(instance: Instance) -> dict[str, Any]:
    """What most instances have nothing of."""
    parts: dict[str, Any] = {
        "entering": instance.entering or None,
        "starterIssuer": instance.starter_issuer or None,
        "parent": instance.parent,
        "depth": instance.depth or None,
        "releases": instance.releases or None,
        "untoldSince": instance.untold_since,
        "cancelled": None if instance.cancelled is None else asdict(instance.cancelled),
        "fault": None if instance.fault is None else asdict(instance.fault),
    }
    return {name: part for name, part in parts.items() if part is not None}


def instance_of(workflow_id: str, head: str, context: str, given: str, claim: Claim | None = None) -> Instance:
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
        request=None if fields["request"] is None else _request_of(fields["request"]),
        started_by=fields["startedBy"],
        starter_issuer=fields.get("starterIssuer", ""),
        entering=fields.get("entering", False),
        claim=claim,
        parent=fields.get("parent"),
        depth=fields.get("depth", 0),
        releases=fields.get("releases", 0),
        untold_since=fields.get("untoldSince"),
        cancelled=Cancelled(**fields["cancelled"]) if "cancelled" in fields else None,
        fault=Fault(**fields["fault"]) if "fault" in fields else None,
    )


def claim_text(claim: Claim) -> str:
    """All of it but the arguments, which may be long."""
    fields = {**asdict(claim), "job": {**asdict(claim.job), "principal": _principal_fields(claim.job.principal)}}
    del fields["job"]["arguments"]
    return text_of(fields)


def claim_of(text: str, arguments: str) -> Claim:
    fields: dict[str, Any] = json.loads(text)
    job: dict[str, Any] = fields["job"]
    principal: dict[str, Any] = job["principal"]
    for name in _OF_PRINCIPALS:
        principal[name] = frozenset(principal[name])
    job |= {"principal": Principal(**principal), "arguments": json.loads(arguments)}
    fields["job"] = Job(**job)
    return Claim(**fields)


def _principal_fields(principal: Principal) -> dict[str, Any]:
    return {**asdict(principal), **{name: sorted(getattr(principal, name)) for name in _OF_PRINCIPALS}}


def _request_fields(request: Request) -> dict[str, Any]:
    sets = {name: sorted(getattr(request, name)) for name in _SETS}
    return {**asdict(request), **sets, "shown": list(request.shown)}


def _request_of(fields: dict[str, Any]) -> Request:
    read: dict[str, Any] = dict(fields)
    read["shown"] = tuple(fields["shown"])
    for name in _SETS:
        read[name] = frozenset(fields[name])
    return Request(**read)


def waiting_text(waiting: Waiting) -> str:
    return text_of({
        "workflowId": waiting.workflow_id,
        "definition": waiting.definition_id,
        "request": _request_fields(waiting.request),
    })  # fmt: skip


def waiting_of(text: str) -> Waiting:
    fields = json.loads(text)
    return Waiting(fields["workflowId"], fields["definition"], _request_of(fields["request"]))


def open_request(instance: Instance) -> Waiting | None:
    request = instance.waits_for
    return None if request is None or request.lapsed else Waiting(instance.id, instance.definition_id, request)


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
