"""Calls that are tasks, on a deployed stack: begun by the gateway, made by the worker, read and cancelled by a client
that follows tasks."""

import time
import uuid
from collections.abc import Mapping
from typing import Any

import pytest

from signpost.contract import HostedFunction
from signpost.mcp.revisions import CLIENT_CAPABILITIES
from signpost.mcp.surface import TASKS
from signpost.model import JsonObject
from signpost.workflow.wakes import WakeMessage
from stage.crashes import CRASH_STEP, CRASHED_AT, MORTAL_VARIABLE, PROCESS
from tests.support.counted_gateway import counted_gateway
from tests.support.deployed_workflows import DeployedWorkflows, deploy_workflows
from tests.support.effort import count_repetitions
from tests.support.executors import SHORT_LEASE_MARGIN_MS, Executors
from tests.support.laptop import Laptop, Stack
from tests.support.slowdown import SlowdownMeter
from tests.support.waiting import wait_for

pytestmark = pytest.mark.cloud

BRIDGE = "/mcp/functions"
DECLARED: JsonObject = {"extensions": {TASKS: {}}, "elicitation": {}}
SECONDS = count_repetitions(3, proof=90)
"""That the function takes; in `make prove` more than API Gateway gives a request."""
ANSWERED_WITHIN = 10
PATIENCE = 240
ENDINGS = ("completed", "failed", "cancelled")
SLOW = "trials::slow"
SLOW_MS = 4_000
LOST_AT = "after lambda.Invoke"
"""The step at which the worker is killed: the function has had its effect, and its result is not stored."""


class TaskCaller:
    """A client that follows tasks."""

    def __init__(self, stack: Stack, key: str) -> None:
        self._stack = stack
        self._key = key

    def request(self, method: str, params: Mapping[str, Any]) -> Any:
        meta: JsonObject = {CLIENT_CAPABILITIES: DECLARED}
        answer = self._stack.request(self._key, method, {**params, "_meta": meta}, path=BRIDGE)
        assert answer.status == 200, answer.text
        return answer.json["result"]

    def start(self, tool: str, **arguments: Any) -> str:
        created = self.request("tools/call", {"name": tool, "arguments": arguments})
        assert created["resultType"] == "task", created
        return created["taskId"]

    def get(self, task_id: str) -> Any:
        return self.request("tasks/get", {"taskId": task_id})

    def cancel(self, task_id: str) -> None:
        assert self.request("tasks/cancel", {"taskId": task_id})["resultType"] == "complete"

    def wait_for_end(self, task_id: str) -> Any:
        return wait_for(
            "the end of the task",
            lambda: self.get(task_id),
            lambda task: task["status"] in ENDINGS,
            patience=PATIENCE,
        )

    def read_run(self, task_id: str) -> Any:
        params = {"name": "workflow.get", "arguments": {"workflowId": task_id}}
        return self.request("tools/call", params)["structuredContent"]


@pytest.fixture
def caller(executors: Executors, tenant: str, key: str) -> TaskCaller:
    executors.place_manifest("patient", tenant)
    return TaskCaller(executors.gateway, key)


@pytest.mark.invariant(168)
def test_a_long_call_finishes_as_a_task_with_its_whole_result(
    executors: Executors, caller: TaskCaller, tenant: str
) -> None:
    effect = uuid.uuid4().hex
    began = time.monotonic()
    with SlowdownMeter() as machine:
        task_id = caller.start("patient__toil", effect=effect, seconds=SECONDS)
        first = caller.get(task_id)
        answered = time.monotonic() - began
    assert answered < machine.extend(ANSWERED_WITHIN)
    assert first["status"] == "working", first
    params: JsonObject = {"taskId": task_id, "_meta": {CLIENT_CAPABILITIES: DECLARED}}
    refused = executors.gateway.request(executors.make_key(tenant), "tasks/get", params, path=BRIDGE)
    assert refused.json["error"]["code"] == -32602, refused.text
    done = caller.wait_for_end(task_id)
    assert time.monotonic() - began > SECONDS
    assert (done["status"], done["result"]["isError"]) == ("completed", False), done
    assert done["result"]["structuredContent"]["step"].startswith(f"{task_id}.")
    assert [block["type"] for block in done["result"]["content"]] == ["text"]
    assert executors.count_effect(effect) == 1


@pytest.mark.invariant(166)
def test_a_task_that_is_cancelled_while_its_function_runs_stays_cancelled(
    executors: Executors, caller: TaskCaller
) -> None:
    effect = uuid.uuid4().hex
    task_id = caller.start("patient__toil", effect=effect, seconds=3)
    wait_for("the function to begin", lambda: executors.count_effect(effect), lambda count: count == 1)
    caller.cancel(task_id)
    assert caller.get(task_id)["status"] == "cancelled"
    run = wait_for("the end of the run", lambda: caller.read_run(task_id), lambda run: "pending" not in run)
    assert run["context"]["lastResult"]["time"] == 1
    caller.cancel(task_id)
    assert caller.get(task_id)["status"] == "cancelled"


