"""The way to the functions of the registry for whoever may invoke its Lambda function: `{function_id, payload}`,
and `authorization` from whoever is not its operator."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from signpost.errors import DeadlinePassed, Unavailable
from signpost.identity.denial import Denial
from signpost.identity.permissions import ADMINISTRATION
from signpost.model import Json, JsonObject, Principal
from signpost.ports import Alarm, Clock
from signpost.registry.callers import Caller
from signpost.registry.functions import RegistryFunctions
from signpost.registry.loading import LoadingFunctions
from signpost.registry.publisher import ManifestFunctions
from signpost.registry.refusals import Refused
from signpost.telemetry import Telemetry

RESERVE = 0.5
"""Seconds that the runtime gets to hand the answer over."""
LONGEST_ANSWER = 5_900_000
"""Bytes. Lambda carries 6 MB."""
FORM = "An invocation is {function_id: text, payload: object}."

type Identify = Callable[[Mapping[str, Any]], Principal | Denial]


class RegistryDoor:
    def __init__(
        self,
        *,
        functions: RegistryFunctions,
        beside: Sequence[ManifestFunctions | LoadingFunctions],
        identify: Identify,
        telemetry: Telemetry,
        clock: Clock,
        alarm: Alarm,
    ) -> None:
        self._functions = functions
        self._beside = {function_id: some for some in beside for function_id in some.ids}
        """What administrators call besides."""
        self._identify = identify
        self._telemetry = telemetry
        self._clock = clock
        self._alarm = alarm

    def handle(self, event: Mapping[str, Any], remaining_ms: int, request_id: str) -> Json:
        ends_at = self._clock.now() + remaining_ms / 1000 - RESERVE
        function_id = event.get("function_id")
        with self._telemetry.request(request_id, "INVOKE", "registry") as record:
            known = (*self._functions.ids, *self._beside)
            record.operation = str(function_id) if function_id in known else "unknown"
            answer = _sendable(self._guarded(event, ends_at, record.failed))
            refused = isinstance(answer, Refused)
            record.answered(400 if refused else 200)
        return _encodable(error_of(answer)) if isinstance(answer, Refused) else answer

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
        principal = self._identify(event)
        if isinstance(principal, Denial):
            return Refused("unauthorized", principal.message, {"reason": principal.reason})
        self._telemetry.identified(principal)
        if self._changes(function_id) and ADMINISTRATION not in principal.permissions:
            return Refused("forbidden", f"To call {function_id} a credential needs the permission {ADMINISTRATION}.")
        caller = Caller(principal.tenant, principal, ends_at, fresh=True)
        return self._beside.get(function_id, self._functions).call(function_id, payload, caller)

    def _changes(self, function_id: str) -> bool:
        return function_id in self._beside or function_id in self._functions.changing


def error_of(refused: Refused) -> JsonObject:
    data: JsonObject = {"data": refused.data} if refused.data else {}
    return {"error": {"code": refused.code, "message": refused.message, **data}}


def _sendable(answer: Json | Refused) -> Json | Refused:
    """What is longer than Lambda carries would end as a fault of Lambda's own, which says nothing to anybody."""
    if isinstance(answer, Refused):
        return answer
    sent = _encodable(answer)
    size = len(json.dumps(sent, ensure_ascii=False).encode())
    if size <= LONGEST_ANSWER:
        return sent
    return Refused(
        "too_much",
        f"The answer has {size} bytes, and an invocation answers {LONGEST_ANSWER} at most. Fetch less at once; the MCP "
        "endpoint lists in pages.",
    )


def _encodable(answer: Json) -> Json:
    """What a function answers may contain half a surrogate pair. Lambda's runtime encodes without escapes, after the
    handler returned, and the sandbox would end with it; a replacement character does no harm."""
    text = json.dumps(answer, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    return answer
