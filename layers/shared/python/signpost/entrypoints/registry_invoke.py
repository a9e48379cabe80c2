"""Answers direct invocations of the registry's Lambda function, `{function_id, payload}`, with the result of a registry
function.

A caller other than the operator adds its credential as `authorization`.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from signpost.content.api.errors import RegistryRefusal
from signpost.content.callers import Caller
from signpost.entrypoints.boundary import answer_safely
from signpost.entrypoints.registry_dispatch import RegistryDispatcher, limit_answer, replace_half_surrogates
from signpost.errors import DeadlinePassed, Unavailable
from signpost.identity.denial import Denial
from signpost.identity.permissions import ADMINISTRATION
from signpost.model import Json, JsonObject, Principal
from signpost.telemetry import Telemetry

if TYPE_CHECKING:
    from signpost.ports import Alarm, Clock

RESERVE = 0.5
"""Seconds reserved for the runtime to return the answer."""
INVOCATION_FORM = "An invocation must be {function_id: text, payload: object}."

type Identify = Callable[[Mapping[str, Any]], Principal | Denial]


class RegistryHandler:
    def __init__(
        self,
        *,
        functions: RegistryDispatcher,
        identify: Identify,
        telemetry: Telemetry,
        clock: "Clock",
        alarm: "Alarm",
    ) -> None:
        self._functions = functions
        self._identify = identify
        self._telemetry = telemetry
        self._clock = clock
        self._alarm = alarm

    def handle(self, event: Mapping[str, Any], remaining_ms: int, request_id: str) -> Json:
        ends_at = self._clock.now() + remaining_ms / 1000 - RESERVE
        function_id = event.get("function_id")
        with self._telemetry.record_request(request_id, "INVOKE", "registry") as record:
            record.operation = str(function_id) if function_id in self._functions.ids else "unknown"
            answer = answer_safely(
                lambda: self._answer(event, ends_at),
                alarm=self._alarm,
                seconds=ends_at - self._clock.now(),
                refuse=_refuse,
                report_fault=record.set_fault,
            )
            answer = limit_answer(answer)
            record.set_status(400 if isinstance(answer, RegistryRefusal) else 200)
        return replace_half_surrogates(error_of(answer)) if isinstance(answer, RegistryRefusal) else answer

    def _answer(self, event: Mapping[str, Any], ends_at: float) -> Json | RegistryRefusal:
        function_id, payload = event.get("function_id"), event.get("payload", {})
        if not isinstance(function_id, str):
            return RegistryRefusal("invalid_payload", f"function_id must be a text. {INVOCATION_FORM}")
        principal = self._identify(event)
        if isinstance(principal, Denial):
            return RegistryRefusal("unauthorized", principal.message, {"reason": principal.reason})
        self._telemetry.add_principal(principal)
        if self._functions.needs_administrator(function_id) and ADMINISTRATION not in principal.permissions:
            return RegistryRefusal(
                "forbidden", f"To call {function_id} a credential needs the permission {ADMINISTRATION}."
            )
        caller = Caller(principal.tenant, principal, ends_at, fresh=True)
        return self._functions.call(function_id, payload, caller)


def _refuse(fault: BaseException) -> RegistryRefusal:
    if isinstance(fault, Unavailable):
        return RegistryRefusal("unavailable", f"{fault} Try again shortly.")
    if isinstance(fault, DeadlinePassed):
        return RegistryRefusal("unavailable", "The answer took too long. Try again shortly.")
    return RegistryRefusal("fault", "An internal error occurred. See the log of the registry function.")


def error_of(refusal: RegistryRefusal) -> JsonObject:
    data: JsonObject = {"data": refusal.data} if refusal.data else {}
    return {"error": {"code": refusal.code, "message": refusal.message, **data}}
