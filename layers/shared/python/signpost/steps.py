"""Steps of workflows that functions carry out: a call of an executor like any other, under the claim of the step."""

import json
from collections.abc import Callable, Sequence
from typing import cast

from signpost.contract import Failure, FailureClass, KeptResult, Reply, Request, Result
from signpost.errors import Unavailable
from signpost.execution.breaker import Breaker
from signpost.execution.caller import GRACE, TO_ANSWER
from signpost.execution.functions import FunctionView
from signpost.execution.tuning import declared_timeout_ms, placement_of
from signpost.model import InputRequired, Json, JsonObject, Principal
from signpost.ports import Executors
from signpost.workflow.definition import Executor
from signpost.workflow.instance import HUMAN_APPROVAL, HUMAN_REQUEST, EvidenceItem
from signpost.workflow.ports import Came, Errand, Later
from signpost.workflow.steps import Failed, Outcome

FUNCTION = "function"
"""The kind of executor that a function is."""
GOES_ON = frozenset({"connection_lost", "service_error", "timed_out"})
"""Failures after which the function may still run: whoever called it has only stopped to wait."""
LONGEST_MESSAGE = 1_000
"""Characters of what an executor says about a failure."""
LARGEST_EVIDENCE = 100_000
"""Characters of JSON that one execution may give: it is kept in one row with the step."""
LONGEST_KIND = 200
NOT_SENT = Failed("transient_error", "What is needed to call the function could not be read. Nothing was executed.")
RESERVED = frozenset({HUMAN_APPROVAL, HUMAN_REQUEST})
"""Evidence that only people give, and only by what they submit."""


class FunctionSteps:
    def __init__(self, *, functions: FunctionView, executors: Executors, breaker: Breaker) -> None:
        self._functions = functions
        self._executors = executors
        self._breaker = breaker

    def seconds(self, executor: Executor, principal: Principal) -> float | None:
        """What its author or an operator said."""
        declared = declared_timeout_ms(self._functions.state(principal.tenant, _function_of(executor)))
        return None if declared is None else declared / 1000

    def lingers(self, executor: Executor, principal: Principal) -> float:
        """As long as Lambda lets it run at most, once it has begun."""
        placement = placement_of(self._functions.state(principal.tenant, _function_of(executor)))
        return 0.0 if placement is None else placement.executor.timeout_ms / 1000

    def guarded(self, errand: Errand, tries: Callable[[], Came]) -> Came:
        """A step counts once, however often it was tried."""
        came: list[Came] = []
        begun = False

        def attempt() -> Reply:
            nonlocal begun
            begun = True
            came.append(tries())
            return _as_reply(came[0])

        try:
            reply = self._breaker.guarded(_request(errand), attempt)
        except Unavailable:
            if begun:
                raise
            return NOT_SENT
        return came[0] if came else _failed(cast("Failure", reply))

    def perform(self, errand: Errand) -> Came:
        try:
            reply = self._executors.invoke(_request(errand))
        except Unavailable:  # what a call needs to be sent; once it is, there is a reply whatever happens
            return NOT_SENT
        match reply:
            case Result(value, evidence):
                return _outcome(errand, value, evidence)
            case KeptResult(key, size, sha256, evidence):
                # Far too long for any context: where it lies is what can be gone on with.
                return _outcome(errand, {"ref": key, "size": size, "sha256": sha256}, evidence)
            case InputRequired():
                message = "It asks for input, and nobody is there who could give it to a step of a workflow."
                return Failed("permanent_error", message)
            case Failure() as failure:
                return _failed(failure)


def _function_of(executor: Executor) -> str:
    return str(executor.settings.get("function", ""))


def _request(errand: Errand) -> Request:
    return Request(
        function=_function_of(errand.executor),
        arguments=errand.arguments,
        principal=errand.principal,
        ends_at=errand.ends_at + GRACE + TO_ANSWER,  # all of its time is the function's
        expires_at=errand.claim.until,
        idempotency_key=errand.idempotency_key,
        step=errand.step,
    )


def _outcome(errand: Errand, value: Json, evidence: Sequence[JsonObject]) -> Outcome | Failed:
    """With the evidence that it may give, in the name of whoever is behind the step."""
    kinds = [kind for item in evidence if isinstance(kind := item.get("kind"), str)]
    if refused := sorted({kind for kind in kinds if kind in RESERVED}):
        errand.say("evidence.refused", {"kinds": list[Json](refused)})
    given = [item for item in evidence if isinstance(kind := item.get("kind"), str) and kind not in RESERVED]
    if len(json.dumps(given)) > LARGEST_EVIDENCE or any(len(kind) > LONGEST_KIND for kind in kinds):
        message = (
            f"Its evidence has more than the {LARGEST_EVIDENCE} characters that are kept, or a kind of more than "
            f"{LONGEST_KIND}."
        )
        return Failed("permanent_error", message, "unknown")
    return Outcome(value, [_evidence(item, errand.principal.subject) for item in given])


def _evidence(item: JsonObject, subject: str) -> EvidenceItem:
    return EvidenceItem(str(item["kind"]), subject, {name: part for name, part in item.items() if name != "kind"})


def _failed(failure: Failure) -> Failed:
    return Failed(
        failure.kind,
        failure.message[:LONGEST_MESSAGE],
        failure.outcome,
        failure.retry_after_ms,
        failure.code,
        has_ended=failure.code not in GOES_ON,
        counts=failure.counts,
    )


def _as_reply(came: Came) -> Reply:
    """As the breaker wants to hear it. What goes on later says nothing yet."""
    if isinstance(came, Failed):
        kind = cast("FailureClass", came.error_class)
        return Failure(came.code, kind, came.outcome, came.message, counts=came.counts)
    return Result(None if isinstance(came, Later) else came.output)
