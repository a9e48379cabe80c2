"""The product over stores in memory, which can be broken."""

import json
import uuid
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, override

from signpost.adapters.clock import SystemClock, SystemTimestamps
from signpost.adapters.memory import FunctionTable, MemoryContentStore
from signpost.content import Change
from signpost.errors import Unavailable
from signpost.model import Principal
from signpost.registry.publisher import ManifestFunctions, Publisher
from signpost.registry_door import RegistryDoor
from signpost.relay import bus_event
from signpost.telemetry import Telemetry
from tests.acceptance.cases import Case, Step
from tests.acceptance.expectations import Seen
from tests.acceptance.worlds import check_given, seen_of
from tests.support.memory_gateway import MemoryGateway

TENANT = "case"
A_MINUTE_MS = 60_000


def _never(seconds: float) -> AbstractContextManager[None]:
    """No alarm: that of the product belongs to the main thread."""
    del seconds
    return nullcontext()


class BreakableContent(MemoryContentStore):
    def __init__(self, table: FunctionTable) -> None:
        super().__init__(table)
        self.is_down = False

    @override
    def versions(self, tenant: str) -> Any:
        return self._unless_down(lambda: super(BreakableContent, self).versions(tenant))

    @override
    def skill(self, tenant: str, skill_id: str) -> Any:
        return self._unless_down(lambda: super(BreakableContent, self).skill(tenant, skill_id))

    @override
    def prompt(self, tenant: str, name: str) -> Any:
        return self._unless_down(lambda: super(BreakableContent, self).prompt(tenant, name))

    @override
    def skills(self, tenant: str | None) -> Any:
        return self._unless_down(lambda: super(BreakableContent, self).skills(tenant))

    @override
    def prompts(self, tenant: str | None) -> Any:
        return self._unless_down(lambda: super(BreakableContent, self).prompts(tenant))

    @override
    def apply(self, tenant: str | None, changes: Sequence[Change]) -> Any:
        return self._unless_down(lambda: super(BreakableContent, self).apply(tenant, changes))

    def _unless_down[Answer](self, ask: Callable[[], Answer]) -> Answer:
        if self.is_down:
            raise Unavailable("The table does not answer.")
        return ask()


class InProcess:
    """Functions are none here: what asks for content gets no further."""

    def __init__(self) -> None:
        gateway = MemoryGateway()
        self._content = BreakableContent(gateway.functions)
        gateway.exchange(content=self._content)
        self._marks: list[int] = []
        self._door = RegistryDoor(
            functions=gateway.composition.documents.functions,
            manifests=ManifestFunctions(
                Publisher(content=self._content, bodies=gateway.adapters.bodies, timestamps=SystemTimestamps())
            ),
            operator=Principal("operator", TENANT, "signpost:operator"),
            telemetry=Telemetry(f"case-{uuid.uuid4().hex}"),
            clock=SystemClock(),
            alarm=_never,
        )

    def prepare(self, case: Case) -> None:
        for entry in case.given:
            if "call" in entry:
                check_given(entry, self._call(entry["call"], entry["input"]))
            elif entry.get("storage") == "down":
                self._content.is_down = True

    def play(self, step: Step) -> Seen:
        return self._call(step.op, step.input)

    def calls(self) -> Sequence[Any]:
        return ()

    def mark(self) -> None:
        self._marks.append(len(self._content.events))

    def events(self) -> Sequence[Sequence[Any]]:
        told = [bus_event(event) for event in self._content.events]
        events = [{"type": event.type, "payload": json.loads(event.detail)} for event in told]
        return [events[first:last] for first, last in zip(self._marks, self._marks[1:], strict=False)]

    def _call(self, function_id: str, payload: Any) -> Seen:
        event = {"function_id": function_id, "payload": payload}
        return seen_of(self._door.handle(event, A_MINUTE_MS, "case"))
