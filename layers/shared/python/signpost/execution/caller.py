"""A call of a function: where it runs, how long it may take, the token that allows it, and what came of it."""

import json

from signpost.contract import FunctionCall, KeptResult, Placement, Reply, Request, Undelivered
from signpost.execution import wire
from signpost.execution.breaker import Breaker
from signpost.execution.failures import failure
from signpost.execution.functions import FunctionView
from signpost.execution.tuning import placement_of, timeout_ms
from signpost.policy.capabilities import DEEPEST, TokenMint, capability_of
from signpost.ports import Clock, Executors, Ids, Link

GRACE = 0.3
"""Seconds after its deadline that a function is waited for: its executor may just be saying that it was stopped."""
TO_ANSWER = 0.2
"""Seconds that whoever called keeps for itself."""


class FunctionCaller:
    def __init__(self, *, functions: FunctionView, mint: TokenMint, link: Link, clock: Clock, ids: Ids) -> None:
        self._functions = functions
        self._mint = mint
        self._link = link
        self._clock = clock
        self._ids = ids

    def invoke(self, request: Request) -> Reply:
        state = self._functions.state(request.principal.tenant, request.function)
        placement = placement_of(state)
        if placement is None:
            return failure("unknown_function", request.function)
        if request.depth > DEEPEST:
            return failure("too_deep", request.function)
        now = self._clock.now()
        deadline = min(request.ends_at - GRACE - TO_ANSWER, now + timeout_ms(state, placement) / 1000)
        if deadline <= now:
            return failure("late", request.function)
        return self._deliver(self._call(request, placement, deadline), placement, request.expires_at or deadline)

    def _call(self, request: Request, placement: Placement, deadline: float) -> FunctionCall:
        call_id = self._ids.new()
        declared = placement.hosted.permissions
        return FunctionCall(
            call_id=call_id,
            function=request.function,
            arguments=request.arguments,
            principal=request.principal,
            deadline=deadline,
            permissions=declared if request.permissions is None else declared & request.permissions,
            depth=request.depth,
            idempotency_key=request.idempotency_key,
            step=request.step,
            trace=request.trace,
            answers=request.answers,
            state=request.state,
            keep_at=f"answers/{request.principal.tenant}/{call_id}.json",
        )

    def _deliver(self, call: FunctionCall, placement: Placement, expires_at: float) -> Reply:
        arn = placement.executor.arn
        token = self._mint.mint(capability_of(call, arn, expires_at))
        payload = json.dumps(wire.call_message(call, token), separators=(",", ":")).encode()
        if len(payload) > wire.LARGEST_PAYLOAD:
            return failure("request_too_large", call.function)
        answer = self._link.send(arn, payload, call.deadline + GRACE)
        return failure(answer.code, call.function) if isinstance(answer, Undelivered) else _reply(answer, call)


class GuardedCaller:
    """The same behind the breaker of the function, for callers whose every attempt counts."""

    def __init__(self, executors: Executors, breaker: Breaker) -> None:
        self._executors = executors
        self._breaker = breaker

    def invoke(self, request: Request) -> Reply:
        return self._breaker.guarded(request, lambda: self._executors.invoke(request))


def _reply(answer: bytes, call: FunctionCall) -> Reply:
    try:
        reply = wire.reply_of(answer)
    except wire.NotOurs:
        return failure("malformed_reply", call.function)
    if isinstance(reply, KeptResult) and reply.key != call.keep_at:
        return failure("malformed_reply", call.function)
    return reply
