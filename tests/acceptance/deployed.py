"""The deployed test stage: its registry function, its endpoint, its bus, and functions that play scripts."""

import json
import threading
import uuid
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, override

from signpost.contract import HostedFunction
from signpost.directory import manifest
from tests.acceptance.bus import EventRecorder, add_target
from tests.acceptance.cases import Case, Step
from tests.acceptance.expectations import Seen
from tests.acceptance.frames import endpoint_of, frame_of, seen_of_rpc
from tests.acceptance.worlds import check_given, check_known, hosted_of, registry_answer_seen, settings_of
from tests.support import executors as executor_stack
from tests.support.executors import Executors
from tests.support.laptop import Laptop

STACK = "acceptance"
EXECUTORS = "acceptance-executors"
STAGE_OWN = ("stub", "request_format", "metadata", "readable")
"""Members of a given function that are not part of its script."""
MARK = "mark-of-the-player-"


class CachedClientsLaptop(Laptop):
    """The same laptop, whose clients are made once: they are for a hundred tenants."""

    def __init__(self, laptop: Laptop) -> None:
        vars(self).update(vars(laptop))
        self._clients: dict[str, Any] = {}
        self._making = threading.Lock()

    @override
    def client(self, service: str) -> Any:
        with self._making:
            if service not in self._clients:
                self._clients[service] = super().client(service)
            return self._clients[service]


@dataclass(frozen=True)
class Deployment:
    executors: Executors
    bus: EventRecorder
    placing: threading.Lock = field(default_factory=threading.Lock)
    """A placement writes the executor's keys, which no two should do at once."""

    def invoke(self, tenant: str, function_id: str, payload: Any) -> Seen:
        return registry_answer_seen(self.ask_registry(function_id, payload, tenant=tenant))

    def ask_registry(self, function_id: str, payload: Any, **who: str) -> Any:
        event = json.dumps({"function_id": function_id, "payload": payload, **who})
        name = self.executors.gateway.deployed.outputs["RegistryFunctionName"]
        answer = self.executors.laptop.client("lambda").invoke(FunctionName=name, Payload=event.encode())
        assert "FunctionError" not in answer, answer["Payload"].read()
        return json.loads(answer["Payload"].read())

    def warm_up(self, callers: int) -> None:
        """A sandbox for each caller: a stub has three seconds, and a case may say how long an answer takes, but many
        that start at once take longer."""
        asked = json.loads(manifest.MANIFEST_REQUEST)
        with ThreadPoolExecutor(2 * callers) as threads:
            # One that was stopped for taking too long may still be at it when the next one is called.
            stubs = [threads.submit(self.executors.invoke, "stub", asked) for _ in range(2 * callers)]
            registries = [threads.submit(self.invoke, "nobody", "skills::list", {}) for _ in range(callers)]
            key, look = self.executors.make_key("nobody"), {"name": "workflow.get", "arguments": {"workflowId": "none"}}
            gateways = [
                threads.submit(self.executors.gateway.request, key, "tools/call", look) for _ in range(2 * callers)
            ]
            for answered in (*stubs, *registries, *gateways):
                answered.result()

    def place(self, tenant: str, hosted: Sequence[HostedFunction]) -> None:
        with self.placing:
            self.executors.place("stub", hosted, tenant)

    def add_failing_subscriber(self, tenant: str, event_type: str) -> None:
        pattern = {"detail-type": [event_type], "resources": [f"urn:signpost:tenant:{tenant}"]}
        target = f"arn:aws:lambda:us-east-1:000000000000:function:{EXECUTORS}-failing"
        bus = self.executors.gateway.deployed.outputs["EventBusName"]
        add_target(self.executors.laptop, bus, f"failing-{tenant}", pattern, target)


@contextmanager
def deploy_stage(laptop: Laptop) -> Generator[Deployment]:
    frugal = CachedClientsLaptop(laptop)
    allowed = ",".join(executor_stack.list_arns(EXECUTORS))
    gateway = frugal.deploy(STACK, variant="test", AuthMode="both", ExecutorFunctions=allowed)
    executors = executor_stack.deploy_executors(frugal, gateway, EXECUTORS)
    with EventRecorder(frugal, gateway.deployed.outputs["EventBusName"]) as bus:
        yield Deployment(executors, bus)


class Tenant:
    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._executors = deployment.executors
        self._name = f"case-{uuid.uuid4().hex[:16]}"
        self._functions: Sequence[str] = ()
        self._key = ""
        self._told = 0
        """Calls that `calls` has answered."""
        self._marks = 0

    def prepare(self, case: Case) -> None:
        check_known(case)
        self._executors.set_settings(self._name, shipped_content=0, breaker_failures=0)
        for entry in case.given:
            self._executors.set_settings(self._name, **settings_of(entry))
        if any(step.op == "mcp" for step in case.steps):
            self._key = self._executors.make_key(self._name)
        if stubs := case.gives("stub"):
            self._host(stubs)
        for entry in case.given:
            self._make_true(entry)

    def play(self, step: Step) -> Seen:
        return self._ask(step) if step.op == "mcp" else self._invoke(step.op, step.input)

    def calls(self) -> Sequence[Any]:
        found = [
            (call["at"], {"function_id": function, "payload": call["arguments"]})
            for function in self._functions
            for call in self._executors.list_calls(self._name, function)
        ]
        new = [call for _, call in sorted(found, key=lambda one: one[0])][self._told :]
        self._told += len(new)
        return new

    def mark(self) -> None:
        """Leaves the tenant as it was."""
        self._marks += 1
        marker = f"{MARK}{self._marks}"
        check_given({"call": "a marker"}, self._invoke("skills::register", {"id": marker, "skill": "# Marker"}))
        check_given({"call": "a marker"}, self._invoke("skills::unregister", {"id": marker}))

    def events(self) -> Sequence[Sequence[Any]]:
        steps: list[list[Any]] = []
        last = {"type": "skills::on-change", "payload": {"op": "unregister", "id": f"{MARK}{self._marks}"}}
        for event in self._deployment.bus.until(self._name, last):
            if not event["payload"].get("id", "").startswith(MARK):
                steps[-1:] = [[*steps[-1], event]] if steps else []
            elif event["payload"]["op"] == "unregister":
                steps.append([])
        return steps[:-1]

    def _host(self, stubs: Sequence[Mapping[str, Any]]) -> None:
        self._functions = [stub["stub"] for stub in stubs]
        for stub in stubs:
            script = {name: value for name, value in stub.items() if name not in STAGE_OWN}
            self._executors.write_script(self._name, stub["stub"], [script])
        self._deployment.place(self._name, hosted_of(stubs))

    def _make_true(self, entry: Mapping[str, Any]) -> None:
        if "call" in entry:
            check_given(entry, self._invoke(entry["call"], entry["input"]))
        elif entry.get("failing"):
            self._deployment.add_failing_subscriber(self._name, entry["subscribe"])

    def _invoke(self, function_id: str, payload: Any) -> Seen:
        return self._deployment.invoke(self._name, function_id, payload)

    def _ask(self, step: Step) -> Seen:
        body, headers = frame_of(step)
        authorization = {"authorization": f"Bearer {self._key}", "accept": "application/json, text/event-stream"}
        sent = {**headers, **authorization}
        return seen_of_rpc(self._executors.gateway.send("POST", endpoint_of(step), body=body, headers=sent))
