"""A gateway with something of everything, and callers with keys."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from signpost.model import Call, JsonObject, Resource, ResourceTemplate
from signpost.wiring.endpoints import build_gateway_surface
from stage.samples import TENANT
from tests.fuzz.events import Event, event
from tests.fuzz.verdict import faults
from tests.support.fixture_provider import add_fixtures
from tests.support.manifests import publish_documents
from tests.support.memory_gateway import GatewayAnswer, MemoryGateway, build_modern_request, encode_as_lambda
from tests.support.silent_logs import silence_logs

ITEMS = 250
"""More than gateway.home shows at once."""
WORKFLOW: JsonObject = {
    "title": "A workflow",
    "initialState": "open",
    "states": {"open": {"transitions": {"go": {"target": "open"}, "end": {"target": "ended"}}}, "ended": {}},
}
DOCUMENTS = 1_001
"""More than a list shows at once."""


class Library:
    """So many documents that their list has a second page, for whoever asks with the right cursor."""

    def resources(self, call: Call) -> Sequence[Resource]:
        del call
        return [Resource(f"test://library/{number:04}", "A document") for number in range(DOCUMENTS)]

    def resource_templates(self, call: Call) -> Sequence[ResourceTemplate]:
        del call
        return ()

    def read_resource(self, uri: str, call: Call) -> Sequence[JsonObject] | None:
        del uri, call
        return None


class Target:
    def __init__(self) -> None:
        with silence_logs():
            self.gateway = MemoryGateway()
            surface = add_fixtures(build_gateway_surface(self.gateway.composition))
            self.gateway.serve_surface(replace(surface, resources=(*surface.resources, Library())))
        adapters, documents = self.gateway.adapters, {f"item-{number:04}": WORKFLOW for number in range(ITEMS)}
        publish_documents(adapters.content, adapters.values, adapters.definitions, TENANT, documents)
        self.authorization = self.new_caller()
        self.now = self.gateway.clock.now()

    def new_caller(self) -> str:
        return f"Bearer {self.gateway.make_key(TENANT)}"

    def answer(self, sent: Event) -> GatewayAnswer:
        with silence_logs():
            return encode_as_lambda(self.gateway.front_door.handle(sent, remaining_ms=30_000))

    def faults(self, sent: Event) -> list[str]:
        try:
            return list(faults(sent, self.answer(sent)))
        except Exception as fault:  # noqa: BLE001 - what escapes the handler takes the function down
            return [f"escaped: {type(fault).__name__}: {fault}"]

    def ask(self, method: str, params: JsonObject, *, caller: str | None = None, meta: JsonObject | None = None) -> Any:
        """The message that answers a well-formed request of the newest revision."""
        message, headers = build_modern_request(method, params, meta) if meta else build_modern_request(method, params)
        credential = {"authorization": caller or self.authorization}
        sent = event(json.dumps(message), {**headers, **credential}, now=self.now)
        assert self.faults(sent) == []
        return self.answer(sent).json
