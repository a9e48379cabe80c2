"""Answers functions that call other functions. All other events are refused, such as those of an API.

The nested calls function and the registry function use it: calls of registry functions are passed on to the latter.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from signpost.calling import wire
from signpost.calling.failures import failure
from signpost.entrypoints.boundary import answer_safely
from signpost.errors import DeadlinePassed, Unavailable
from signpost.model import JsonObject, as_object
from signpost.telemetry import Telemetry

if TYPE_CHECKING:
    from signpost.calling.ports import NestedCallService
    from signpost.ports import Alarm, Clock

RESERVE = 0.5
"""Seconds reserved for the runtime to return the answer."""


class NestedCallHandler:
    def __init__(self, *, nested: "NestedCallService", telemetry: Telemetry, clock: "Clock", alarm: "Alarm") -> None:
        self._nested = nested
        self._telemetry = telemetry
        self._clock = clock
        self._alarm = alarm

    def handle(self, event: Mapping[str, Any], remaining_ms: int) -> JsonObject:
        ends_at = self._clock.now() + remaining_ms / 1000 - RESERVE
        with self._telemetry.record_request(_id_of(event), "INVOKE", "nested") as record:
            record.operation = "nested"
            answer = answer_safely(
                lambda: self._nested.answer(event, ends_at),
                alarm=self._alarm,
                seconds=ends_at - self._clock.now(),
                refuse=_refuse,
                report_fault=record.set_fault,
            )
            record.set_status(400 if "failure" in answer else 200)
        return answer


def _refuse(fault: BaseException) -> JsonObject:
    """Builds the reply of the contract for an exception, so that the calling function always gets one."""
    if isinstance(fault, Unavailable):  # the gateway's own tables or keys; later faults are replies
        code = "unreachable"
    else:
        code = "timed_out" if isinstance(fault, DeadlinePassed) else "service_error"
    return wire.reply_message(failure(code, "The function"))


def _id_of(event: Mapping[str, Any]) -> str:
    return str(as_object(event.get("call")).get("id", ""))
