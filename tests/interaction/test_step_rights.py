"""Work that goes on without its caller ends when the caller loses the right to it."""

from collections.abc import Mapping, Sequence
from typing import Any, override

import pytest

from signpost.adapters.memory import MemoryApiKeys, MemoryDirectory
from signpost.calling import wire
from signpost.catalogue.publishing.catalogue import CataloguePublisher
from signpost.catalogue.publishing.publish_functions import PublishFunctions
from signpost.catalogue.publishing.publisher import Publisher
from signpost.content.callers import Caller
from signpost.contract import Executor, HostedFunction, Result
from signpost.errors import Unavailable
from signpost.identity.api_keys import PresentedKey
from signpost.identity.credentials import ApiKey
from signpost.model import JsonObject, Principal
from signpost.workflow.engine.steps import ExecutorFailure, ExecutorOutcome
from signpost.workflow.ports import StepOutcome
from tests.support.manifests import publish
from tests.support.memory_gateway import MemoryGateway
from tests.support.memory_worker import build_memory_worker
from tests.support.memory_workflows import run_until_idle
from tests.support.played_executors import ScriptedExecutor
from tests.support.registry import CountingTimestamps
from tests.support.tool_answers import read_tool_answer

TENANT = "acme"
BUSY = ExecutorFailure("transient_error", "The service is busy.")
RETRY: JsonObject = {"retry": {"maxAttempts": 3, "backoff": "fixed", "initialDelayMs": 30_000}}
"""The pause is too long for a call, so the worker makes the next attempt."""
FALLBACK: JsonObject = {**RETRY, "fallback": {"executors": [{"kind": "scripted"}, {"kind": "noop"}]}}
CHILD: JsonObject = {"kind": "workflow", "definitionId": "child"}
AUTOMATIC: JsonObject = {"actor": "deterministic", "target": "done", "executor": {"kind": "scripted"}}


def workflow(**transitions: JsonObject) -> JsonObject:
    return {"initialState": "a", "states": {"a": {"transitions": transitions}, "done": {"terminal": True}}}


ONCE: JsonObject = {"idempotent": True, "retry": {"maxAttempts": 1}}
WORKFLOWS: Mapping[str, Any] = {
    "send": workflow(go={"target": "done", "executor": {"kind": "scripted"}, "reliability": RETRY}),
    "fall": workflow(go={"target": "done", "executor": {"kind": "scripted"}, "reliability": FALLBACK}),
    "chain": workflow(go={**AUTOMATIC, "reliability": RETRY}),
    "once": workflow(go={"target": "done", "executor": {"kind": "scripted"}, "reliability": ONCE}),
    "parent": workflow(go={"target": "done", "executor": CHILD}),
    "child": workflow(go={"target": "done", "executor": {"kind": "scripted"}, "reliability": RETRY}),
}


class FailingApiKeys(MemoryApiKeys):
    is_unavailable = False

    @override
    def find(self, tenant: str, key_id: str) -> ApiKey | None:
        if self.is_unavailable:
            raise Unavailable("The table cannot be read.")
        return super().find(tenant, key_id)


class World:
    """A gateway, a worker and two callers with API keys."""

    def __init__(self, *outcomes: StepOutcome) -> None:
        self.gateway = MemoryGateway()
        self.keys = FailingApiKeys()
        self.gateway.replace_adapters(api_keys=self.keys)
        self.executor = ScriptedExecutor(*outcomes)
        self.gateway.step_executors["scripted"] = self.executor
        adapters = self.gateway.adapters
        manifest = {"version": 1, "workflows": WORKFLOWS}
        publish(adapters.content, adapters.values, adapters.definitions, TENANT, manifest)
        self.ann, self.bob = self.gateway.make_key(TENANT), self.gateway.make_key(TENANT)
        self._worker = build_memory_worker(self.gateway)

    def deny(self, key: PresentedKey, *names: str) -> None:
        """Publish a rule that denies items to the caller with this key."""
        adapters = self.gateway.adapters
        catalogues = CataloguePublisher(
            content=adapters.content, values=adapters.values, definitions=adapters.definitions
        )
        functions = PublishFunctions(
            Publisher(
                content=adapters.content,
                bodies=adapters.bodies,
                catalogues=catalogues,
                timestamps=CountingTimestamps(),
            )
        )
        author = Caller(TENANT, Principal("operator", TENANT, "signpost:operator"), self.gateway.clock.now() + 20)
        rule: JsonObject = {"kind": "deny", "who": [f"subject:api-key:{key.key_id}"], "what": list(names)}
        answer = functions.call("manifest::publish", {"policies": {"no": rule}}, author)
        assert isinstance(answer, dict), answer

    def revoke(self, key: PresentedKey) -> None:
        self.keys.revoke(TENANT, key.key_id, self.gateway.clock.now())

    def call(self, key: PresentedKey, tool: str, path: str = "/mcp", **arguments: Any) -> Any:
        params: JsonObject = {"name": tool, "arguments": arguments}
        return read_tool_answer(self.gateway.request("tools/call", params, credential=str(key), path=path))

    def start(self, key: PresentedKey, definition: str) -> Any:
        return self.call(key, "workflow.start", definitionId=definition, input={})

    def submit(self, key: PresentedKey, started: Any) -> Any:
        workflow_id = started["workflowId"]
        return self.call(
            key, "workflow.submit", workflowId=workflow_id, expectedVersion=1, transition="go", arguments={}
        )

    def work(self, seconds: float = 60) -> None:
        self.gateway.clock.advance(seconds)
        run_until_idle(self._worker, self.gateway.instances, self.gateway.clock, is_swept=True)

    def read(self, key: PresentedKey, started: Any) -> Any:
        return self.call(key, "workflow.get", workflowId=started["workflowId"])

    def step_of(self, key: PresentedKey, definition: str) -> Any:
        """Start a workflow and take its step, which is pending then."""
        started = self.start(key, definition)
        answer = self.submit(key, started) if definition != "chain" else started
        assert "pending" in answer
        return started


