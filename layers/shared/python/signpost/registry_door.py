"""The way to the functions of the registry for whoever may invoke its Lambda function: `{function_id, payload}`."""

from collections.abc import Callable, Mapping
from typing import Any

from signpost.errors import DeadlinePassed, Unavailable
from signpost.model import Json, JsonObject, Principal
from signpost.ports import Alarm, Clock
from signpost.registry.callers import Caller
from signpost.registry.functions import RegistryFunctions
from signpost.registry.publisher import ManifestFunctions
from signpost.registry.refusals import Refused
from signpost.telemetry import Telemetry

RESERVE = 0.5
"""Seconds that the runtime gets to hand the answer over."""
FORM = "An invocation is {function_id: text, payload: object}."


class RegistryDoor:
    def __init__(
        self,
        *,
        functions: RegistryFunctions,
        manifests: ManifestFunctions,
        operator: Principal,
        telemetry: Telemetry,
        clock: Clock,
        alarm: Alarm,
    ) -> None:
        """IAM decides who gets here; whoever does is the operator."""
        self._functions = functions
        self._manifests = manifests
        self._operator = operator
        self._telemetry = telemetry
        self._clock = clock
        self._alarm = alarm

    def handle(self, event: Mapping[str, Any], remaining_ms: int, request_id: str) -> Json:
        ends_at = self._clock.now() + remaining_ms / 1000 - RESERVE
        function_id = event.get("function_id")
        with self._telemetry.request(request_id, "INVOKE", "registry") as record:
            known = (*self._functions.ids, *self._manifests.ids)
            record.operation = str(function_id) if function_id in known else "unknown"
            answer = self._guarded(event, ends_at, record.failed)
            refused = isinstance(answer, Refused)
            record.answered(400 if refused else 200)
        return error_of(answer) if isinstance(answer, Refused) else answer

    def _guarded(
        self, event: Mapping[str, Any], ends_at: float, failed: Callable[[BaseException], None]
    ) -> Json | Refused:
        """The boundary: an exception becomes a sentence."""
        try:
            with self._alarm(ends_at - self._clock.now()):
                return self._answer(event, ends_at)
        except Unavailable as fault:
            failed(fault)
            return Refused("unavailable", f"{fault} Try again shortly.")
        except DeadlinePassed as fault:
            failed(fault)
            return Refused("unavailable", "The answer took too long. Try again shortly.")
        except Exception as fault:  # noqa: BLE001 - the boundary
            failed(fault)
            return Refused("fault", "Something went wrong on our side; see the log of the registry function.")

    def _answer(self, event: Mapping[str, Any], ends_at: float) -> Json | Refused:
        function_id, payload = event.get("function_id"), event.get("payload", {})
        if not isinstance(function_id, str):
            return Refused("invalid_payload", f"function_id must be a text. {FORM}")
        if "authorization" in event:
            # Never taken for the operator: who sends a credential means to be somebody else.
            return Refused("unauthorized", "This function takes no credentials; leave `authorization` out.")
        caller = Caller(self._operator.tenant, self._operator, ends_at, fresh=True)
        called = self._manifests if function_id in self._manifests.ids else self._functions
        return called.call(function_id, payload, caller)


def error_of(refused: Refused) -> JsonObject:
    data: JsonObject = {"data": refused.data} if refused.data else {}
    return {"error": {"code": refused.code, "message": refused.message, **data}}
