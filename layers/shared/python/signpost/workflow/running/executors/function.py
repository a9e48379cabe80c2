"""Runs steps that call functions: each attempt is an ordinary function call, made under the claim of the step."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from signpost.calling import wire
from signpost.calling.breaker import Breaker
from signpost.calling.caller import CALLER_MARGIN, GRACE
from signpost.calling.failures import REPORTED
from signpost.calling.function_schemas import listed_output_schema
from signpost.calling.lookup import FunctionView
from signpost.calling.runtime_settings import declared_timeout_ms, placement_of
from signpost.contract import (
    CLIENT_CAPABILITIES,
    CallClient,
    CallReply,
    CallRequest,
    Failure,
    FailureClass,
    KeptResult,
    Result,
)
from signpost.errors import Unavailable
from signpost.model import InputRequired, Json, JsonObject, Principal
from signpost.schema.limits import is_too_deep
from signpost.schema.validation import SchemaRefusal, Validators
from signpost.workflow.audit_events import evidence_refused
from signpost.workflow.definition import ExecutorSpec
from signpost.workflow.engine.actors import is_engine
from signpost.workflow.engine.steps import ExecutorFailure, ExecutorOutcome
from signpost.workflow.instance import HUMAN_APPROVAL, HUMAN_REQUEST, EvidenceItem
from signpost.workflow.ports import Deferral, StepExecutor
from signpost.workflow.task_ends import TaskReply

if TYPE_CHECKING:
    from signpost.calling.ports import FunctionInvoker
    from signpost.workflow.ports import StepAttempt, StepOutcome

STILL_RUNNING_CODES = frozenset({"connection_lost", "service_error", "timed_out"})
"""Codes of failures after which the function may still be running: the caller has only stopped waiting."""
SHOWN_FAILURE_CODES = frozenset({REPORTED, "invalid_arguments"})
"""Codes of failures that the function itself states. They are results of a task; after others the task has failed."""
LONGEST_MESSAGE = 1_000
"""Characters that are kept of an executor's message about a failure."""
LARGEST_EVIDENCE = 100_000
"""Characters of JSON that one execution may give: it is kept in one row with the step."""
LONGEST_KIND = 200
NOT_SENT_FAILURE = ExecutorFailure(
    "transient_error", "The data needed to call the function could not be read. Nothing was executed."
)
ANSWERABLE: JsonObject = {name: {part: {} for part in parts} for name, parts in CLIENT_CAPABILITIES.items()}
"""The capabilities by which the questions of a step are answered: all, since the step waits for the answers."""
RESERVED_EVIDENCE = frozenset({HUMAN_APPROVAL, HUMAN_REQUEST})
"""Kinds of evidence that a function may not give: only people give them, and only by their submissions."""


class FunctionStepExecutor(StepExecutor):
    """The step executor of the kind `function`."""

    def __init__(
        self, *, functions: FunctionView, executors: "FunctionInvoker", breaker: Breaker, validators: Validators
    ) -> None:
        self._functions = functions
        self._executors = executors
        self._breaker = breaker
        self._validators = validators

    def timeout_seconds(self, executor: ExecutorSpec, principal: Principal) -> float | None:
        """Return the timeout that the author of the function or an operator has set."""
        declared = declared_timeout_ms(self._functions.state(principal.tenant, _function_of(executor)))
        return None if declared is None else declared / 1000

    def linger_seconds(self, executor: ExecutorSpec, principal: Principal) -> float:
        """Return the longest time for which Lambda lets the function run once it has begun."""
        placement = placement_of(self._functions.state(principal.tenant, _function_of(executor)))
        return 0.0 if placement is None else placement.executor.timeout_ms / 1000

    def run_attempts(self, attempt: "StepAttempt", run: Callable[[], "StepOutcome"]) -> "StepOutcome":
        """Run the attempts under the breaker, which counts a step once, regardless of the number of attempts."""
        outcomes: list[StepOutcome] = []
        has_begun = False

        def run_guarded() -> CallReply:
            nonlocal has_begun
            has_begun = True
            outcomes.append(run())
            return _as_reply(outcomes[0])

        try:
            reply = self._breaker.guard(_build_guarded_request(attempt), run_guarded)
        except Unavailable:
            if has_begun:
                raise
            return NOT_SENT_FAILURE
        return outcomes[0] if outcomes else _build_executor_failure(cast("Failure", reply))

    def perform(self, attempt: "StepAttempt") -> "StepOutcome":
        try:
            schema = self._find_listed_schema(attempt) if attempt.instance.is_task else None
            reply = self._executors.invoke(_build_call_request(attempt))
        except Unavailable:  # raised before a call is sent only; once it is sent, there always is a reply
            return NOT_SENT_FAILURE
        outcome = self._build_step_outcome(attempt, reply)
        if isinstance(outcome, Deferral) or not attempt.instance.is_task:
            return outcome
        return replace(outcome, task_reply=self._find_task_reply(reply, schema))

    def _find_listed_schema(self, attempt: "StepAttempt") -> JsonObject | None:
        placement = placement_of(self._functions.state(attempt.principal.tenant, _function_of(attempt.executor)))
        return None if placement is None else listed_output_schema(placement.hosted)

    def _find_task_reply(self, reply: CallReply, schema: JsonObject | None) -> TaskReply | None:
        """Return the reply for the client of a task; None if the client of a call that waits is not shown it either."""
        match reply:
            case Result(value):
                # Of a value that is nested too deeply the client is shown a sentence instead.
                is_shown = schema is None or is_too_deep(value) or self._is_satisfied(schema, value)
            case Failure(code=code):
                is_shown = code in SHOWN_FAILURE_CODES
            case _:
                is_shown = isinstance(reply, KeptResult)
        message = wire.reply_message(replace(reply, notices=()))
        return TaskReply(message, has_output_schema=schema is not None) if is_shown else None

    def _is_satisfied(self, schema: JsonObject, value: Json) -> bool:
        try:
            return self._validators.find_violation(schema, value) is None
        except SchemaRefusal:
            return False

    def _build_step_outcome(self, attempt: "StepAttempt", reply: CallReply) -> "StepOutcome":
        match reply:
            case Result(value, evidence):
                return _build_outcome(attempt, value, evidence)
            case KeptResult(key, size, sha256, evidence):
                # Far too long for any context: the workflow continues with the place of the result.
                return _build_outcome(attempt, {"ref": key, "size": size, "sha256": sha256}, evidence)
            case InputRequired() as required:
                return self._park(attempt, required)
            case Failure() as failure:
                return _build_executor_failure(failure)

    def _park(self, attempt: "StepAttempt", required: InputRequired) -> Deferral | ExecutorFailure:
        """Defer the step until the questions of the function are answered."""
        # Imported on first use: few functions ask.
        from signpost.workflow.engine.questions import ask  # noqa: PLC0415

        asked = ask(attempt.claim.questions, required, attempt.claim.token)
        if isinstance(asked, str):
            return ExecutorFailure("permanent_error", asked)
        return Deferral(attempt.claim.since, "answers", questions=asked)


