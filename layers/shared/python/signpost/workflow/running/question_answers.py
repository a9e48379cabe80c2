"""Applies the answers to the questions of a parked step: keeps them and, once no question is open, runs the step again.

The answers are written before the step runs, with a wake: if the process dies in between, a worker runs it. Import this
module on first use: few functions ask.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from signpost.model import Principal
from signpost.workflow.audit_events import executor_answered
from signpost.workflow.engine.admission import build_busy_refusal, build_stale_refusal
from signpost.workflow.engine.permissions import ANSWER, MAY_RESOLVE, is_denied, may_answer
from signpost.workflow.engine.questions import find_answer_fault, names_other_questions, take_answers
from signpost.workflow.engine.steps import QuestionAnswers, Refusal, Resumption, Step, Submission
from signpost.workflow.instance import Claim, Instance
from signpost.workflow.running.overrides import build_refused_step
from signpost.workflow.step_questions import StepQuestions

if TYPE_CHECKING:
    from signpost.schema.validation import Validators
    from signpost.workflow.definition import Definition
    from signpost.workflow.running.step_writer import StepContext, StepWriter


type Answering = Submission | QuestionAnswers
"""A submission of `$answer` has to answer all open questions, a client may answer some of them."""


def apply_answers(writer: "StepWriter", context: "StepContext", instance: Instance, given: Answering) -> Step | None:
    """Keep the answers, and run the step again if no question is left. Return the step as it was written; None if
    another request has changed the instance first."""
    now, validators = writer.services.clock.now(), writer.engine.validators
    refusal = _find_refusal(context.definition, instance, given, validators, now)
    if refusal is not None:
        return _refuse(writer, context, instance, given, refusal)
    claim, questions = _open_questions(instance)
    responses = given.arguments if isinstance(given, Submission) else given.responses
    answered = take_answers(claim, questions, responses, validators, now)
    if answered is None:
        return Step(instance, given.principal, now, since=instance.version)
    if isinstance(answered, str):
        return _refuse(writer, context, instance, given, Refusal("INPUT_SCHEMA_VIOLATION", answered, ANSWER))
    kept = _keep(writer, context, instance, given, replace(answered, token=writer.ids.new()))
    return None if kept is None else _run_again(writer, context, kept, given.principal)


def _refuse(
    writer: "StepWriter", context: "StepContext", instance: Instance, given: Answering, refusal: Refusal
) -> Step | None:
    refused = build_refused_step(instance, given.principal, refusal, writer.services.clock.now())
    written = writer.write_step(context, refused, instance)
    return None if written is None else written.step


def _keep(
    writer: "StepWriter", context: "StepContext", instance: Instance, given: Answering, answered: Claim
) -> Instance | None:
    """Write the answers; return the instance with them, or None if another request has changed it first."""
    _, questions = _open_questions(instance)
    left = 0 if answered.questions is None else len(answered.questions.requests)
    record = executor_answered(
        answered.job.transition, given.principal.subject, questions.round, len(questions.requests) - left
    )
    now = writer.services.clock.now()
    step = Step(replace(instance, claim=answered), given.principal, now, records=(record,), since=instance.version)
    return writer.write_claim(context, step, instance)


def _run_again(writer: "StepWriter", context: "StepContext", kept: Instance, principal: Principal) -> Step:
    """Run the step again if all questions are answered. If a worker was faster, the step is pending."""
    now, claim = writer.services.clock.now(), kept.claim
    waiting = Step(kept, principal, now, since=kept.version)
    if claim is None or claim.is_parked:
        return waiting
    resumed = writer.resumer.resume(context.definition, kept, Resumption(claim.job), now)
    written = writer.write_step(context, resumed, kept, replace(claim, token=writer.ids.new()))
    return waiting if written is None else written.step


def _open_questions(instance: Instance) -> tuple[Claim, StepQuestions]:
    claim = instance.claim
    assert claim is not None  # noqa: S101 - an instance without a parked step was refused
    assert claim.questions is not None  # noqa: S101 - a parked step has questions
    return claim, claim.questions


def _find_refusal(
    definition: "Definition", instance: Instance, given: Answering, validators: "Validators", now: float
) -> Refusal | None:
    claim = instance.claim
    if isinstance(given, Submission) and given.expected_version != instance.version:
        return build_stale_refusal(instance, given)
    if claim is not None and not claim.is_parked:
        return build_busy_refusal(claim, instance.version, ANSWER, now)
    if claim is None or claim.questions is None:
        return Refusal("INVALID_TRANSITION", "No step of this workflow has open questions.", ANSWER)
    return _find_permission_refusal(definition, instance, claim, given.principal) or _find_fault(
        claim.questions, given, validators
    )


def _find_permission_refusal(
    definition: "Definition", instance: Instance, claim: Claim, principal: Principal
) -> Refusal | None:
    if is_denied(definition, instance, claim):
        return Refusal("GUARD_REJECTED", "Policy does not allow you to continue this step.", ANSWER)
    if may_answer(instance, claim, principal):
        return None
    message = (
        f"Only the principal that began {claim.job.transition} can answer its questions without the permission "
        f"{MAY_RESOLVE}."
    )
    return Refusal("GUARD_REJECTED", message, ANSWER)


def _find_fault(questions: StepQuestions, given: Answering, validators: "Validators") -> Refusal | None:
    if not isinstance(given, Submission):
        return None
    if names_other_questions(questions, given.arguments):
        message = "The step has asked other questions since you read the workflow. Read it again."
        return Refusal("STALE_WORKFLOW_VERSION", message, ANSWER)
    fault = find_answer_fault(questions, given.arguments, validators)
    return None if fault is None else Refusal("INPUT_SCHEMA_VIOLATION", fault, ANSWER)
