"""Opens and answers approval requests, and turns approvals into evidence."""

from collections.abc import Sequence
from dataclasses import replace

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


def open_approval_request(request: ApprovalRequest, state: str, after: Instance) -> ApprovalRequest:
    """Open the request in a state, for the context as it is now."""
    shown = tuple(request.shown) or tuple(sorted(after.context))
    digest = digest_of({name: after.context.get(name) for name in shown})
    earlier = after.request
    before = earlier.askers if earlier is not None and earlier.digest == digest else frozenset[str]()
    return replace(request, state=state, shown=shown, digest=digest, asked_before_by=before)


def answer_request(
    before: Instance, transition: Transition, gathered: Sequence[EvidenceItem]
) -> ApprovalRequest | None:
    """Return the request as it is after the transition: answered if the transition is an answer, else unchanged."""
    request = before.request
    if request is None:
        return None
    if before.open_request is not None and transition.actor == "human" and transition.decision == "reject":
        return request.after_rejection
    persons = {item.subject for item in gathered if item.kind == HUMAN_APPROVAL}
    return replace(request, approved_by=request.approved_by | persons) if persons else request
