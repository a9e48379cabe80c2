"""The way in for functions that call other functions: an invocation of the gateway, without HTTP."""

from collections.abc import Callable, Mapping
from typing import Any

from signpost.errors import DeadlinePassed, Unavailable
from signpost.execution import wire
from signpost.execution.failures import failure
from signpost.execution.nested import NestedCalls
from signpost.model import JsonObject, as_object
from signpost.ports import Alarm, Clock
from signpost.telemetry import Telemetry

RESERVE = 0.5
"""Seconds that the runtime gets to hand the answer over."""


class BackDoor:
    def __init__(self, *, nested: NestedCalls, telemetry: Telemetry, clock: Clock, alarm: Alarm) -> None:
        self._nested = nested
        self._telemetry = telemetry
        self._clock = clock
        self._alarm = alarm

    def handle(self, event: Mapping[str, Any], remaining_ms: int) -> JsonObject:
        ends_at = self._clock.now() + remaining_ms / 1000 - RESERVE
        with self._telemetry.request(_id_of(event), "INVOKE", "nested") as record:
            record.operation = "nested"
            answer = self._guarded(event, ends_at, record.failed)
            record.answered(400 if "failure" in answer else 200)
        return answer

    def _guarded(self, event: Mapping[str, Any], ends_at: float, failed: Callable[[BaseException], None]) -> JsonObject:
        """The boundary: whatever goes wrong here, the function that asked gets an answer of the contract."""
        try:
            with self._alarm(ends_at - self._clock.now()):
                return self._nested.answer(event, ends_at)
        except Unavailable as fault:  # of our own tables and keys; afterwards nothing is raised
            failed(fault)
            code = "unreachable"
        except DeadlinePassed as fault:
            failed(fault)
            code = "timed_out"
        except Exception as fault:  # noqa: BLE001 - the boundary
            failed(fault)
            code = "service_error"
        return wire.reply_message(failure(code, "The function"))


def _id_of(event: Mapping[str, Any]) -> str:
    return str(as_object(event.get("call")).get("id", ""))
