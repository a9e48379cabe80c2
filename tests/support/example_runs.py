"""Drives the workflows of examples/: in memory with a clock that tests advance, and on a deployed stack."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Protocol

from signpost.adapters.source_files import read_values
from signpost.identity.permissions import ADMINISTRATION
from signpost.model import Principal
from signpost.workflow.engine.actors import MAY_ACT_AS_SYSTEM
from signpost.workflow.engine.permissions import CANCEL
from tests.acceptance.callers import Credentials
from tests.support.commands import build_process_runner
from tests.support.example_workflows import EXAMPLES
from tests.support.gateway_workflows import TENANT, GatewayWorkflows
from tests.support.laptop import Laptop, Stack
from tests.support.tool_answers import read_tool_answer


def _person(subject: str, *roles: str) -> Principal:
    return Principal(subject, TENANT, "t", frozenset(roles), human=True)


PEOPLE: Mapping[str, Principal] = {
    "agent": Principal("agent-1", TENANT, "t"),
    "scheduler": Principal("scheduler-1", TENANT, "t", permissions=frozenset({MAY_ACT_AS_SYSTEM})),
    "night-agent": Principal("agent-2", TENANT, "t", frozenset({"on_call"})),
    "ann": _person("ann"),
    "rita": _person("rita", "release_manager"),
    "max": _person("max", "manager"),
    "mia": _person("mia", "manager"),
    "fay": _person("fay", "finance"),
    "finn": _person("finn", "finance"),
    "ed": _person("ed", "editor"),
    "eve": _person("eve", "editor"),
    "olga": _person("olga", "system_owner"),
    "bea": _person("bea", "board"),
    "ben": _person("ben", "board"),
    "carl": _person("carl", "change_manager"),
}


class ExampleGateway(Protocol):
    """The gateway on which an example is played."""

    def publish(self, example: str) -> str:
        """Publish the example and return the id of its workflow."""
        ...

    def call(self, tool: str, args: Mapping[str, Any], caller: str) -> Any: ...

    def wait(self, seconds: float) -> None: ...


class MemoryExamples:
    def __init__(self) -> None:
        self._world = GatewayWorkflows(PEOPLE)

    def publish(self, example: str) -> str:
        ((name, document),) = read_values(EXAMPLES[example] / "manifest.yaml")["workflows"].items()
        self._world.publish(name, document)
        return name

    def call(self, tool: str, args: Mapping[str, Any], caller: str) -> Any:
        return self._world.call(tool, args, caller)

    def wait(self, seconds: float) -> None:
        self._world.clock.advance(seconds)


class DeployedExamples:
    """A deployed stack: examples are published by the command and called over HTTP, by people who have logged in and by
    machines with keys."""

    def __init__(self, laptop: Laptop, stack: Stack) -> None:
        self._stack = stack
        self._signpost = build_process_runner(laptop)
        self._credentials = Credentials(laptop, stack)
        tenant = f"examples-{uuid.uuid4().hex[:8]}"
        self._callers = {name: replace(caller, tenant=tenant) for name, caller in PEOPLE.items()}
        self._author = Principal("author", tenant, "t", permissions=frozenset({ADMINISTRATION}))
        self.publish = cache(self._published)

    def _published(self, example: str) -> str:
        path, key = EXAMPLES[example] / "manifest.yaml", self._credentials.of(self._author)
        result = self._signpost("publish", str(path), "--stack", self._stack.deployed.name, SIGNPOST_AUTHORIZATION=key)
        assert result.returncode == 0, result.stderr
        (name,) = read_values(path)["workflows"]
        return name

    def call(self, tool: str, args: Mapping[str, Any], caller: str) -> Any:
        credential = self._credentials.of(self._callers[caller])
        return read_tool_answer(self._stack.request(credential, "tools/call", {"name": tool, "arguments": args}))

    def wait(self, seconds: float) -> None:
        raise NotImplementedError("The clock of a deployed stack cannot be advanced.")


class ExampleRun:
    """One workflow instance as its callers see it."""

    def __init__(
        self, stage: ExampleGateway, example: str, workflow_input: Mapping[str, Any], by: str = "agent"
    ) -> None:
        self._stage = stage
        started: Mapping[str, Any] = {"definitionId": stage.publish(example), "input": workflow_input}
        self.answer = stage.call("workflow.start", started, by)

    @property
    def state(self) -> str:
        return self.answer["state"]

    @property
    def chain(self) -> Sequence[str]:
        return [hop["transition"] for hop in self.answer.get("chain", [])]

    def list_transitions(self, who: str) -> Sequence[str]:
        seen = self._stage.call("workflow.get", {"workflowId": self.answer["workflowId"]}, who)
        names = [link["args"]["transition"] for link in seen["links"] if link["rel"] == "transition"]
        return [name for name in names if name != CANCEL]

    def read_prefill(self, transition: str) -> Mapping[str, Any]:
        links = {link["args"]["transition"]: link for link in self.answer["links"]}
        return links[transition]["args"]["arguments"]

    def submit(self, transition: str, who: str = "agent", **arguments: Any) -> str | None:
        """Submit a transition and return the code of its error; None if it has none."""
        args = {
            "workflowId": self.answer["workflowId"],
            "expectedVersion": self.answer["version"],
            "transition": transition,
            "arguments": arguments,
        }
        answer = self._stage.call("workflow.submit", args, who)
        self.answer = {**answer, "chain": answer.get("chain", [])}
        return answer.get("error", {}).get("code")

    def wait(self, seconds: float) -> None:
        self._stage.wait(seconds)
        self.answer = self._stage.call("workflow.get", {"workflowId": self.answer["workflowId"]}, "agent")
