"""What people are asked to approve, as steps open and answer it."""

from collections.abc import Sequence
from dataclasses import replace

from signpost.workflow.definition import Transition
from signpost.workflow.instance import HUMAN_APPROVAL, EvidenceItem, Instance, Request, digest_of


def approval(transition: Transition, instance: Instance, subject: str) -> Sequence[EvidenceItem]:
    """What a person says by taking a transition counts, if it says yes to what the context still shows."""
    request = instance.waits_for
    if request is None or transition.actor != "human" or transition.decision != "approve":
        return ()
    if not request.is_about(instance.context):
        return ()
    return (EvidenceItem(HUMAN_APPROVAL, subject, {"id": request.id, "digest": request.digest}),)


def asked(request: Request, state: str, after: Instance) -> Request:
    """With what is to be approved, as it is now."""
    shown = tuple(request.shown) or tuple(sorted(after.context))
    digest = digest_of({name: after.context.get(name) for name in shown})
    earlier = after.request
    before = earlier.askers if earlier is not None and earlier.digest == digest else frozenset[str]()
    return replace(request, state=state, shown=shown, digest=digest, asked_before_by=before)


def answered(before: Instance, transition: Transition, gathered: Sequence[EvidenceItem]) -> Request | None:
    """The request after what somebody has said to it, if this is an answer."""
    request = before.request
    if request is None:
        return None
    if before.waits_for is not None and transition.actor == "human" and transition.decision == "reject":
        return request.rejected
    persons = {item.subject for item in gathered if item.kind == HUMAN_APPROVAL}
    return replace(request, approved_by=request.approved_by | persons) if persons else request