def linked(answer: Any) -> Sequence[str]:
    return [link["args"]["transition"] for link in answer["links"] if link["rel"] == "transition"]


@pytest.mark.invariant(96)
def test_a_step_is_not_repeated_in_the_name_of_a_revoked_key_by_another_caller() -> None:
    world = World(ExecutorFailure("timeout", "No answer.", "unknown"), ExecutorOutcome({}))
    started = world.start(world.ann, "once")
    assert "inDoubt" in world.submit(world.ann, started)
    world.revoke(world.ann)
    world.work(900)
    (retry,) = [link for link in world.read(world.bob, started)["links"] if link["args"].get("transition") == "$retry"]
    answer = world.call(world.bob, "workflow.submit", **retry["args"])
    assert answer["error"]["errorClass"] == "access_lost", answer
    assert len(world.executor.attempts) == 1


@pytest.mark.invariant(96)
@pytest.mark.parametrize("definition", ["send", "fall", "chain"])
def test_a_retry_is_not_made_for_a_revoked_key(definition: str) -> None:
    world = World(BUSY)
    started = world.step_of(world.ann, definition)
    world.revoke(world.ann)
    world.work()
    answer = world.read(world.bob, started)
    assert answer["fault"]["errorClass"] == "access_lost"
    assert "The API key was revoked" in answer["fault"]["message"]
    assert (answer["state"], linked(answer)) == ("a", ["go"])
    assert len(world.executor.attempts) == 1


@pytest.mark.invariant(96)
def test_the_step_of_a_child_is_not_retried_for_a_revoked_key() -> None:
    world = World(BUSY)
    parent = world.step_of(world.ann, "parent")
    child = {"workflowId": world.read(world.ann, parent)["pending"]["workflowId"]}
    assert "pending" in world.submit(world.ann, child)
    world.revoke(world.ann)
    world.work()
    assert world.read(world.bob, child)["fault"]["errorClass"] == "access_lost"
    assert len(world.executor.attempts) == 1


def test_a_parent_hears_of_the_end_of_its_child_although_its_key_was_revoked() -> None:
    world = World(ExecutorOutcome({}))
    parent = world.step_of(world.ann, "parent")
    child = {"workflowId": world.read(world.ann, parent)["pending"]["workflowId"]}
    world.revoke(world.ann)
    assert world.submit(world.bob, child)["terminal"]
    world.work(1)
    assert world.read(world.bob, parent)["state"] == "done"


@pytest.mark.invariant(96)
def test_a_retry_is_not_made_where_rules_deny_the_workflow_by_now() -> None:
    world = World(BUSY, BUSY, ExecutorOutcome({}))
    own, other = world.step_of(world.ann, "send"), world.start(world.bob, "send")
    assert "pending" in world.submit(world.ann, other)
    world.deny(world.ann, "workflow:send")
    world.work()
    assert world.read(world.bob, own)["fault"]["errorClass"] == "access_lost"
    assert world.read(world.bob, other)["state"] == "done", "rules apply to the workflows that a principal has started"


@pytest.mark.parametrize("denied", ["workflow:child", "workflow:parent"])
def test_rules_do_not_stop_the_step_of_a_child_which_an_author_has_chosen(denied: str) -> None:
    world = World(BUSY, ExecutorOutcome({}))
    parent = world.step_of(world.ann, "parent")
    child = {"workflowId": world.read(world.ann, parent)["pending"]["workflowId"]}
    assert "pending" in world.submit(world.ann, child)
    world.deny(world.ann, denied)
    world.work()
    assert world.read(world.bob, child)["state"] == "done"
    assert len(world.executor.attempts) == 2


@pytest.mark.invariant(96)
@pytest.mark.parametrize("loss", ["revoked", "slow::*", "skill:patient", "capability:patient", "patient"])
def test_a_long_call_is_not_made_without_the_right_to_it(loss: str) -> None:
    world = World()
    sent: list[JsonObject] = []

    def answer(message: JsonObject) -> JsonObject:
        sent.append(message)
        return wire.reply_message(Result("done"))

    world.gateway.executors["arn:patient"] = answer
    executor = Executor("arn:patient", "secret:patient", 60_000)
    hosted = HostedFunction("slow::call", name="patient", timeout_ms=40_000)
    assert MemoryDirectory(world.gateway.functions).place(TENANT, executor, [hosted]) == []
    started = world.call(world.ann, "skill:patient", "/mcp/flat")
    if loss == "revoked":
        world.revoke(world.ann)
    else:
        world.deny(world.ann, loss)
    world.work(3)
    instance = world.gateway.instances.load(TENANT, started["workflowId"])
    assert instance is not None
    assert instance.fault is not None
    assert (instance.fault.error_class, sent) == ("access_lost", [])


def test_an_attempt_waits_while_the_rights_cannot_be_read() -> None:
    world = World(BUSY, ExecutorOutcome({}))
    started = world.step_of(world.ann, "send")
    world.keys.is_unavailable = True
    world.gateway.clock.advance(60)
    world.work(0)
    assert len(world.executor.attempts) == 1
    world.keys.is_unavailable = False
    world.work(20)
    assert world.read(world.ann, started)["state"] == "done"


def test_an_expired_key_loses_its_rights() -> None:
    world = World(BUSY)
    started = world.step_of(world.gateway.make_key(TENANT, lasting=40), "send")
    world.work()
    assert "expired" in world.read(world.bob, started)["fault"]["message"]
