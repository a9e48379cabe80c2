"""Shows runs and approval requests as items of a list: by their summaries, without any value of a run."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from signpost.model import Json, JsonObject
from signpost.surfaces.gateway.tool_specs import APPROVAL, RUN, self_link
from signpost.workflow.instance import ApprovalRequest
from signpost.workflow.run_summary import RunSummary, WaitingFor

if TYPE_CHECKING:
    from signpost.ports import TimeFormat

_WAITING_SENTENCES: Mapping[WaitingFor, str] = {
    "agent": "Waits for the next transition.",
    "human": "Waits for a person.",
    "executor": "A step is under way.",
    "retry": "Waits until a step is repeated.",
    "workflow": "Waits for another run.",
    "chain": "Automatic steps are under way.",
    "answers": "Waits for answers to the questions of a step.",
    "in_doubt": "Waits until a step with an unknown result is resolved.",
}


def build_run_item(summary: RunSummary, times: "TimeFormat", *, is_mine: bool) -> JsonObject:
    optional: dict[str, Json] = {
        "capability": summary.capability,
        "waitingFor": summary.waiting,
        "fault": summary.fault,
        "parent": summary.parent,
        "terminal": summary.waiting is None,
        "mine": is_mine,
    }
    return {
        "id": summary.workflow_id,
        "kind": RUN,
        "title": summary.title,
        "description": _describe_run(summary, times),
        "tags": [],
        "definitionId": summary.definition_id,
        "state": summary.state,
        "version": summary.version,
        "startedAt": times.text_of(summary.started_at),
        "changedAt": times.text_of(summary.changed_at),
        **{name: value for name, value in optional.items() if value},
        "links": [self_link(summary.workflow_id)],
    }


def _describe_run(summary: RunSummary, times: "TimeFormat") -> str:
    parts = [f"In state {summary.state}, changed at {times.text_of(summary.changed_at)}."]
    if summary.fault:
        parts.append(f"Its last step failed ({summary.fault}).")
    if summary.cancelled:
        parts.append("It was cancelled.")
    parts.append("It has ended." if summary.waiting is None else _WAITING_SENTENCES[summary.waiting])
    if summary.parent is not None:
        parts.append(f"It is part of the run {summary.parent}.")
    return " ".join(parts)


def build_request_item(summary: RunSummary, request: ApprovalRequest, times: "TimeFormat") -> JsonObject:
    expiry = {} if request.expires_at is None else {"expiresAt": times.text_of(request.expires_at)}
    return {
        "id": request.id,
        "kind": APPROVAL,
        "title": summary.title,
        "description": _describe_request(summary, request, times),
        "tags": [],
        "workflowId": summary.workflow_id,
        "definitionId": summary.definition_id,
        "state": summary.state,
        "queue": request.queue,
        "askedBy": request.asked_by,
        "askedAt": times.text_of(request.asked_at),
        **expiry,
        "approvedBy": sorted(request.approved_by),
        "shows": list(request.shown),
        "digest": request.digest,
        "decisions": [decision.transition for decision in summary.decisions],
        "links": [self_link(summary.workflow_id)],
    }


def _describe_request(summary: RunSummary, request: ApprovalRequest, times: "TimeFormat") -> str:
    until = "" if request.expires_at is None else f", to be answered until {times.text_of(request.expires_at)}"
    answers = " or ".join(decision.transition for decision in summary.decisions)
    return (
        f"{request.asked_by} asked for approval at {times.text_of(request.asked_at)} in the queue {request.queue}"
        f"{until}. The run is in state {summary.state}.{f' A person answers by {answers}.' if answers else ''}"
    )
