"""The functions that write sections and render prompts."""

from collections.abc import Mapping

from signpost.contract import Failure, KeptResult, Reply, Request, Result
from signpost.execution.function_access import FunctionAccess
from signpost.execution.functions import FunctionView
from signpost.execution.tuning import effective, placement_of
from signpost.model import InputRequired, Json, JsonObject
from signpost.policy import items
from signpost.ports import Clock, Executors
from signpost.registry.callers import Caller
from signpost.registry.names import is_internal
from signpost.registry.refusals import Refused, quoted
from signpost.schema.limits import DEEPEST_VALUE, is_too_deep


class Handlers:
    def __init__(self, *, functions: FunctionView, executors: Executors, access: FunctionAccess, clock: Clock) -> None:
        self._functions = functions
        self._access = access
        self._executors = executors
        self._clock = clock

    def write(self, function: str, caller: Caller) -> Json | Refused:
        """What the function behind a section answers. One that must not be read, or is denied, is answered like one
        that is not there, since a reader is not to learn more of it."""
        state = self._functions.state(caller.principal.tenant, function)
        placement = placement_of(state)
        if placement is None or not placement.hosted.readable or not self._may_read(function, caller):
            return _failed(function, f"there is no function {function} that may be read", "unknown_function")
        return self._answer(function, {}, caller)

    def _may_read(self, function: str, caller: Caller) -> bool:
        """Who may call the function may not yet read it as a section, nor the other way round."""
        is_admitted = self._access.of(caller.principal).admits(items.section(function))
        return is_admitted and self._access.admits(caller.principal, function)

    def render(self, function: str, arguments: JsonObject, caller: Caller) -> Json | Refused:
        """What the function behind a prompt answers."""
        return self._answer(function, arguments, caller)

    def _answer(self, function: str, arguments: JsonObject, caller: Caller) -> Json | Refused:
        state = self._functions.state(caller.principal.tenant, function)
        patience = effective(state, "state_timeout_ms") / 1000
        request = Request(
            function=function,
            arguments=arguments,
            principal=caller.principal,
            ends_at=min(caller.ends_at, self._clock.now() + patience),
            trace=caller.trace,
        )
        return _value_of(self._executors.invoke(request), function)


def guarded(function: str) -> Refused | None:
    """Before anything is called: what could change the registry, or lead back to who is asking, is left alone."""
    if not is_internal(function):
        return None
    return Refused(
        "internal_namespace", f"{quoted(function)} is in an internal namespace and is never called from here."
    )


def _value_of(reply: Reply, function: str) -> Json | Refused:
    match reply:
        case Result(value) if not is_too_deep(value):
            return value
        case Result():
            return _failed(function, f"its answer is nested more than {DEEPEST_VALUE} deep", "too_deep")
        case KeptResult(size=size):
            return _failed(function, f"its answer of {size} bytes is too long to be shown", "result_too_large")
        case InputRequired():
            return _failed(function, "it asks for more input, which nobody can give here", "input_required")
        case Failure():
            return _failure(function, reply)


def _failure(function: str, failure: Failure) -> Refused:
    again: Mapping[str, Json] = {} if failure.retry_after_ms is None else {"retryAfterMs": failure.retry_after_ms}
    verb = "timed out" if failure.kind == "timeout" else "failed"
    data: JsonObject = {"function": function, "cause": failure.code, **again}
    return Refused("function_failed", f"{function} {verb}: {failure.message}", data)


def _failed(function: str, why: str, cause: str) -> Refused:
    return Refused("function_failed", f"{function} failed: {why}.", {"function": function, "cause": cause})
