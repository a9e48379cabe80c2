"""Workflows in a whole gateway in memory: calls go through the protocol, and tests advance the clock."""

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from signpost.adapters.memory import MemoryDirectory, MemoryRuntimeSettings
from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.calling import wire
from signpost.content.callers import Caller
from signpost.content.model import Skill
from signpost.contract import Executor, HostedFunction, Result
from signpost.model import JsonObject, Principal, SettingValue
from signpost.workflow.ports import StepExecutor
from tests.support.manifests import publish, publish_documents
from tests.support.memory_gateway import ManualClock, MemoryGateway
from tests.support.memory_workflows import run_until_idle
from tests.support.tool_answers import read_tool_answer

TENANT = "acme"

type InstancesCopy = Mapping[str, Any]


class GatewayWorkflows:
    def __init__(
        self,
        callers: Mapping[str, Principal],
        machines: Mapping[str, StepExecutor] | None = None,
        *,
        portable_names: bool = False,
        gateway: MemoryGateway | None = None,
    ) -> None:
        """`portable_names` makes every client use `?names=portable`. `gateway` is one that has more than clients."""
        self._gateway = gateway or MemoryGateway()
        self._gateway.step_executors.update(machines or {})
        self._callers = callers
        self._tokens: dict[tuple[str, float], str] = {}
        self._documents: dict[str, JsonObject] = {}
        self._query = {"names": "portable"} if portable_names else {}

    @property
    def clock(self) -> ManualClock:
        return self._gateway.clock

    @property
    def instances(self) -> MemoryInstanceStore:
        return self._gateway.instances

    def add_step_executor(self, kind: str, machine: StepExecutor) -> None:
        """Add a step executor. It must be called before the first workflow."""
        self._gateway.step_executors[kind] = machine

    def publish(self, definition_id: str, document: JsonObject) -> None:
        """Publish a definition in addition to those already published."""
        self._documents[definition_id] = document
        adapters = self._gateway.adapters
        publish_documents(adapters.content, adapters.values, adapters.definitions, TENANT, self._documents)

    def publish_manifest(self, manifest: Mapping[str, Any]) -> None:
        adapters = self._gateway.adapters
        publish(adapters.content, adapters.values, adapters.definitions, TENANT, manifest)

    def set_for_tenant(self, name: str, value: SettingValue) -> None:
        """Set a run-time setting of the tenant. Gateways that were asked before see it two seconds later."""
        MemoryRuntimeSettings(self._gateway.functions).set(TENANT, None, name, value)

    def call(self, tool: str, args: Mapping[str, Any], caller: str) -> Any:
        params: JsonObject = {"name": tool, "arguments": args}
        return read_tool_answer(
            self._gateway.request("tools/call", params, credential=self._token(caller), query=self._query)
        )

    def list_tools(self, caller: str) -> Sequence[str]:
        """Return the names of tools as the client's host lists them."""
        answer = self._gateway.request("tools/list", credential=self._token(caller), query=self._query)
        return [tool["name"] for tool in answer.json["result"]["tools"]]

    def host(self, hosted: Sequence[HostedFunction], scripts: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """Host functions. Each call of one answers with the output of the next entry of its script, the last entry
        again and again."""
        played = Counter[str]()

        def answer(message: JsonObject) -> JsonObject:
            call: Any = message["call"]
            function, script = call["function"], scripts.get(call["function"], ())
            entry = script[min(played[function], len(script) - 1)] if script else {"output": call["arguments"]}
            played[function] += 1
            return wire.reply_message(Result(entry["output"]))

        executor = Executor("arn:cases", "secret:cases", 60_000)
        self._gateway.executors[executor.arn] = answer
        if hosted:
            assert MemoryDirectory(self._gateway.functions).place(TENANT, executor, hosted) == []

    def register(self, skill_id: str, body: str) -> None:
        author = Caller(TENANT, Principal("author", TENANT, "tests"), 0)
        registered = self._gateway.composition.documents.skills.register(skill_id, body, author)
        assert isinstance(registered, Skill), registered

    def start_long_call(self, function: str, caller: str) -> str:
        """Call a function whose timeout is longer than a client waits, and return the id of the run that this
        starts."""
        executor = Executor("arn:patient", "secret:patient", 60_000)
        hosted = HostedFunction(function, name="patient", timeout_ms=40_000)
        assert MemoryDirectory(self._gateway.functions).place(TENANT, executor, [hosted]) == []
        params: JsonObject = {"name": "skill:patient", "arguments": {}}
        answer = self._gateway.request("tools/call", params, credential=self._token(caller), path="/mcp/flat")
        return read_tool_answer(answer)["workflowId"]

    def run_until_idle(self) -> None:
        """Process all wakes that are due by now. The index is not read, because it is swept only once a minute."""
        run_until_idle(self._gateway.composition.workflow_services().waker, self.instances, self.clock, is_swept=False)

    def copy_instances(self) -> InstancesCopy:
        """Return a copy of all instances, for `back_to`."""
        return deepcopy({name: rows for name, rows in vars(self.instances).items() if isinstance(rows, dict)})

    def restore_instances(self, kept: InstancesCopy) -> None:
        vars(self.instances).update(deepcopy(dict(kept)))

    def _token(self, caller: str) -> str:
        """Return the caller's token, a new one after the clock has advanced, because tokens expire."""
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
        return self._gateway.make_token(**claims, **({"amr": ["pwd"]} if principal.human else {}))
