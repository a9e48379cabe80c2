"""Workflows in a whole gateway in memory: what is called goes through the protocol, and the clock can be turned."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from signpost.adapters.ids import RandomIds
from signpost.adapters.memory.definitions import MemoryDefinitions
from signpost.adapters.memory.instances import MemoryInstances
from signpost.model import JsonObject, Principal
from signpost.protocol.surface import Surface
from signpost.surfaces.workflows import WorkflowTools
from signpost.workflow.engine import Engine
from signpost.workflow.people import People
from signpost.workflow.ports import Executors
from signpost.workflow.service import PerKind, Workflows
from tests.support.memory_gateway import MemoryGateway, SetClock

TENANT = "acme"

type Kept = Mapping[str, Any]


class WorkflowWorld:
    def __init__(self, callers: Mapping[str, Principal], executors: Mapping[str, Executors] | None = None) -> None:
        self._gateway = MemoryGateway()
        self._callers = callers
        self._tokens: dict[tuple[str, float], str] = {}
        self._definitions = MemoryDefinitions()
        self.instances = MemoryInstances()
        workflows = Workflows(
            definitions=self._definitions,
            instances=self.instances,
            executors=PerKind({"human": People(clock=self.clock, ids=RandomIds()), **(executors or {})}),
            engine=Engine(),
            clock=self.clock,
            ids=RandomIds(),
        )
        self._gateway.serve(Surface("gateway", "", tools=(WorkflowTools(workflows),)))

    @property
    def clock(self) -> SetClock:
        return self._gateway.clock

    def publish(self, definition_id: str, document: JsonObject) -> None:
        self._definitions.publish(TENANT, definition_id, document)

    def call(self, tool: str, args: Mapping[str, Any], caller: str) -> Any:
        """What is answered; an error of the protocol looks like one of the tools."""
        params: JsonObject = {"name": tool, "arguments": args}
        answer = self._gateway.ask("tools/call", params, credential=self._token(caller)).json
        if "error" in answer:
            return {"error": {"code": str(answer["error"]["code"]), "message": answer["error"]["message"]}}
        result = answer["result"]
        if result.get("isError") and "structuredContent" not in result:
            return {"error": {"code": "", "message": result["content"][0]["text"]}}
        return result["structuredContent"]

    def kept(self) -> Kept:
        """How all instances stand, to come back to."""
        return deepcopy({name: rows for name, rows in vars(self.instances).items() if isinstance(rows, dict)})

    def back_to(self, kept: Kept) -> None:
        vars(self.instances).update(deepcopy(dict(kept)))

    def _token(self, caller: str) -> str:
        """A new one whenever the clock was turned: they do not last."""
        at = (caller, self.clock.now())
        if at not in self._tokens:
            self._tokens[at] = self._made_out_to(self._callers[caller])
        return self._tokens[at]

    def _made_out_to(self, principal: Principal) -> str:
        claims: dict[str, Any] = {
            "sub": principal.subject,
            "tenant": TENANT,
            "roles": sorted(principal.roles),
            "scope": " ".join(sorted(principal.permissions)),
        }
        return self._gateway.token(**claims, **({"amr": ["pwd"]} if principal.human else {}))
