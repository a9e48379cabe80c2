"""Opens and answers approval requests, and turns approvals into evidence."""

from collections.abc import Sequence
from dataclasses import replace

from signpost.model import JsonObject
from signpost.workflow.definition import Transition
from signpost.workflow.instance import HUMAN_APPROVAL, ApprovalRequest, EvidenceItem, Instance, digest_of


def approval_evidence_of(transition: Transition, instance: Instance, subject: str) -> Sequence[EvidenceItem]:
    """Return the evidence that a person gives by taking a transition. It counts if the transition approves an open
    request and the context still shows the values that the request is about."""
    request = instance.open_request
    if request is None or transition.actor != "human" or transition.decision != "approve":
        return ()
    if not request.is_about(instance.context):
        return ()
    return (EvidenceItem(HUMAN_APPROVAL, subject, {"id": request.id, "digest": request.digest}),)


def find_answer_refusal(transition: Transition, instance: Instance, now: float) -> str | None:
    """Return a sentence that says why the open request cannot be answered by this transition of a person; None if it
    can, or if there is no open request."""
    request = instance.open_request
    if request is None or transition.actor != "human":
        return None
    if request.has_expired(now):
        return "The approval request has expired without an answer. Ask for approval again."
    if transition.decision == "approve" and not request.is_about(instance.context):
        return "The values to approve have changed since approval was requested. Ask for approval again."
    return None


def open_approval_request(request: ApprovalRequest, state: str, after: Instance) -> ApprovalRequest:
    """Open the request in a state, for the context as it is now."""
    digest = digest_of(request.select_values(after.context))
    earlier = after.request
    before = earlier.askers if earlier is not None and earlier.digest == digest else frozenset[str]()
    return replace(request, state=state, digest=digest, asked_before_by=before)


def answer_request(
    before: Instance, transition: Transition, gathered: Sequence[EvidenceItem], context: JsonObject
) -> ApprovalRequest | None:
    """Return the request as it is after the transition: answered if the transition is an answer, else unchanged."""
    request = before.request
    if request is None:
        return None
    if before.open_request is not None and transition.actor == "human" and transition.decision == "reject":
        return request.after_rejection
    persons = frozenset(item.subject for item in gathered if item.kind == HUMAN_APPROVAL)
    if not persons:
        return request
    if request.shown:
        return replace(request, approved_by=request.approved_by | persons)
    return _approve_whole(request, persons, before.context, context)


def _approve_whole(
    request: ApprovalRequest, persons: frozenset[str], before: JsonObject, after: JsonObject
) -> ApprovalRequest:
    """Add an approval of the whole context, with what the approver has written into it. If that is more than the first
    approver has added, no other person has approved these values yet."""
    digest = digest_of(request.select_values(after))
    written = {name for name in after if name not in before or before[name] != after[name]}
    if request.approved_by and written <= request.answers:
        return replace(request, approved_by=request.approved_by | persons, digest=digest)
    return replace(request, approved_by=persons, digest=digest, answers=frozenset(after.keys() - before.keys()))