@pytest.mark.invariant(169)
def test_a_task_asks_in_the_middle_and_finishes_with_the_answer(executors: Executors, caller: TaskCaller) -> None:
    effect = uuid.uuid4().hex
    task_id = caller.start("patient__interview", effect=effect, seconds=SECONDS)
    asked = wait_for(
        "the question",
        lambda: caller.get(task_id),
        lambda task: task["status"] in ("input_required", *ENDINGS),
        patience=PATIENCE,
    )
    (key,) = asked["inputRequests"]
    answers = {key: {"action": "accept", "content": {"name": "Alice"}}}
    assert caller.request("tasks/update", {"taskId": task_id, "inputResponses": answers})["resultType"] == "complete"
    done = caller.wait_for_end(task_id)
    assert (done["status"], done["result"]["structuredContent"]["name"]) == ("completed", "Alice"), done
    assert executors.count_effect(effect) == 1


def test_reading_a_task_costs_one_query(laptop: Laptop, executors: Executors, caller: TaskCaller, key: str) -> None:
    with counted_gateway(laptop, executors.gateway) as gateway:

        def request(method: str, **params: Any) -> tuple[Any, Mapping[str, int]]:
            meta: JsonObject = {CLIENT_CAPABILITIES: DECLARED}
            answer, calls = gateway.request(key, method, {**params, "_meta": meta}, path=BRIDGE)
            assert answer.status == 200, answer.text
            return answer.json["result"], calls

        arguments = {"effect": uuid.uuid4().hex, "seconds": 0}
        request("tools/call", name="patient__toil", arguments=arguments)  # reads the function and its settings
        created, calls = request("tools/call", name="patient__toil", arguments=arguments)
        assert calls == {"TransactWriteItems": 1}, created
        task_id = created["taskId"]
        assert request("tasks/get", taskId=task_id)[1] == {"Query": 1}
        caller.wait_for_end(task_id)
        done, calls = request("tasks/get", taskId=task_id)
        assert (done["status"], calls) == ("completed", {"Query": 1}), done
        assert request("tasks/cancel", taskId=task_id)[1] == {"Query": 1}


# Workers that are killed.


@pytest.fixture(scope="module")
def workflows(laptop: Laptop) -> DeployedWorkflows:
    deployed = deploy_workflows(laptop, "task-crashes", {"version": 1}, LeaseMarginMs=SHORT_LEASE_MARGIN_MS)
    deployed.functions.configure("Worker", **{MORTAL_VARIABLE: PROCESS})
    return deployed


def place_slow(workflows: DeployedWorkflows, **said: Any) -> None:
    hosted = HostedFunction(SLOW, timeout_ms=SLOW_MS, input_schema={"type": "object"}, task="required", **said)
    workflows.executors.place("trials", [hosted], workflows.tenant, timeout_ms=SLOW_MS)


def kill_worker_of(workflows: DeployedWorkflows, task_id: str) -> None:
    """Let a worker call the function of the task, and kill the worker before it stores the result."""
    record = {
        "messageId": task_id,
        "receiptHandle": task_id,
        "body": WakeMessage(workflows.tenant, task_id).text,
        "attributes": {"ApproximateReceiveCount": "1"},
    }
    answer = workflows.functions.invoke("Worker", {"Records": [record], CRASH_STEP: LOST_AT})
    assert answer[CRASHED_AT] == LOST_AT, answer


def wait_for_swept_end(workflows: DeployedWorkflows, caller: TaskCaller, task_id: str) -> Any:
    def look() -> Any:
        workflows.sweep()
        return caller.get(task_id)

    return wait_for("the end of the task", look, lambda task: task["status"] in ENDINGS, patience=PATIENCE)


@pytest.mark.invariant(167)
@pytest.mark.parametrize(("is_idempotent", "status", "effects"), [(False, "failed", 1), (True, "completed", 2)])
def test_the_task_of_a_killed_worker_is_repeated_only_with_consent(
    workflows: DeployedWorkflows, *, is_idempotent: bool, status: str, effects: int
) -> None:
    place_slow(workflows, idempotent=is_idempotent)
    caller, effect = TaskCaller(workflows.stack, workflows.key), uuid.uuid4().hex
    with workflows.functions.disable_event_sources("Worker"):
        task_id = caller.start("trials__slow", effect=effect, seconds=0.5)
        kill_worker_of(workflows, task_id)
        assert caller.get(task_id)["status"] == "working"
    done = wait_for_swept_end(workflows, caller, task_id)
    assert (done["status"], workflows.count_effects()[effect]) == (status, effects), done
    if status == "failed":
        assert done["error"]["data"]["effect"] == "unknown", done
    assert caller.get(task_id)["status"] == status
