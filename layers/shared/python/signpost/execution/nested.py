"""Calls from one function to another: they come back to the gateway, which grants no more than the caller had."""

from signpost.contract import Failure, Reply, Request
from signpost.execution import wire
from signpost.execution.failures import failure
from signpost.execution.function_access import FunctionAccess
from signpost.model import JsonObject, as_object
from signpost.policy.capabilities import DEEPEST, Capability, TokenMint
from signpost.ports import Clock, Executors


class NestedCalls:
    def __init__(self, *, mint: TokenMint, executors: Executors, access: FunctionAccess, clock: Clock) -> None:
        self._mint = mint
        self._access = access
        self._executors = executors
        self._clock = clock

    def answer(self, message: JsonObject, ends_at: float) -> JsonObject:
        return wire.reply_message(self._reply(message, ends_at))

    def _reply(self, message: JsonObject, ends_at: float) -> Reply:
        try:
            nested = wire.nested_of(message)
        except wire.NotOurs:
            return failure("not_understood", "the gateway")
        capability = self._mint.read(nested.token)
        refusal = self._refusal(capability, nested.function)
        if capability is None or refusal is not None:
            return refusal or failure("invalid_token", nested.function)
        request = Request(
            function=nested.function,
            arguments=nested.arguments,
            principal=capability.principal,
            ends_at=min(ends_at, capability.deadline),
            permissions=frozenset(capability.permissions),
            depth=capability.depth + 1,
            expires_at=capability.expires_at,
            idempotency_key=nested.idempotency_key,
            step=capability.step,
            trace=nested.trace,
        )
        return self._executors.invoke(request)

    def _refusal(self, capability: Capability | None, function: str) -> Failure | None:
        if capability is None:
            return failure("invalid_token", function)
        if self._clock.now() >= capability.expires_at:
            return failure("token_expired", function)
        if capability.depth >= DEEPEST:
            return failure("too_deep", function)
        is_admitted = self._access.admits(capability.principal, function, over_mcp=False)
        return None if is_admitted else failure("unknown_function", function)


def is_nested(event: JsonObject) -> bool:
    """Whether a function invoked us; anything else comes from the API."""
    return as_object(event).get("operation") == "nested"