def _function_of(executor: ExecutorSpec) -> str:
    return str(executor.settings.get("function", ""))


def _build_call_request(attempt: "StepAttempt") -> CallRequest:
    questions = attempt.claim.questions
    given: Mapping[str, Json] = {} if questions is None else questions.answers
    return CallRequest(
        function=_function_of(attempt.executor),
        arguments=attempt.arguments,
        principal=attempt.principal,
        ends_at=attempt.ends_at + GRACE + CALLER_MARGIN,  # the function has all of the attempt's time
        expires_at=attempt.claim.until,
        idempotency_key=attempt.idempotency_key,
        step=attempt.step,
        answers=given,
        state=None if questions is None else questions.state,
        client=CallClient(ANSWERABLE, can_answer=True, thread=(questions and questions.thread) or attempt.step),
    )


def _build_guarded_request(attempt: "StepAttempt") -> CallRequest:
    """Build the request for which the breaker counts. A step that the engine makes by itself, such as one after a
    deadline, counts for the starter of the workflow: the deadlines of all callers have one principal."""
    request, instance = _build_call_request(attempt), attempt.instance
    if not is_engine(attempt.principal):
        return request
    return replace(request, principal=Principal(instance.started_by, attempt.principal.tenant, instance.starter_issuer))


def _build_outcome(
    attempt: "StepAttempt", value: Json, evidence: Sequence[JsonObject]
) -> ExecutorOutcome | ExecutorFailure:
    """Build the outcome with the evidence that a function may give, in the name of the step's principal."""
    kinds = [kind for item in evidence if isinstance(kind := item.get("kind"), str)]
    if refused := sorted({kind for kind in kinds if kind in RESERVED_EVIDENCE}):
        attempt.record_event(evidence_refused(refused))
    accepted = [
        item for item in evidence if isinstance(kind := item.get("kind"), str) and kind not in RESERVED_EVIDENCE
    ]
    if len(json.dumps(accepted)) > LARGEST_EVIDENCE or any(len(kind) > LONGEST_KIND for kind in kinds):
        message = (
            f"The evidence of the function has more than {LARGEST_EVIDENCE} characters, or a kind with more than "
            f"{LONGEST_KIND} characters."
        )
        return ExecutorFailure("permanent_error", message, "unknown")
    return ExecutorOutcome(value, [_build_evidence_item(item, attempt.principal.person) for item in accepted])


def _build_evidence_item(item: JsonObject, subject: str) -> EvidenceItem:
    return EvidenceItem(str(item["kind"]), subject, {name: part for name, part in item.items() if name != "kind"})


def _build_executor_failure(failure: Failure) -> ExecutorFailure:
    return ExecutorFailure(
        failure.kind,
        failure.message[:LONGEST_MESSAGE],
        failure.outcome,
        failure.retry_after_ms,
        failure.code,
        has_ended=failure.code not in STILL_RUNNING_CODES,
        counts=failure.counts,
    )


def _as_reply(outcome: "StepOutcome") -> CallReply:
    """Return the outcome as a reply for the breaker. A deferral becomes an empty result: it is no failure yet."""
    if isinstance(outcome, ExecutorFailure):
        kind = cast("FailureClass", outcome.error_class)
        return Failure(outcome.code, kind, outcome.outcome, outcome.message, counts=outcome.counts)
    return Result(None if isinstance(outcome, Deferral) else outcome.output)
