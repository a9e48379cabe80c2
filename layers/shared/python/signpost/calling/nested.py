"""Calls from one function to another. They go through the gateway, which grants no more than the caller's token."""

from typing import TYPE_CHECKING

from signpost.calling import wire
from signpost.calling.failures import failure
from signpost.calling.function_access import FunctionAccess
from signpost.contract import CallReply, CallRequest, Failure
from signpost.model import JsonObject, as_object
from signpost.signing.capability_tokens import DEEPEST_CALL, CapabilityGrant, TokenMint

if TYPE_CHECKING:
    from signpost.calling.ports import FunctionInvoker
    from signpost.ports import Clock


class NestedCalls:
    """Answers nested calls of executors."""

    def __init__(
        self, *, mint: TokenMint, executors: "FunctionInvoker", access: FunctionAccess, clock: "Clock"
    ) -> None:
        self._mint = mint
        self._access = access
        self._executors = executors
        self._clock = clock

    def answer(self, message: JsonObject, ends_at: float) -> JsonObject:
        return wire.reply_message(self._reply(message, ends_at))

    def _reply(self, message: JsonObject, ends_at: float) -> CallReply:
        try:
            nested = wire.parse_nested(message)
        except wire.MalformedMessage:
            return failure(
                "not_understood", "the gateway", message="This function answers only nested calls of executors."
            )
        grant = self._mint.read_grant(nested.token)
        refusal = self._refusal(grant, nested.function)
        if grant is None or refusal is not None:
            return refusal or failure("invalid_token", nested.function)
        request = CallRequest(
            function=nested.function,
            arguments=nested.arguments,
            principal=grant.principal,
            ends_at=min(ends_at, grant.deadline),
            permissions=frozenset(grant.permissions),
            depth=grant.depth + 1,
            expires_at=grant.expires_at,
            idempotency_key=nested.idempotency_key,
            step=grant.step,
            trace=nested.trace,
        )
        return self._executors.invoke(request)

    def _refusal(self, grant: CapabilityGrant | None, function: str) -> Failure | None:
        if grant is None:
            return failure("invalid_token", function)
        # The lease of a workflow step lasts longer than its call: a function that has been stopped calls nothing.
        if self._clock.now() >= min(grant.deadline, grant.expires_at):
            return failure("token_expired", function)
        if function not in grant.calls:
            return failure("undeclared_call", function)
        if grant.depth >= DEEPEST_CALL:
            return failure("too_deep", function)
        is_admitted = self._access.admits(grant.principal, function, over_mcp=False)
        return None if is_admitted else failure("unknown_function", function)


def is_nested(event: JsonObject) -> bool:
    """Tell whether an event is a nested call from an executor."""
    return as_object(event).get("operation") == "nested"


def refuse_misdirected() -> JsonObject:
    """Build the reply of the gateway function, which does not answer nested calls."""
    message = (
        "The gateway function answers no nested calls. Set GATEWAY_FUNCTION of the executor to the output "
        "NestedCallsFunctionArn of the stack, and allow it to invoke that function only."
    )
    return wire.reply_message(failure("not_understood", "the gateway", message=message))
