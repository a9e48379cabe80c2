"""Answers functions that call other functions by invoking the gateway directly, without HTTP."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from signpost.calling import wire
from signpost.calling.failures import failure
from signpost.calling.nested import NestedCalls
from signpost.errors import DeadlinePassed, Unavailable
from signpost.model import JsonObject, as_object
from signpost.telemetry import Telemetry

if TYPE_CHECKING:
    from signpost.ports import Alarm, Clock

RESERVE = 0.5
"""Seconds reserved for the runtime to return the answer."""


class NestedCallHandler:
    def __init__(self, *, nested: NestedCalls, telemetry: Telemetry, clock: "Clock", alarm: "Alarm") -> None:
        self._nested = nested
        self._telemetry = telemetry
        self._clock = clock
        self._alarm = alarm

    def handle(self, event: Mapping[str, Any], remaining_ms: int) -> JsonObject:
        ends_at = self._clock.now() + remaining_ms / 1000 - RESERVE
        with self._telemetry.record_request(_id_of(event), "INVOKE", "nested") as record:
            record.operation = "nested"
            answer = self._answer_safely(event, ends_at, record.set_fault)
            record.set_status(400 if "failure" in answer else 200)
        return answer

    def _answer_safely(
        self, event: Mapping[str, Any], ends_at: float, report_fault: Callable[[BaseException], None]
    ) -> JsonObject:
        """The boundary: turns each exception into an answer of the contract, so that the calling function always gets
        one."""
        try:
            with self._alarm(ends_at - self._clock.now()):
                return self._nested.answer(event, ends_at)
        except Unavailable as fault:  # the gateway's own tables or keys; later faults are replies
            report_fault(fault)
            code = "unreachable"
        except DeadlinePassed as fault:
            report_fault(fault)
            code = "timed_out"
        except Exception as fault:  # noqa: BLE001 - the boundary
            report_fault(fault)
            code = "service_error"
        return wire.reply_message(failure(code, "The function"))


def _id_of(event: Mapping[str, Any]) -> str:
    return str(as_object(event.get("call")).get("id", ""))
