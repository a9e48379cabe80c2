"""The form in which instances are stored: an earlier release, to which a stack may go back, reads it too."""

import json
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest

from signpost.model import Principal
from signpost.workflow.instance import (
    ApprovalRequest,
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
from signpost.workflow.running import serialization
from signpost.workflow.step_questions import StepQuestions

REQUEST = {
    "id", "queue", "asked_by", "asked_at", "expires_at", "state", "shown", "digest", "approved_by", "lapsed",
    "asked_before_by",
}  # fmt: skip
CLAIM = {
    "token", "standing", "job", "since", "until", "candidate", "attempt", "busy_until", "repeatable", "resumable",
    "tainted", "awaits", "child", "gives_up_at", "lost", "handed_over", "message",
}  # fmt: skip
JOB = {"transition", "principal", "is_hop", "chained"}
PRINCIPAL = {"subject", "tenant", "issuer", "roles", "permissions", "human"}
"""The members of each stored object that a release of the past knows. It fails at an object with others."""
APPROVAL = ApprovalRequest(
    "hr_1", "default", "bob", 1.0, state="asked", approved_by=frozenset({"ann"}), answers=frozenset({"note"})
)
INSTANCE = Instance(
    id="wf_1",
    definition_id="purchase",
    digest="d",
    state="asked",
    version=3,
    context={"note": "fine"},
    input={},
    started_at=1.0,
    request=APPROVAL,
    cancelled=Cancellation("bob", 2.0, "ask"),
    fault=InstanceFault("EXECUTOR_FAILED", "It failed.", "ask", None, 2.0),
)


def check_members(stored: Any, known: Collection[str]) -> None:
    assert set(stored) <= set(known), f"an earlier release cannot read {set(stored) - set(known)}"


@pytest.mark.invariant(114)
def test_an_earlier_release_reads_a_request_whose_approver_added_a_value() -> None:
    check_members(json.loads(serialization.head_text(INSTANCE))["request"], REQUEST)
    approval = OpenApproval(INSTANCE.id, INSTANCE.definition_id, APPROVAL)
    check_members(json.loads(serialization.open_approval_text(approval))["request"], REQUEST)


@pytest.mark.invariant(114)
def test_an_earlier_release_reads_a_claim_of_a_person_or_of_a_key_without_owner() -> None:
    job = Job("book", {}, Principal("bob", "acme", "issuer", frozenset({"a"}), frozenset({"b"}), human=True))
    claim = json.loads(serialization.claim_text(Claim("t", "running", job, 1.0, 2.0)))
    check_members(claim, CLAIM)
    check_members(claim["job"], JOB)
    check_members(claim["job"]["principal"], PRINCIPAL)


@pytest.mark.invariant(114)
def test_an_earlier_release_reads_a_claim_whose_function_has_asked() -> None:
    parked = Claim(
        "t",
        "waiting",
        Job("book", {}, Principal("bob", "acme", "issuer")),
        1.0,
        2.0,
        awaits="answers",
        questions=StepQuestions("q", {"size": {"method": "roots/list"}}),
    )
    text = serialization.claim_text(parked)
    check_members(json.loads(text), CLAIM)
    assert serialization.claim_of(text, "{}") == replace(parked, questions=None)
    assert serialization.claim_of(text, "{}", serialization.questions_text(parked)) == parked


@pytest.mark.invariant(114)
def test_an_earlier_release_reads_the_end_and_the_history_of_a_run() -> None:
    head = json.loads(serialization.head_text(INSTANCE))
    check_members(head["cancelled"], {"by", "at", "left"})
    check_members(head["fault"], {"code", "message", "transition", "error_class", "at"})
    write = InstanceWrite(INSTANCE, (Hop("a", "b", "c", 2),), (EvidenceItem("scan", "bob", {}),))
    history = json.loads(serialization.history_text(write))
    check_members(history["hops"][0], {"from_state", "transition", "to_state", "version"})
    check_members(history["evidence"][0], {"kind", "subject", "fields"})


@pytest.mark.parametrize("answers", [frozenset[str](), frozenset({"note", "name"})])
def test_the_answers_of_a_request_are_read_as_they_were_written(answers: frozenset[str]) -> None:
    request = replace(APPROVAL, answers=answers)
    head = serialization.head_text(replace(INSTANCE, request=request))
    assert serialization.head_of("wf_1", head).request == request
    approval = OpenApproval("wf_1", "purchase", request)
    assert serialization.open_approval_of(serialization.open_approval_text(approval)) == approval


def test_answers_that_a_release_stored_inside_the_request_are_read() -> None:
    head = json.loads(serialization.head_text(INSTANCE))
    head["request"]["answers"] = head.pop("answers")
    assert serialization.head_of("wf_1", json.dumps(head)).request == APPROVAL
