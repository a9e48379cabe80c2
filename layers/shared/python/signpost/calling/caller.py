"""Calls a function: finds its executor, sets the deadline, mints the token and reads the reply."""

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from signpost.calling import wire
from signpost.calling.breaker import Breaker
from signpost.calling.client_needs import reject_lacking_client
from signpost.calling.failures import failure
from signpost.calling.lookup import FunctionView
from signpost.calling.runtime_settings import placement_of, timeout_ms
from signpost.contract import CallReply, CallRequest, Failure, FunctionCall, KeptResult, Placement, TransportFailure
from signpost.model import InputRequired
from signpost.signing.capability_tokens import DEEPEST_CALL, TokenMint, grant_of

if TYPE_CHECKING:
    from signpost.calling.ports import FunctionInvoker, LambdaTransport
    from signpost.ports import Clock, Ids

GRACE = 0.3
"""Seconds to wait for a function after its deadline: its executor may just be reporting that it was stopped."""
CALLER_MARGIN = 0.2
"""Seconds before the caller's own deadline that are left for its answer."""


class FunctionCaller:
    """Makes one attempt of a call, without the breaker."""

    def __init__(
        self, *, functions: FunctionView, mint: TokenMint, link: "LambdaTransport", clock: "Clock", ids: "Ids"
    ) -> None:
        self._functions = functions
        self._mint = mint
        self._link = link
        self._clock = clock
        self._ids = ids

    def invoke(self, request: CallRequest) -> CallReply:
        state = self._functions.state(request.principal.tenant, request.function)
        placement = placement_of(state)
        if placement is None:
            return failure("unknown_function", request.function)
        if reject_lacking_client(placement.hosted, request.client) is not None:
            return failure("client_lacking", request.function)
        if request.depth > DEEPEST_CALL:
            return failure("too_deep", request.function)
        now = self._clock.now()
        deadline = min(request.ends_at - GRACE - CALLER_MARGIN, now + timeout_ms(state, placement) / 1000)
        if deadline <= now:
            return failure("late", request.function)
        call = self._build_call(request, placement, deadline)
        reply = self._deliver(call, placement, request.expires_at or deadline)
        if reply.notices and request.notify is not None:
            request.notify(request.function, reply.notices)
        return reply

    def _build_call(self, request: CallRequest, placement: Placement, deadline: float) -> FunctionCall:
        call_id = self._ids.new()
        declared, takes_client = placement.hosted.permissions, placement.hosted.takes_client
        # Executors of earlier releases take neither a client nor claims.
        principal = request.principal
        if principal.claims and not takes_client:
            principal = replace(principal, claims={})
        return FunctionCall(
            call_id=call_id,
            function=request.function,
            arguments=request.arguments,
            principal=principal,
            deadline=deadline,
            permissions=declared if request.permissions is None else declared & request.permissions,
            depth=request.depth,
            idempotency_key=request.idempotency_key,
            step=request.step,
            trace=request.trace,
            answers=request.answers,
            state=request.state,
            keep_at=f"answers/{request.principal.tenant}/{call_id}.json",
            callees=placement.hosted.callees,
            client=request.client if takes_client else None,
        )

    def _deliver(self, call: FunctionCall, placement: Placement, expires_at: float) -> CallReply:
        arn = placement.executor.arn
        token = self._mint.mint(grant_of(call, arn, expires_at))
        payload = json.dumps(wire.call_message(call, token), separators=(",", ":")).encode()
        if len(payload) > wire.LARGEST_PAYLOAD:
            return failure("request_too_large", call.function)
        answer = self._link.send(arn, payload, call.deadline + GRACE)
        return (
            failure(answer.code, call.function) if isinstance(answer, TransportFailure) else _parse_reply(answer, call)
        )


class GuardedCaller:
    """A function invoker behind the breaker, for callers that make one attempt per call."""

    def __init__(self, executors: "FunctionInvoker", breaker: Breaker) -> None:
        self._executors = executors
        self._breaker = breaker

    def invoke(self, request: CallRequest) -> CallReply:
        return self._breaker.guard(request, lambda: self._executors.invoke(request))


def _parse_reply(answer: bytes, call: FunctionCall) -> CallReply:
    try:
        reply = wire.parse_reply(answer)
    except wire.MalformedMessage:
        return failure("malformed_reply", call.function)
    if isinstance(reply, KeptResult) and reply.key != call.keep_at:
        return failure("malformed_reply", call.function)
    return _check_questions(reply, call.function) if isinstance(reply, InputRequired) else reply


def _check_questions(required: InputRequired, function: str) -> InputRequired | Failure:
    # Imported on first use: few functions ask.
    from signpost.calling.questions import find_question_fault  # noqa: PLC0415

    fault = find_question_fault(required)
    if fault is None:
        return required
    return failure("question_refused", function, message=f"{function} asked for input that is not requested: {fault}")
