"""Writes instances, claims and their history as text, the same for every store. The next release reads it again."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from signpost.model import JsonObject, Principal
from signpost.workflow.guards import Tally
from signpost.workflow.hash_links import HashLink
from signpost.workflow.instance import (
    ApprovalRequest,
    AuditEvent,
    AuditRecord,
    Cancellation,
    Claim,
    EvidenceItem,
    Hop,
    Instance,
    InstanceFault,
    InstanceWrite,
    Job,
    OpenApproval,
)
from signpost.workflow.task_ends import TaskEnd, TaskReply

if TYPE_CHECKING:
    from signpost.workflow.step_questions import StepQuestions

_REQUEST_SETS = ("approved_by", "asked_before_by")
_ANSWERS = "answers"
_PRINCIPAL_SETS = ("roles", "permissions")
LONGEST_READERS = 2_000
"""Characters of the `readers` that a head keeps, so that it stays short. Longer ones are read from the definition."""


def head_text(instance: Instance) -> str:
    """Write all fields of an instance except its context, input and claim; context and input may be long."""
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
        **_answers_fields(instance.request),
        **_optional_fields(instance),
    }
    return text_of(fields)


def _optional_fields(instance: Instance) -> dict[str, Any]:
    """Return the fields that most instances do not have."""
    parts: dict[str, Any] = {
        "entering": instance.entering or None,
        "starterIssuer": instance.starter_issuer or None,
        "starterOwner": instance.starter_owner or None,
        "parent": instance.parent,
        "depth": instance.depth or None,
        "releases": instance.releases or None,
        "untoldSince": instance.end_unreported_since,
        "stateEndsAt": instance.state_ends_at,
        "readers": instance.readers if len(json.dumps(instance.readers)) <= LONGEST_READERS else None,
        "cancelled": None if instance.cancelled is None else asdict(instance.cancelled),
        "fault": None if instance.fault is None else asdict(instance.fault),
        "link": None if instance.link is None else instance.link.fields,
        "task": instance.is_task or None,
    }
    return {name: part for name, part in parts.items() if part is not None}


def instance_of(workflow_id: str, head: str, context: str, input_text: str, claim: Claim | None = None) -> Instance:
    fields = json.loads(head)
    return Instance(
        id=workflow_id,
        definition_id=fields["definition"],
        digest=fields["digest"],
        state=fields["state"],
        version=fields["version"],
        context=json.loads(context),
        input=json.loads(input_text),
        started_at=fields["startedAt"],
        ends_at=fields["endsAt"],
        evidence={
            kind: Tally(tally["count"], frozenset(tally["subjects"])) for kind, tally in fields["evidence"].items()
        },
        request=None if fields["request"] is None else _request_of(fields["request"], fields),
        started_by=fields["startedBy"],
        starter_issuer=fields.get("starterIssuer", ""),
        starter_owner=fields.get("starterOwner", ""),
        entering=fields.get("entering", False),
        claim=claim,
        parent=fields.get("parent"),
        depth=fields.get("depth", 0),
        releases=fields.get("releases", 0),
        end_unreported_since=fields.get("untoldSince"),
        readers=fields.get("readers"),
        state_ends_at=fields.get("stateEndsAt"),
        cancelled=Cancellation(**fields["cancelled"]) if "cancelled" in fields else None,
        fault=InstanceFault(**fields["fault"]) if "fault" in fields else None,
        link=HashLink(**fields["link"]) if "link" in fields else None,
        is_task=fields.get("task", False),
    )


def head_of(workflow_id: str, head: str) -> Instance:
    """Read the head alone, as an instance without context, input and claim."""
    return instance_of(workflow_id, head, "{}", "{}")


def claim_text(claim: Claim) -> str:
    """Write all fields of a claim except its arguments and questions, which may be long."""
    fields = {**asdict(claim), "job": {**asdict(claim.job), "principal": _principal_fields(claim.job.principal)}}
    del fields["job"]["arguments"], fields["questions"]
    return text_of(fields)


def questions_text(claim: Claim) -> str:
    """Write the questions of a claim; empty if it has none. They stand beside the claim: an earlier release cannot read
    a claim with them."""
    return "" if claim.questions is None else text_of(asdict(claim.questions))


def claim_of(text: str, arguments: str, questions: str = "") -> Claim:
    fields: dict[str, Any] = json.loads(text)
    job: dict[str, Any] = fields["job"]
    principal: dict[str, Any] = job["principal"]
    for name in _PRINCIPAL_SETS:
        principal[name] = frozenset(principal[name])
    job |= {"principal": Principal(**principal), "arguments": json.loads(arguments)}
    fields["job"] = Job(**job)
    return Claim(**fields, questions=_questions_of(questions) if questions else None)


def _questions_of(text: str) -> "StepQuestions":
    # Imported on first use: few functions ask.
    from signpost.workflow.step_questions import StepQuestions  # noqa: PLC0415

    return StepQuestions(**json.loads(text))


def _principal_fields(principal: Principal) -> dict[str, Any]:
    fields = {**asdict(principal), **{name: sorted(getattr(principal, name)) for name in _PRINCIPAL_SETS}}
    for name in ("owner", "claims"):
        if not fields[name]:
            del fields[name]  # an earlier release cannot read it
    return fields


def _request_fields(request: ApprovalRequest) -> dict[str, Any]:
    """Return the fields of a request that every release knows: an earlier one cannot read a request with others."""
    sets = {name: sorted(getattr(request, name)) for name in _REQUEST_SETS}
    fields = {**asdict(request), **sets, "shown": list(request.shown)}
    del fields[_ANSWERS]
    return fields


def _answers_fields(request: ApprovalRequest | None) -> dict[str, Any]:
    """Return the answers of a request, which stand beside it. An earlier release ignores them there, and does not count
    an approval that follows."""
    return {_ANSWERS: sorted(request.answers)} if request is not None and request.answers else {}


def _request_of(fields: dict[str, Any], beside: Mapping[str, Any]) -> ApprovalRequest:
    members: dict[str, Any] = dict(fields)
    members["shown"] = tuple(fields["shown"])
    for name in _REQUEST_SETS:
        members[name] = frozenset(fields.get(name, ()))
    # Some releases wrote the answers into the request.
    members[_ANSWERS] = frozenset(beside.get(_ANSWERS, fields.get(_ANSWERS, ())))
    return ApprovalRequest(**members)


def open_approval_text(open_approval: OpenApproval) -> str:
    return text_of({
        "workflowId": open_approval.workflow_id,
        "definition": open_approval.definition_id,
        "request": _request_fields(open_approval.request),
        **_answers_fields(open_approval.request),
    })  # fmt: skip


def open_approval_of(text: str) -> OpenApproval:
    fields = json.loads(text)
    return OpenApproval(fields["workflowId"], fields["definition"], _request_of(fields["request"], fields))


def find_open_approval(instance: Instance) -> OpenApproval | None:
    request = instance.open_request
    return None if request is None or request.lapsed else OpenApproval(instance.id, instance.definition_id, request)


def task_end_text(end: TaskEnd) -> str:
    return text_of(asdict(end))


def task_end_of(text: str) -> TaskEnd:
    fields: dict[str, Any] = json.loads(text)
    reply: dict[str, Any] | None = fields.pop("reply")
    return TaskEnd(**fields, reply=None if reply is None else TaskReply(**reply))


def history_fields(hops: Sequence[Hop], evidence: Sequence[EvidenceItem], recorded: JsonObject) -> JsonObject:
    """Build the row of the history of a write, with further fields."""
    return {"hops": [asdict(hop) for hop in hops], "evidence": [asdict(item) for item in evidence], **recorded}


def history_text(write: InstanceWrite) -> str:
    return text_of(history_fields(write.hops, write.evidence, write.recorded))


def link_text(link: HashLink) -> str:
    return text_of(link.fields)


def link_of(text: str) -> HashLink:
    return HashLink(**json.loads(text))


def history_of(text: str) -> tuple[Sequence[Hop], Sequence[EvidenceItem]]:
    fields = json.loads(text)
    return [Hop(**hop) for hop in fields["hops"]], evidence_of(fields)


def evidence_of(fields: Mapping[str, Any]) -> Sequence[EvidenceItem]:
    """Return the evidence among the fields of a row of the history."""
    return [EvidenceItem(**item) for item in fields["evidence"]]


def audit_text(events: Sequence[AuditEvent]) -> str:
    """Write the events of one call. Its correlation id and subject, which they share, are kept beside the text."""
    return text_of([{"type": event.record.type, "payload": event.record.payload, "at": event.at} for event in events])


def audit_of(text: str, correlation_id: str, subject: str) -> Sequence[AuditEvent]:
    return [
        AuditEvent(AuditRecord(event["type"], event["payload"]), event["at"], correlation_id, subject)
        for event in json.loads(text)
    ]


def text_of(value: JsonObject | Sequence[Mapping[str, Any]]) -> str:
    """Write JSON with the members in their declared order."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
