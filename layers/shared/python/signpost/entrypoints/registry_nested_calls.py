"""Answers nested calls of registry functions, which the nested calls function passes on to the registry function.

Lambda does not say which function invokes another one. So the registry function judges the token of each call itself:
principal, tenant and permissions are those of the token, and the sender of the event has no influence on them.
"""

from signpost.calling import wire
from signpost.calling.failures import failure
from signpost.calling.nested import GrantedCall, NestedCallJudge
from signpost.content.api.errors import RegistryAnswer, RegistryRefusal
from signpost.content.callers import Caller, NestedRights
from signpost.contract import CallReply, Failure, Result
from signpost.entrypoints.registry_dispatch import RegistryDispatcher, limit_answer
from signpost.errors import Unavailable
from signpost.identity.permissions import ADMINISTRATION
from signpost.model import JsonObject
from signpost.signing.capability_tokens import CapabilityGrant
from signpost.telemetry import Telemetry

UNKNOWN_OUTCOMES = frozenset({"fault", "function_failed", "unavailable"})
"""The codes of refusals after which something may have happened."""


class NestedRegistryCalls:
    """Calls registry functions for functions of executors, as the principal of their calls."""

    def __init__(self, *, judge: NestedCallJudge, functions: RegistryDispatcher, telemetry: Telemetry) -> None:
        self._judge = judge
        self._functions = functions
        self._telemetry = telemetry

    def answer(self, message: JsonObject, ends_at: float) -> JsonObject:
        judged = self._judge.judge(message)
        return wire.reply_message(judged if isinstance(judged, Failure) else self._reply(judged, ends_at))

    def _reply(self, call: GrantedCall, ends_at: float) -> CallReply:
        function = call.nested.function
        if function not in self._functions.ids:
            return failure("unknown_function", function)
        self._telemetry.add_principal(call.grant.principal)
        try:
            answer = self._refuse_change(call) or self._call(call, ends_at)
        except Unavailable as fault:
            answer = RegistryRefusal("unavailable", f"{fault} Try again shortly.")
        answer = limit_answer(answer)
        return failure_of(answer) if isinstance(answer, RegistryRefusal) else Result(answer)

    def _refuse_change(self, call: GrantedCall) -> RegistryRefusal | None:
        """Refuse a function for administrators, unless the principal is one and the calling function declares it."""
        grant, function = call.grant, call.nested.function
        if not self._functions.needs_administrator(function):
            return None
        if ADMINISTRATION not in grant.permissions:
            return RegistryRefusal(
                "forbidden",
                f"{grant.function} may not call {function}: it, or a function that called it, does not declare the "
                f"permission {ADMINISTRATION}.",
            )
        if ADMINISTRATION not in grant.principal.permissions:
            return RegistryRefusal(
                "forbidden", f"To call {function} the caller of {grant.function} needs the permission {ADMINISTRATION}."
            )
        return None

    def _call(self, call: GrantedCall, ends_at: float) -> RegistryAnswer:
        nested, grant = call.nested, call.grant
        caller = Caller(
            tenant=grant.tenant,
            principal=grant.principal,
            ends_at=min(ends_at, grant.deadline),
            trace=nested.trace,
            fresh=True,
            nested=_rights_of(grant),
            thread=grant.thread,
        )
        return self._functions.call(nested.function, nested.arguments, caller)


def _rights_of(grant: CapabilityGrant) -> NestedRights:
    return NestedRights(
        callees=frozenset(grant.calls),
        permissions=frozenset(grant.permissions),
        depth=grant.depth + 1,
        expires_at=grant.expires_at,
        step=grant.step,
    )


def failure_of(refusal: RegistryRefusal) -> Failure:
    """Build the failure of a call from a refusal, with the same code and message. It does not count for the breaker of
    the calling function."""
    retry = refusal.data.get("retryAfterMs")
    return Failure(
        code=refusal.code,
        kind="transient_error" if refusal.code == "unavailable" else "permanent_error",
        outcome="unknown" if refusal.code in UNKNOWN_OUTCOMES else "none",
        message=refusal.message,
        retry_after_ms=retry if isinstance(retry, int) else None,
        counts=False,
    )
