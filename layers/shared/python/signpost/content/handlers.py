"""Calls of the functions behind sections and prompts, and the refusals of their failures."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from signpost.calling.client_needs import reject_lacking_client
from signpost.calling.failures import failure
from signpost.calling.function_access import FunctionAccess
from signpost.calling.lookup import FunctionView
from signpost.calling.nested_clients import build_nested_client
from signpost.calling.runtime_settings import effective_setting, is_exposed, placement_of
from signpost.content.api.errors import RegistryRefusal, quote_text
from signpost.content.callers import Caller, NestedRights
from signpost.content.names import is_internal
from signpost.contract import CallReply, CallRequest, Failure, FunctionState, KeptResult, Result
from signpost.model import MOST_SECTIONS, InputRequired, Json, JsonObject
from signpost.policy import policy_items
from signpost.schema.limits import DEEPEST_VALUE, is_too_deep

if TYPE_CHECKING:
    from signpost.calling.ports import FunctionInvoker
    from signpost.ports import Clock


UNREADABLE = (
    "the function {function} does not exist or is not readable. Its author declares it readable by readable=True or "
    "by annotating it as read-only"
)


class Handlers:
    """Calls the functions behind sections and prompts as the caller's principal."""

    def __init__(
        self, *, functions: FunctionView, executors: "FunctionInvoker", access: FunctionAccess, clock: "Clock"
    ) -> None:
        self._functions = functions
        self._access = access
        self._executors = executors
        self._clock = clock

    def write_section(self, function: str, caller: Caller) -> Json | RegistryRefusal:
        """Call the function behind a section and return its result. A function that is not readable, or that policy
        or the exposure settings keep from the reader, is refused like a function that does not exist, so that the
        reader learns nothing about it."""
        if not self._is_readable(function, caller):
            return _failed_function_refusal(function, UNREADABLE.format(function=function), "unknown_function")
        if not caller.sections.use():
            return refuse_more_sections(0)
        return self._call(function, {}, caller)

    def _is_readable(self, function: str, caller: Caller) -> bool:
        state = self._functions.state(caller.principal.tenant, function)
        placement = placement_of(state)
        if placement is None or not is_exposed(placement.hosted, state.tenant_settings):
            return False
        return placement.hosted.readable and self._may_read(function, caller)

    def _may_read(self, function: str, caller: Caller) -> bool:
        """Check both permissions: to call the function and to read it as a section. Neither includes the other."""
        is_admitted = self._access.of(caller.principal).admits(policy_items.section_item(function))
        return is_admitted and self._access.admits(caller.principal, function)

    def render_prompt(self, function: str, arguments: JsonObject, caller: Caller) -> Json | RegistryRefusal:
        """Call the function behind a prompt and return its result."""
        return self._call(function, arguments, caller)

    def _call(self, function: str, arguments: JsonObject, caller: Caller) -> Json | RegistryRefusal:
        if refusal := self._refuse_nested(function, caller):
            return refusal
        state = self._functions.state(caller.principal.tenant, function)
        if (lacking := self._refuse_lacking_client(state, caller)) is not None:
            return lacking
        timeout = effective_setting(state, "state_timeout_ms") / 1000
        request = CallRequest(
            function=function,
            arguments=arguments,
            principal=caller.principal,
            ends_at=min(caller.ends_at, self._clock.now() + timeout),
            trace=caller.trace,
            answers=caller.answers,
            state=caller.state,
            client=caller.client or build_nested_client(caller.thread, function, arguments),
            notify=caller.notify,
            **_limits_of(caller.nested),
        )
        return _value_of(self._executors.invoke(request), function)

    def _refuse_lacking_client(self, state: FunctionState, caller: Caller) -> RegistryRefusal | None:
        """Refuse a client of MCP that lacks what the function needs. Other callers are refused where it is called."""
        placement = placement_of(state)
        if placement is None or caller.client is None:
            return None
        rejection = reject_lacking_client(placement.hosted, caller.client)
        if rejection is None:
            return None
        function = placement.hosted.function
        return replace(_refusal_of_failure(function, failure("client_lacking", function)), asked_back=rejection)

    def _refuse_nested(self, function: str, caller: Caller) -> RegistryRefusal | None:
        """Refuse a function that the calling function may not call itself: documents give it no more rights."""
        if caller.nested is None:
            return None
        if function not in caller.nested.callees:
            return _refusal_of_failure(function, failure("undeclared_call", function))
        if self._access.admits(caller.principal, function, over_mcp=False):
            return None
        return _refusal_of_failure(function, failure("unknown_function", function))


def _limits_of(rights: NestedRights | None) -> dict[str, Any]:
    """Build the members of a call request that make it a nested call with these rights."""
    if rights is None:
        return {}
    return {
        "permissions": rights.permissions,
        "depth": rights.depth,
        "expires_at": rights.expires_at,
        "step": rights.step,
    }


def refuse_internal(function: str) -> RegistryRefusal | None:
    """Refuse a function in an internal namespace before anything is called: it could change the registry or call back
    into the request that is being answered."""
    if not is_internal(function):
        return None
    return RegistryRefusal(
        "internal_namespace",
        f"{quote_text(function)} is in an internal namespace and cannot be called here. Use another one.",
    )


def refuse_more_sections(remaining: int) -> RegistryRefusal:
    """Refuse sections beyond those that one request may run."""
    return RegistryRefusal(
        "too_much",
        f"One request runs the functions of at most {MOST_SECTIONS} sections (iii://fn/…), and {remaining} are left "
        "for this one. Read the others in another request.",
    )


def _value_of(reply: CallReply, function: str) -> Json | RegistryRefusal:
    match reply:
        case Result(value) if not is_too_deep(value):
            return value
        case Result():
            return _failed_function_refusal(
                function, f"its answer is nested more than {DEEPEST_VALUE} deep", "too_deep"
            )
        case KeptResult(size=size):
            return _failed_function_refusal(
                function, f"its answer of {size} bytes is too long to be included here", "result_too_large"
            )
        case InputRequired():
            refusal = _failed_function_refusal(
                function, "it requires input from the client, and this caller cannot be asked", "input_required"
            )
            return replace(refusal, asked_back=reply)
        case Failure():
            return _refusal_of_failure(function, reply)


def _refusal_of_failure(function: str, failure: Failure) -> RegistryRefusal:
    retry: Mapping[str, Json] = {} if failure.retry_after_ms is None else {"retryAfterMs": failure.retry_after_ms}
    verb = "timed out" if failure.kind == "timeout" else "failed"
    data: JsonObject = {"function": function, "cause": failure.code, **retry}
    return RegistryRefusal("function_failed", f"{function} {verb}: {failure.message}", data)


def _failed_function_refusal(function: str, reason: str, cause: str) -> RegistryRefusal:
    return RegistryRefusal("function_failed", f"{function} failed: {reason}.", {"function": function, "cause": cause})
