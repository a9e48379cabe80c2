"""Calls from one function to another. They go through the gateway, which grants no more than the caller's token."""

from typing import TYPE_CHECKING

from signpost.calling import wire
from signpost.calling.context_operations import ContextOperations
from signpost.calling.failures import failure
from signpost.calling.function_access import FunctionAccess
from signpost.calling.live_grants import read_live_grant
from signpost.calling.nested_clients import build_nested_client
from signpost.contract import CallReply, CallRequest, Failure
from signpost.model import JsonObject, as_object
from signpost.records import dataclass
from signpost.signing.capability_tokens import DEEPEST_CALL, CapabilityGrant, TokenMint

if TYPE_CHECKING:
    from signpost.calling.nested_transport import RegistryTransport
    from signpost.calling.ports import FunctionInvoker, NestedCallService
    from signpost.ports import Clock


@dataclass(frozen=True, slots=True)
class GrantedCall:
    """A nested call that its token allows."""

    nested: wire.NestedCall
    grant: CapabilityGrant


class NestedCallJudge:
    """Decides whether the token of a nested call allows it."""

    def __init__(self, *, mint: TokenMint, clock: "Clock") -> None:
        self._mint = mint
        self._clock = clock

    def judge(self, message: JsonObject) -> GrantedCall | Failure:
        try:
            nested = wire.parse_nested(message)
        except wire.MalformedMessage:
            return failure(
                "not_understood", "the gateway", message="This function answers only nested calls of executors."
            )
        grant = read_live_grant(self._mint, nested.token, self._clock.now())
        if isinstance(grant, str):
            return failure(grant, nested.function)
        code = _find_refusal(grant, nested.function)
        return GrantedCall(nested, grant) if code is None else failure(code, nested.function)


def _find_refusal(grant: CapabilityGrant, function: str) -> str | None:
    """Return the code of the failure with which the call is refused; None if it is allowed."""
    if function not in grant.calls:
        return "undeclared_call"
    return "too_deep" if grant.depth >= DEEPEST_CALL else None


class ExecutorRequests:
    """Answers the requests of executors: nested calls and context operations."""

    def __init__(self, *, nested: "NestedCallService", operations: ContextOperations) -> None:
        self._nested = nested
        self._operations = operations

    def answer(self, message: JsonObject, ends_at: float) -> JsonObject:
        if message.get("operation") == wire.CONTEXT:
            return self._operations.answer(message)
        return self._nested.answer(message, ends_at)


class NestedCalls:
    """Answers nested calls of executors."""

    def __init__(
        self,
        *,
        judge: NestedCallJudge,
        executors: "FunctionInvoker",
        access: FunctionAccess,
        registry: "RegistryTransport",
    ) -> None:
        self._judge = judge
        self._access = access
        self._executors = executors
        self._registry = registry

    def answer(self, message: JsonObject, ends_at: float) -> JsonObject:
        judged = self._judge.judge(message)
        return wire.reply_message(judged if isinstance(judged, Failure) else self._reply(judged, ends_at))

    def _reply(self, call: GrantedCall, ends_at: float) -> CallReply:
        nested, grant, function = call.nested, call.grant, call.nested.function
        ends_at = min(ends_at, grant.deadline)
        if function in self._registry.functions:
            return self._registry.pass_on(nested, ends_at)
        is_admitted = self._access.admits(grant.principal, function, over_mcp=False)
        if not is_admitted:
            return failure("unknown_function", function)
        request = CallRequest(
            function=function,
            arguments=nested.arguments,
            principal=grant.principal,
            ends_at=ends_at,
            permissions=frozenset(grant.permissions),
            depth=grant.depth + 1,
            expires_at=grant.expires_at,
            idempotency_key=nested.idempotency_key,
            step=grant.step,
            trace=nested.trace,
            client=build_nested_client(grant.thread, function, nested.arguments),
        )
        return self._executors.invoke(request)


def is_nested(event: JsonObject) -> bool:
    """Tell whether an event is a nested call from an executor."""
    return as_object(event).get("operation") in ("nested", wire.CONTEXT)


def refuse_misdirected() -> JsonObject:
    """Build the reply of the gateway function, which does not answer nested calls."""
    message = (
        "The gateway function answers no nested calls. Set GATEWAY_FUNCTION of the executor to the output "
        "NestedCallsFunctionArn of the stack, and allow it to invoke that function only."
    )
    return wire.reply_message(failure("not_understood", "the gateway", message=message))
