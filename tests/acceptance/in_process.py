"""The product over stores in memory, which can be broken."""

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, override

from signpost.adapters.clock import SystemClock, SystemTimestamps
from signpost.adapters.memory import (
    FunctionTable,
    MemoryContentStore,
    MemoryDirectory,
    MemoryRevisionRows,
    MemoryRuntimeSettings,
)
from signpost.calling.failures import failure, reported_failure
from signpost.calling.wire import reply_message
from signpost.catalogue.publishing.publish_functions import PublishFunctions
from signpost.catalogue.publishing.publisher import Publisher
from signpost.content.model import Change
from signpost.contract import Executor, Result
from signpost.entrypoints.content_relay import content_bus_event
from signpost.entrypoints.registry_dispatch import RegistryDispatcher
from signpost.entrypoints.registry_invoke import RegistryHandler
from signpost.errors import Unavailable
from signpost.identity.permissions import ADMINISTRATION
from signpost.model import JsonObject, Principal
from signpost.telemetry import Telemetry
from signpost.toolkit import ToolError
from stage.scripts import play_entry
from tests.acceptance.cases import Case, Step
from tests.acceptance.expectations import Seen
from tests.acceptance.frames import endpoint_of, frame_of, seen_of_rpc
from tests.acceptance.worlds import check_given, check_known, hosted_of, registry_answer_seen, settings_of
from tests.support.catalogues import build_catalogue_publisher
from tests.support.memory_gateway import MemoryGateway

TENANT = "case"
A_MINUTE_MS = 60_000
STUB = Executor("arn:stub", "secret:stub", A_MINUTE_MS)


def no_alarm(seconds: float) -> AbstractContextManager[None]:
    """No alarm: that of the product belongs to the main thread."""
    del seconds
    return nullcontext()


class BreakableContent(MemoryContentStore):
    """How far it has changed can be read all the same: functions are listed by what stands beside that."""

    def __init__(self, table: FunctionTable) -> None:
        super().__init__(table)
        self.is_down = False

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
    """Functions are played here, too."""

    def __init__(self) -> None:
        gateway = MemoryGateway()
        self._content = BreakableContent(gateway.functions)
        gateway.replace_adapters(content=self._content, revisions=MemoryRevisionRows(self._content))
        self._gateway = gateway
        self._key = str(gateway.make_key(TENANT))
        self._marks: list[int] = []
        self._scripts: dict[str, Mapping[str, Any]] = {}
        self._called: list[Any] = []
        gateway.executors[STUB.arn] = self._play_script
        self._door = RegistryHandler(
            functions=RegistryDispatcher(
                gateway.composition.documents.functions,
                [
                    PublishFunctions(
                        Publisher(
                            content=self._content,
                            bodies=gateway.adapters.bodies,
                            catalogues=build_catalogue_publisher(self._content),
                            timestamps=SystemTimestamps(),
                        )
                    )
                ],
            ),
            identify=lambda _: Principal(
                "operator", TENANT, "signpost:operator", permissions=frozenset({ADMINISTRATION})
            ),
            telemetry=Telemetry(f"case-{uuid.uuid4().hex}"),
            clock=SystemClock(),
            alarm=no_alarm,
        )

    def prepare(self, case: Case) -> None:
        check_known(case)
        settings = MemoryRuntimeSettings(self._gateway.functions)
        stubs = case.gives("stub")
        self._scripts = {stub["stub"]: stub for stub in stubs}
        MemoryDirectory(self._gateway.functions).place(TENANT, STUB, hosted_of(stubs))
        for entry in case.given:
            if "call" in entry:
                check_given(entry, self._call(entry["call"], entry["input"]))
            for name, value in settings_of(entry).items():
                settings.set(TENANT, None, name, value)
        self._content.is_down = case.breaks_storage

    def play(self, step: Step) -> Seen:
        return self._ask(step) if step.op == "mcp" else self._call(step.op, step.input)

    def calls(self) -> Sequence[Any]:
        new, self._called = self._called, []
        return new

    def mark(self) -> None:
        self._marks.append(len(self._content.events))

    def events(self) -> Sequence[Sequence[Any]]:
        told = [content_bus_event(event) for event in self._content.events]
        events = [{"type": event.type, "payload": json.loads(event.detail)} for event in told]
        return [events[first:last] for first, last in zip(self._marks, self._marks[1:], strict=False)]

    def _call(self, function_id: str, payload: Any) -> Seen:
        event = {"function_id": function_id, "payload": payload}
        return registry_answer_seen(self._door.handle(event, A_MINUTE_MS, "case"))

    def _ask(self, step: Step) -> Seen:
        body, headers = frame_of(step)
        sent = {**headers, "authorization": f"Bearer {self._key}"}
        return seen_of_rpc(self._gateway.send(path=endpoint_of(step), body=body, headers=sent))

    def _play_script(self, message: JsonObject) -> JsonObject:
        call: Any = message["call"]
        self._called.append({"function_id": call["function"], "payload": call["arguments"]})
        script = self._scripts[call["function"]]
        if script.get("timeout"):
            return reply_message(failure("timed_out", call["function"]))
        try:
            return reply_message(Result(play_entry(script, call["arguments"])))
        except ToolError as fault:
            return reply_message(reported_failure(fault.kind, str(fault)))
