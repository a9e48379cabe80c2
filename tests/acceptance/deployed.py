"""The deployed test stage: its registry function, its endpoint, its bus, and functions that play scripts."""

import json
import threading
import uuid
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, override

from signpost.contract import Hosted
from signpost.execution import manifest
from signpost.protocol.eras import PROTOCOL_VERSION
from tests.acceptance.bus import Bus, add_target
from tests.acceptance.cases import Case, Step
from tests.acceptance.expectations import Seen
from tests.acceptance.values import members_of
from tests.acceptance.worlds import check_given, seen_of
from tests.support import executors as executor_stack
from tests.support.executors import Executors
from tests.support.laptop import Laptop
from tests.support.memory_gateway import META, modern

STACK = "acceptance"
EXECUTORS = "acceptance-executors"
STAGE_OWN = ("stub", "request_format", "metadata")
"""Members of a given function that are not part of its script."""
OLDER = "2025-06-18"
RESOURCE_NOT_FOUND = -32002
"""What clients before 2026-07-28 are told, and none after."""
MARK = "mark-of-the-player-"


class OneClientEach(Laptop):
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
    bus: Bus
    placing: threading.Lock = field(default_factory=threading.Lock)
    """A placement writes the executor's keys, which no two should do at once."""

    def invoke(self, tenant: str, function_id: str, payload: Any) -> Seen:
        event = json.dumps({"function_id": function_id, "payload": payload, "tenant": tenant})
        name = self.executors.gateway.deployed.outputs["RegistryFunctionName"]
        answer = self.executors.laptop.client("lambda").invoke(FunctionName=name, Payload=event.encode())
        assert "FunctionError" not in answer, answer["Payload"].read()
        return seen_of(json.loads(answer["Payload"].read()))

    def warm_up(self, callers: int) -> None:
        """A sandbox for each caller: a stub has three seconds, and many that start at once may take longer."""
        asked = json.loads(manifest.REQUEST)
        with ThreadPoolExecutor(2 * callers) as threads:
            stubs = [threads.submit(self.executors.invoke, "stub", asked) for _ in range(callers)]
            registries = [threads.submit(self.invoke, "nobody", "skills::list", {}) for _ in range(callers)]
            for answered in (*stubs, *registries):
                answered.result()

    def place(self, tenant: str, functions: Sequence[str]) -> None:
        with self.placing:
            self.executors.place("stub", [Hosted(function) for function in functions], tenant)

    def add_failing_subscriber(self, tenant: str, event_type: str) -> None:
        pattern = {"detail-type": [event_type], "resources": [f"urn:signpost:tenant:{tenant}"]}
        target = f"arn:aws:lambda:us-east-1:000000000000:function:{EXECUTORS}-failing"
        bus = self.executors.gateway.deployed.outputs["EventBusName"]
        add_target(self.executors.laptop, bus, f"failing-{tenant}", pattern, target)


@contextmanager
def deployed(laptop: Laptop) -> Generator[Deployment]:
    frugal = OneClientEach(laptop)
    allowed = ",".join(executor_stack.arns(EXECUTORS))
    gateway = frugal.deploy(STACK, variant="test", AuthMode="both", ExecutorFunctions=allowed)
    executors = executor_stack.deploy(frugal, gateway, EXECUTORS)
    with Bus(frugal, gateway.deployed.outputs["EventBusName"]) as bus:
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
        self._executors.set(self._name, shipped_content=0, breaker_failures=0)
        if any(step.op == "mcp" for step in case.steps):
            self._key = self._executors.key(self._name)
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
            for call in self._executors.calls(self._name, function)
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
            self._executors.script(self._name, stub["stub"], [script])
        self._deployment.place(self._name, self._functions)

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
        answer = self._executors.gateway.send("POST", "/mcp", body=body, headers={**headers, **authorization})
        message = json.loads(answer.text) if answer.text else None
        found = members_of(message) or {}
        error = found.get("error", {}).get("message")
        return Seen(answer=found.get("result"), error=error, status=answer.status, body=message)


def frame_of(step: Step) -> tuple[str, dict[str, str]]:
    """The body as the file has it, with the headers that clients of its time send."""
    if isinstance(step.input, str):
        return step.input, _older_headers()
    frame = members_of(step.input) or {}
    params = members_of(frame.get("params")) or {}
    meta = members_of(params.get("_meta")) or {}
    if PROTOCOL_VERSION in meta or _expects_a_modern_answer(step, frame.get("method"), params):
        message, headers = modern(frame["method"], {**params}, {**(meta or META)})
        return json.dumps({**message, "id": frame["id"]}), headers
    is_first = frame.get("method") == "initialize"
    return json.dumps(step.input), {"content-type": "application/json"} if is_first else _older_headers()


def _older_headers() -> dict[str, str]:
    return {"content-type": "application/json", "mcp-protocol-version": OLDER}


def _expects_a_modern_answer(step: Step, method: Any, params: Mapping[str, Any]) -> bool:
    """To be told of a resource that is not there as only modern clients are."""
    codes = step.expect.get("rpc_error", [RESOURCE_NOT_FOUND])
    return method == "resources/read" and "uri" in params and RESOURCE_NOT_FOUND not in codes
