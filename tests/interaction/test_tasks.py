"""Calls of tools as tasks, for clients that declare the tasks extension: the run behind each call is its store."""

import json
from collections.abc import Callable, Mapping
from typing import Any, override

import pytest

from signpost.adapters.memory import MemoryBreakers
from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.calling.failures import FAILURES, failure, reported_failure
from signpost.calling.lookup import REVALIDATION_INTERVAL
from signpost.contract import BreakerState, CallReply, ClientPresentation, Failure, HostedFunction, KeptResult, Result
from signpost.errors import Unavailable
from signpost.mcp.dispatch import LONGEST_ANSWER
from signpost.mcp.revisions import CLIENT_CAPABILITIES
from signpost.mcp.surface import TASKS
from signpost.model import InputRequired, Json, JsonObject
from signpost.workflow.instance import InstanceWrite, WriteCondition
from signpost.workflow.running.run_tasks import TASK_SECONDS
from signpost.workflow.task_ends import TaskEnd
from tests.support.function_tools import LEGACY, TENANT, YARD, FunctionToolClient, read_text
from tests.support.memory_gateway import MODERN, build_modern_request
from tests.support.memory_worker import build_memory_worker
from tests.support.memory_workflows import run_until_idle

FLAT, BRIDGE = "/mcp/flat", "/mcp/functions"
NAMES = {FLAT: "skill:build", BRIDGE: "yard__build"}
BUILD = "yard::build"
LONG_MS, SHORT_MS = 40_000, 5_000
OPEN: JsonObject = {"type": "object"}
BUILT: JsonObject = {"type": "object", "properties": {"built": {"type": "string"}}, "required": ["built"]}
DECLARED: JsonObject = {"extensions": {TASKS: {}}}
TASK_FIELDS = {
    "resultType", "taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs", "statusMessage", "_meta",
}  # fmt: skip


class TaskClient(FunctionToolClient):
    """A client that follows tasks, and a worker."""

    def __init__(self, endpoint: str = BRIDGE, version: str = MODERN, **hosted: Any) -> None:
        super().__init__(version, endpoint)
        self.name = NAMES[endpoint]
        self.capabilities = DECLARED
        self.host(hosted_build(**hosted))
        self.worker = build_memory_worker(self.gateway)
        self.during: Callable[[], object] = lambda: None
        """Happens while a function runs."""

    @override
    def _answer(self, message: JsonObject) -> JsonObject:
        answer = super()._answer(message)
        self.during()
        return answer

    @override
    def request(self, method: str, params: JsonObject | None = None, path: str | None = None) -> Any:
        if self.version != MODERN:
            return super().request(method, params, path)
        given = dict(params or {})
        meta = given.get("_meta", {})
        assert isinstance(meta, Mapping)
        return super().request(method, {**given, "_meta": {CLIENT_CAPABILITIES: self.capabilities, **meta}}, path)

    def start(self, token: str | None = None, **arguments: Any) -> Any:
        return self.call(self.name, arguments, token=token)

    def start_task(self, token: str | None = None, **arguments: Any) -> str:
        created = self.start(token, **arguments)
        assert created["resultType"] == "task", created
        return created["taskId"]

    def get(self, task_id: str) -> Any:
        return self.request("tasks/get", {"taskId": task_id})["result"]

    def cancel(self, task_id: str) -> Any:
        return self.request("tasks/cancel", {"taskId": task_id})["result"]

    def run_worker(self, *, is_swept: bool = False) -> None:
        run_until_idle(self.worker, self.gateway.instances, self.gateway.clock, is_swept=is_swept)

    def run_task(self, **arguments: Any) -> Any:
        """Start a task, let the worker run it, and return it."""
        task_id = self.start_task(**arguments)
        self.run_worker()
        return self.get(task_id)

    def read_run(self, task_id: str) -> Any:
        return self.call("workflow.get", {"workflowId": task_id})["structuredContent"]


def hosted_build(**said: Any) -> HostedFunction:
    wanted: dict[str, Any] = {"timeout_ms": LONG_MS, "input_schema": OPEN, **said}
    return HostedFunction(BUILD, **wanted)


@pytest.fixture(params=[FLAT, BRIDGE])
def client(request: pytest.FixtureRequest) -> TaskClient:
    return TaskClient(request.param)


def test_a_long_call_is_a_task_for_a_client_that_follows_tasks(client: TaskClient) -> None:
    client.replies[BUILD] = Result({"built": "ship"})
    began = client.gateway.clock.now()
    created = client.start(what="ship")
    assert created.keys() <= TASK_FIELDS
    assert (created["resultType"], created["status"]) == ("task", "working")
    assert created["taskId"].startswith("wf_")
    assert created["createdAt"] == created["lastUpdatedAt"] == "2027-01-15T08:00:00Z"
    assert (created["ttlMs"], created["pollIntervalMs"]) == (86_400_000, 1_000)
    assert (client.calls, client.gateway.clock.now() - began) == ([], 0)
    working = client.get(created["taskId"])
    assert (working["resultType"], working["status"], working["taskId"]) == ("complete", "working", created["taskId"])
    assert not {"result", "error", "inputRequests", "requestState"} & working.keys()
    client.run_worker()
    assert [call["arguments"] for call in client.calls] == [{"what": "ship"}]
    done = client.get(created["taskId"])
    assert (done["resultType"], done["status"]) == ("complete", "completed")
    assert done["result"]["structuredContent"] == {"built": "ship"}


SHOWN = ClientPresentation(
    [{"type": "image", "data": "aGk=", "mimeType": "image/png"}, {"type": "text", "text": "a ship"}],
    {"example.test/trace": [1, 2, {"deep": None}]},
)
REPLIES: Mapping[str, Result | Failure] = {
    "a text": Result("just a text"),
    "an object": Result({"built": "ship", "parts": [1, 2.5, None, True]}),
    "a list": Result([1, {"a": "ü\u2028"}]),
    "null": Result(None),
    "content blocks": Result({"built": "ship"}, shown=SHOWN),
    "evidence": Result({"built": "ship"}, [{"kind": "check", "ok": True}], SHOWN),
    "a long object": Result({"text": "x" * 150_000}),
    "a long text": Result("y" * 150_000),
    "a value that is nested too deep": Result(json.loads("[" * 70 + "]" * 70)),
    "a reported failure": reported_failure("permanent_error", "There is no wood."),
    "a reported failure to repeat": Failure("reported", "rate_limited", "none", "Busy.", 2_500),
    "a reported failure with content": Failure("reported", "permanent_error", "none", "No.", None, SHOWN),
    "invalid arguments": failure("invalid_arguments", BUILD),
}


@pytest.mark.invariant(168)
@pytest.mark.parametrize("schema", [None, OPEN], ids=["no output schema", "an output schema"])
@pytest.mark.parametrize("name", REPLIES)
def test_the_result_of_a_task_is_the_result_of_a_call_that_waits(name: str, schema: JsonObject | None) -> None:
    client = TaskClient(timeout_ms=SHORT_MS, output_schema=schema)
    client.replies[BUILD] = REPLIES[name]
    waited = client.request_call(client.name)
    client.settings.set(TENANT, BUILD, "tool_timeout_ms", LONG_MS)
    client.advance_clock(REVALIDATION_INTERVAL)
    task = client.run_task()
    if "error" in waited:  # the result does not satisfy the output schema: the call that waits ends in an error too
        assert (task["status"], waited["error"]["code"], task["error"]["code"]) == ("failed", -32603, -32603)
        assert "result" not in task
    else:
        assert (task["status"], task.get("result")) == ("completed", waited["result"])
        assert "error" not in task


def test_a_result_that_is_too_long_to_be_sent_is_a_link_in_the_task(client: TaskClient) -> None:
    client.replies[BUILD] = KeptResult("", 5_000_000, "0" * 64)
    task = client.run_task()
    (link,) = [block for block in task["result"]["content"] if block["type"] == "resource_link"]
    assert task["status"] == "completed"
    assert client.calls[0]["keepAt"] in link["uri"]


def test_a_result_that_is_too_long_for_a_run_is_whole_in_the_task(client: TaskClient) -> None:
    client.replies[BUILD] = Result({"text": "x" * 1_100_000})
    task_id = client.start_task()
    client.run_worker()
    task = client.get(task_id)
    assert (task["status"], len(task["result"]["content"][0]["text"]) > 1_100_000) == ("completed", True)
    assert "inDoubt" in client.read_run(task_id)


def test_a_result_that_is_too_long_for_an_answer_is_a_link_in_the_task(client: TaskClient) -> None:
    client.replies[BUILD] = Result("x" * LONGEST_ANSWER)
    task = client.run_task()
    (link,) = [block for block in task["result"]["content"] if block["type"] == "resource_link"]
    kept: Any = client.gateway.adapters.long_answers
    whole = json.loads(kept.kept[link["uri"]])
    assert (task["status"], task["result"]["resultType"]) == ("completed", "complete")
    assert (len(whole["content"][0]["text"]), whole["isError"]) == (LONGEST_ANSWER, False)


@pytest.mark.parametrize("code", sorted(set(FAILURES) - {"invalid_arguments"}))
def test_a_failure_that_the_function_does_not_state_fails_the_task(code: str) -> None:
    client = TaskClient()
    client.replies[BUILD] = failure(code, BUILD)
    task = client.run_task()
    assert (task["status"], task["error"]["code"]) == ("failed", -32603)
    assert task["error"]["message"] == task["statusMessage"] == failure(code, BUILD).message
    assert task["error"]["data"] == {"code": code, "effect": FAILURES[code].outcome}
    assert "result" not in task


# Negotiation, and the owner of a task.


def test_tasks_are_advertised_where_tools_of_functions_are_called() -> None:
    client = TaskClient()
    advertised = {
        path: TASKS in client.request("server/discover", path=path)["result"]["capabilities"].get("extensions", {})
        for path in ("/mcp", FLAT, BRIDGE)
    }
    assert advertised == {"/mcp": False, FLAT: True, BRIDGE: True}
    assert "tasks" not in client.request("server/discover")["result"]["capabilities"]
    assert client.request("tasks/get", {"taskId": "wf_1"}, path="/mcp")["error"]["code"] == -32601


@pytest.mark.parametrize("capabilities", [{}, {"extensions": {}}, {"extensions": {TASKS: None}}, {"tasks": {}}])
def test_a_client_that_does_not_declare_tasks_gets_a_run_and_no_task(
    client: TaskClient, capabilities: JsonObject
) -> None:
    task_id = client.start_task("monday")
    client.capabilities = capabilities
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        error = client.request(method, {"taskId": task_id, "inputResponses": {}})["error"]
        assert (error["code"], error["data"]) == (-32021, {"requiredCapabilities": {"extensions": {TASKS: {}}}})
    answer = client.start("monday")
    assert (answer["resultType"], answer["structuredContent"]["workflowId"]) == ("complete", task_id)
    assert "taskId" not in answer


def test_an_old_client_gets_a_run_and_finds_no_methods_of_tasks() -> None:
    client = TaskClient(version=LEGACY)
    assert "pending" in client.start()["structuredContent"]
    for method in ("tasks/get", "tasks/update", "tasks/cancel", "tasks/list", "tasks/result"):
        assert client.request(method, {"taskId": "wf_1"})["error"]["code"] == -32601


@pytest.mark.parametrize("method", ["tasks/list", "tasks/result"])
def test_methods_of_the_former_tasks_do_not_exist(client: TaskClient, method: str) -> None:
    assert client.request(method, {"taskId": "wf_1"})["error"]["code"] == -32601


@pytest.mark.invariant(163)
@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
def test_unknown_foreign_and_expired_tasks_get_the_same_answer(client: TaskClient, method: str) -> None:
    expired, own_key = client.start_task(), client.key
    client.advance_clock(TASK_SECONDS)
    task_id = client.start_task()
    run_id = client.call("workflow.start", {"input": {"capability": client.name}}).get("structuredContent", {})
    client.capabilities = {}
    no_task = client.start()["structuredContent"]["workflowId"]
    client.capabilities = DECLARED
    ids = ["", "wf_1", "nothing", "wf_" + "0" * 32, "a\u2028", expired, no_task, str(run_id.get("workflowId"))]
    answers = {json.dumps(client.request(method, {"taskId": name, "inputResponses": {}})) for name in ids}
    client.key = str(client.gateway.make_key())
    answers.add(json.dumps(client.request(method, {"taskId": task_id, "inputResponses": {}})))
    client.key = str(client.gateway.make_key("another"))
    answers.add(json.dumps(client.request(method, {"taskId": task_id, "inputResponses": {}})))
    assert len(answers) == 1
    assert json.loads(answers.pop())["error"]["code"] == -32602
    client.key = own_key
    assert client.get(task_id)["status"] == "working"


@pytest.mark.parametrize("task_id", [None, 7, ["wf_1"], {}])
def test_a_task_id_that_is_no_text_is_refused(client: TaskClient, task_id: Any) -> None:
    assert client.request("tasks/get", {"taskId": task_id})["error"]["code"] in (-32602, -32020)


@pytest.mark.parametrize("responses", [None, 7, [], "yes"])
def test_responses_that_are_no_object_are_refused(client: TaskClient, responses: Any) -> None:
    task_id = client.start_task()
    error = client.request("tasks/update", {"taskId": task_id, "inputResponses": responses})["error"]
    assert (error["code"], "inputResponses" in error["message"]) == (-32602, True)


@pytest.mark.parametrize("name", [None, "wf_another"])
def test_the_header_with_the_name_has_to_repeat_the_task_id(client: TaskClient, name: str | None) -> None:
    message, headers = build_modern_request(
        "tasks/get", {"taskId": client.start_task(), "_meta": {CLIENT_CAPABILITIES: DECLARED}}
    )
    sent = {key: value for key, value in headers.items() if key != "mcp-name"} | ({"mcp-name": name} if name else {})
    answer = client.gateway.send(
        path=client.endpoint, body=json.dumps(message), headers={**sent, "authorization": f"Bearer {client.key}"}
    )
    assert (answer.status, answer.json["error"]["code"]) == (400, -32020)


def test_a_task_can_be_read_at_each_endpoint_with_tasks() -> None:
    client = TaskClient(FLAT)
    task_id = client.start_task()
    assert client.request("tasks/get", {"taskId": task_id}, path=BRIDGE)["result"]["taskId"] == task_id


def test_the_former_parameter_for_tasks_changes_nothing(client: TaskClient) -> None:
    client.host(hosted_build(timeout_ms=SHORT_MS))
    former: JsonObject = {"name": client.name, "arguments": {}, "task": {"ttl": 60_000, "pollInterval": 100}}
    assert client.request("tools/call", former)["result"]["resultType"] == "complete"


# The choice of the author.


def test_a_function_that_requires_a_task_is_left_to_the_worker_though_it_is_short(client: TaskClient) -> None:
    client.host(hosted_build(timeout_ms=SHORT_MS, task="required"))
    task_id = client.start_task(what="ship")
    assert client.calls == []
    client.run_worker()
    assert (client.get(task_id)["status"], len(client.calls)) == ("completed", 1)


@pytest.mark.invariant(164)
def test_a_function_that_requires_a_task_is_not_run_for_a_client_without_tasks(client: TaskClient) -> None:
    client.host(hosted_build(timeout_ms=SHORT_MS, task="required"))
    client.capabilities = {}
    error = client.request_call(client.name).get("error", {})
    assert (error.get("code"), error.get("data")) == (-32021, {"requiredCapabilities": {"extensions": {TASKS: {}}}})
    client.run_worker()
    assert (client.calls, client.gateway.instances.wakes) == ([], [])


@pytest.mark.invariant(164)
@pytest.mark.parametrize("endpoint", [FLAT, BRIDGE])
def test_a_function_that_requires_a_task_answers_old_clients_with_a_sentence(endpoint: str) -> None:
    client = TaskClient(endpoint, LEGACY, timeout_ms=SHORT_MS, task="required")
    refused = client.start()
    assert (refused["isError"], "2026-07-28" in read_text(refused)) == (True, True)
    client.run_worker()
    assert (client.calls, client.gateway.instances.wakes) == ([], [])


@pytest.mark.parametrize("capabilities", [DECLARED, {}])
def test_a_function_that_is_never_a_task_is_waited_for_as_long_as_a_call_waits(
    client: TaskClient, capabilities: JsonObject
) -> None:
    client.host(hosted_build(task="never", output_schema=OPEN))
    client.capabilities = capabilities
    answer = client.start(what="ship")
    assert (answer["resultType"], answer["structuredContent"]) == ("complete", {"what": "ship"})
    assert client.calls[0]["deadline"] - client.gateway.clock.now() == pytest.approx(25)
    tools = {tool["name"]: tool for tool in client.list_tools()}
    assert "outputSchema" in tools[client.name]
    assert "workflow.get" not in tools


def test_a_short_function_is_answered_at_once(client: TaskClient) -> None:
    client.host(hosted_build(timeout_ms=SHORT_MS, task="auto"))
    assert client.start(what="ship")["structuredContent"] == {"what": "ship"}


def test_a_long_call_with_an_output_schema_is_a_task(client: TaskClient) -> None:
    client.host(hosted_build(timeout_ms=SHORT_MS, output_schema=BUILT))
    client.settings.set(TENANT, BUILD, "tool_timeout_ms", LONG_MS)
    client.replies[BUILD] = Result({"built": "ship"})
    assert client.run_task()["result"]["structuredContent"] == {"built": "ship"}


def test_a_refused_call_is_no_task(client: TaskClient) -> None:
    client.host(hosted_build(input_schema={**OPEN, "required": ["what"]}))
    assert (client.start()["isError"], client.gateway.instances.wakes) == (True, [])
    until = client.gateway.clock.now() + 60
    MemoryBreakers(client.gateway.functions).open(TENANT, BUILD, BreakerState(until, 3, "crashed"))
    client.advance_clock(REVALIDATION_INTERVAL)
    assert (client.start(what="ship")["isError"], client.gateway.instances.wakes) == (True, [])


def test_calls_with_the_same_token_are_one_task(client: TaskClient) -> None:
    task_id = client.start_task("monday", what="ship")
    assert client.start_task("monday", what="ship") == task_id
    client.run_worker()
    again = client.start("monday", what="ship")
    assert (again["taskId"], again["status"], "result" in again) == (task_id, "completed", False)
    client.host(hosted_build(timeout_ms=SHORT_MS))
    client.advance_clock(REVALIDATION_INTERVAL)
    assert client.start_task("monday", what="ship") == task_id
    assert len(client.calls) == 1


def test_a_repeated_token_of_an_expired_task_is_answered_with_its_run(client: TaskClient) -> None:
    task_id = client.start_task("monday")
    client.run_worker()
    client.advance_clock(TASK_SECONDS)
    again = client.start("monday")
    assert (again["resultType"], again["structuredContent"]["workflowId"]) == ("complete", task_id)
    assert len(client.calls) == 1


def test_a_run_that_was_no_task_does_not_become_one_by_its_token(client: TaskClient) -> None:
    client.capabilities = {}
    run = client.start("monday")["structuredContent"]["workflowId"]
    client.capabilities = DECLARED
    again = client.start("monday")
    assert (again["resultType"], again["structuredContent"]["workflowId"]) == ("complete", run)


# The end of a task.


def freeze(task: Any) -> str:
    return json.dumps({name: value for name, value in task.items() if name != "pollIntervalMs"}, sort_keys=True)


@pytest.mark.invariant(165)
def test_a_completed_task_does_not_change_when_its_run_goes_on(client: TaskClient) -> None:
    client.replies[BUILD] = Result({"built": "ship"})
    task_id = client.start_task(what="ship")
    client.run_worker()
    told = freeze(client.get(task_id))
    client.replies[BUILD] = Result({"built": "another"})
    (again, _cancel) = client.read_run(task_id)["links"]
    client.call(again["method"], again["args"])
    assert freeze(client.get(task_id)) == told
    client.run_worker()
    run = client.read_run(task_id)
    assert (run["context"], freeze(client.get(task_id))) == ({"lastResult": {"built": "another"}}, told)
    client.call("workflow.submit", run["links"][-1]["args"])
    assert client.read_run(task_id)["cancelled"]
    assert freeze(client.get(task_id)) == told


@pytest.mark.invariant(165)
@pytest.mark.parametrize("transition", ["$retry", "$resolve"])
def test_a_failed_task_does_not_change_when_an_operator_resolves_its_run(transition: str) -> None:
    client = TaskClient(FLAT)
    client.replies[BUILD] = failure("crashed", BUILD)
    token = client.gateway.make_token(sub="operator", tenant=TENANT, scope="workflow.resolve")
    client.key = token
    task_id = client.start_task()
    client.run_worker()
    told = freeze(client.get(task_id))
    assert json.loads(told)["status"] == "failed"
    client.replies[BUILD] = Result({"built": "ship"})
    link = next(link for link in client.read_run(task_id)["links"] if link["args"].get("transition") == transition)
    arguments = {**link["args"]["arguments"], **({"happened": True, "output": 7} if transition == "$resolve" else {})}
    client.call("workflow.submit", {**link["args"], "arguments": arguments})
    client.run_worker()
    assert client.read_run(task_id)["context"] == {"lastResult": 7 if transition == "$resolve" else {"built": "ship"}}
    assert freeze(client.get(task_id)) == told


def test_the_pause_between_two_reads_grows_with_the_age_of_the_task(client: TaskClient) -> None:
    task_id, pauses = client.start_task(), list[int]()
    for _ in range(4):
        pauses.append(client.get(task_id)["pollIntervalMs"])
        client.advance_clock(20)
    assert pauses == [1_000, 2_000, 4_000, 5_000]


# Cancellation.


@pytest.mark.invariant(166)
def test_a_cancelled_task_that_waits_for_a_worker_is_not_executed(client: TaskClient) -> None:
    task_id = client.start_task()
    assert client.cancel(task_id).keys() == {"resultType", "_meta"}
    told = client.get(task_id)
    assert (told["status"], "result" in told, "error" in told) == ("cancelled", False, False)
    client.run_worker()
    run = client.gateway.instances.load(TENANT, task_id)
    assert run is not None
    assert run.cancelled is not None
    assert (client.calls, run.cancelled.by) == ([], run.started_by)
    assert client.cancel(task_id)["resultType"] == "complete"
    assert freeze(client.get(task_id)) == freeze(told)


@pytest.mark.invariant(166)
def test_a_task_that_is_cancelled_while_its_function_runs_stays_cancelled(client: TaskClient) -> None:
    client.during = lambda: client.cancel(task_id)
    task_id = client.start_task()
    client.run_worker()
    told = client.get(task_id)
    assert (told["status"], "result" in told, len(client.calls)) == ("cancelled", False, 1)
    assert client.read_run(task_id)["context"] == {"lastResult": {}}
    assert client.cancel(task_id)["resultType"] == "complete"
    assert freeze(client.get(task_id)) == freeze(told)


@pytest.mark.invariant(166)
@pytest.mark.parametrize("reply", [Result({}), failure("crashed", BUILD)])
def test_a_task_that_has_ended_is_not_cancelled(client: TaskClient, reply: Result | Failure) -> None:
    client.replies[BUILD] = reply
    task_id = client.start_task()
    client.run_worker()
    told = freeze(client.get(task_id))
    assert client.cancel(task_id)["resultType"] == "complete"
    assert freeze(client.get(task_id)) == told
    assert "cancelled" not in client.read_run(task_id)


# Workers that are lost.


class WorkerKilled(BaseException):
    """The process of the worker ends here."""


def kill_worker() -> None:
    raise WorkerKilled


def lose_worker(client: TaskClient) -> None:
    """Let a worker begin the function and end before it writes."""
    client.during = kill_worker
    with pytest.raises(WorkerKilled):
        client.run_worker()
    client.during = lambda: None
    client.worker = build_memory_worker(client.gateway)


@pytest.mark.invariant(167)
def test_a_task_of_a_lost_worker_fails_and_is_not_executed_again(client: TaskClient) -> None:
    task_id = client.start_task()
    lose_worker(client)
    assert client.get(task_id)["status"] == "working"
    client.advance_clock(YARD.timeout_ms / 1000 + 60)
    told = client.get(task_id)
    assert (told["status"], told.get("error", {}).get("data")) == ("failed", {"effect": "unknown"})
    client.run_worker(is_swept=True)
    assert (len(client.calls), freeze(client.get(task_id))) == (1, freeze(told))
    assert "inDoubt" in client.read_run(task_id)


@pytest.mark.invariant(167)
def test_a_lost_task_fails_though_its_client_does_not_ask(client: TaskClient) -> None:
    task_id = client.start_task()
    lose_worker(client)
    client.advance_clock(YARD.timeout_ms / 1000 + 60)
    client.run_worker(is_swept=True)
    assert (client.get(task_id)["status"], len(client.calls)) == ("failed", 1)


@pytest.mark.invariant(167)
def test_a_task_of_a_lost_worker_is_executed_again_if_its_function_is_idempotent(client: TaskClient) -> None:
    client.host(hosted_build(idempotent=True))
    task_id = client.start_task(what="ship")
    lose_worker(client)
    client.advance_clock(YARD.timeout_ms / 1000 + 60)
    told = client.get(task_id)
    assert (told["status"], "interrupted" in told["statusMessage"]) == ("working", True)
    client.run_worker(is_swept=True)
    assert (client.get(task_id)["status"], len(client.calls)) == ("completed", 2)
    assert len({call["idempotencyKey"] for call in client.calls}) == 1


@pytest.mark.invariant(166)
def test_a_cancelled_task_of_a_lost_worker_is_not_executed_again(client: TaskClient) -> None:
    client.host(hosted_build(idempotent=True))
    task_id = client.start_task()
    lose_worker(client)
    client.cancel(task_id)
    client.advance_clock(YARD.timeout_ms / 1000 + 60)
    client.run_worker(is_swept=True)
    assert (client.get(task_id)["status"], len(client.calls)) == ("cancelled", 1)


@pytest.mark.invariant(165)
def test_the_result_of_a_worker_that_is_late_does_not_change_a_failed_task(client: TaskClient) -> None:
    task_id = client.start_task()

    def overstay() -> None:
        client.advance_clock(YARD.timeout_ms / 1000 + 60)
        assert client.get(task_id)["status"] == "failed"

    client.during = overstay
    client.run_worker()
    assert (client.get(task_id)["status"], client.read_run(task_id)["context"]) == ("failed", {"lastResult": {}})


# Questions of a running function.


def ask(*keys: str, fields: str = "name", kind: str = "string", state: Any = None) -> InputRequired:
    schema: JsonObject = {"type": "object", "properties": {fields: {"type": kind}}, "required": [fields]}
    params: JsonObject = {"message": "Please say.", "requestedSchema": schema}
    return InputRequired({key: {"method": "elicitation/create", "params": params} for key in keys}, state)


def accept(**content: Any) -> JsonObject:
    return {"action": "accept", "content": content}


class AskedTaskClient(TaskClient):
    """A client that follows tasks and answers questions of a function, which replies in turn."""

    def __init__(self, *replies: CallReply, **hosted: Any) -> None:
        super().__init__(**hosted)
        self.capabilities = {**DECLARED, "elicitation": {}}
        self.turns = list(replies)

    @override
    def _answer(self, message: JsonObject) -> JsonObject:
        self.replies[BUILD] = self.turns.pop(0)
        return super()._answer(message)

    def answer(self, task_id: str, **responses: Json) -> None:
        """Answer by the keys of the function, in the current round."""
        shown = {name.partition(".")[2]: name for name in self.get(task_id).get("inputRequests", {})}
        self.update(task_id, {shown[key]: response for key, response in responses.items()})

    def update(self, task_id: str, responses: JsonObject) -> None:
        answer = self.request("tasks/update", {"taskId": task_id, "inputResponses": responses})["result"]
        assert answer.keys() == {"resultType", "_meta"}


@pytest.mark.invariant(169)
def test_a_task_whose_function_asks_requires_input_and_continues_with_the_answers() -> None:
    client = AskedTaskClient(ask("who", state={"so": "far"}), Result("Hello, Alice."))
    task_id = client.start_task(what="ship")
    client.run_worker()
    asked = client.get(task_id)
    assert (asked["status"], list(asked["inputRequests"])) == ("input_required", ["1.who"])
    assert asked["inputRequests"]["1.who"]["method"] == "elicitation/create"
    assert "requestState" not in asked
    client.answer(task_id, who=accept(name="Alice"))
    assert (client.get(task_id)["status"], len(client.calls)) == ("working", 1)
    client.run_worker()
    first, second = client.calls
    assert (second["answers"], second["state"]) == ({"who": accept(name="Alice")}, {"so": "far"})
    assert first["idempotencyKey"] == second["idempotencyKey"]
    assert client.get(task_id)["result"]["content"][0]["text"] == "Hello, Alice."


@pytest.mark.invariant(169)
def test_questions_of_a_task_can_be_answered_one_after_the_other() -> None:
    client = AskedTaskClient(ask("a", "b"), Result("both"))
    task_id = client.start_task()
    client.run_worker()
    client.answer(task_id, a=accept(name="one"))
    client.run_worker()
    assert list(client.get(task_id)["inputRequests"]) == ["1.b"]
    client.answer(task_id, b={"action": "decline"})
    client.run_worker()
    assert client.calls[1]["answers"] == {"a": accept(name="one"), "b": {"action": "decline"}}
    assert client.get(task_id)["status"] == "completed"


@pytest.mark.invariant(169)
@pytest.mark.parametrize(
    "responses",
    [
        {},
        {"who": accept(name="x")},
        {"2.who": accept(name="x")},
        {"1.who": accept(name=7)},
        {"1.who": 7},
        {"1.who": {}},
    ],
)
def test_answers_that_were_not_asked_or_do_not_fit_change_nothing(responses: JsonObject) -> None:
    client = AskedTaskClient(ask("who"))
    task_id = client.start_task()
    client.run_worker()
    told = freeze(client.get(task_id))
    client.update(task_id, responses)
    client.run_worker()
    assert (freeze(client.get(task_id)), len(client.calls)) == (told, 1)


@pytest.mark.invariant(169)
def test_an_answer_that_is_sent_again_does_not_answer_a_later_question_of_the_same_key() -> None:
    client = AskedTaskClient(ask("who"), ask("who", fields="age", kind="integer"), Result("done"))
    task_id = client.start_task()
    client.run_worker()
    client.update(task_id, {"1.who": accept(name="Alice")})
    client.run_worker()
    asked = client.get(task_id)
    assert list(asked["inputRequests"]) == ["2.who"]
    client.update(task_id, {"1.who": accept(age=7)})
    client.run_worker()
    assert freeze(client.get(task_id)) == freeze(asked)
    client.update(task_id, {"2.who": accept(age=8)})
    client.run_worker()
    assert client.calls[2]["answers"] == {"who": accept(age=8)}


def test_a_task_that_requires_input_can_be_cancelled() -> None:
    client = AskedTaskClient(ask("who"))
    task_id = client.start_task()
    client.run_worker()
    client.cancel(task_id)
    client.update(task_id, {"1.who": accept(name="late")})
    client.run_worker(is_swept=True)
    assert (client.get(task_id)["status"], len(client.calls)) == ("cancelled", 1)


def test_answers_to_a_task_that_has_ended_or_does_not_ask_are_ignored() -> None:
    client = AskedTaskClient(Result("done"))
    task_id = client.start_task()
    client.update(task_id, {"1.who": accept(name="early")})
    assert client.get(task_id)["status"] == "working"
    client.run_worker()
    told = freeze(client.get(task_id))
    client.update(task_id, {"1.who": accept(name="late")})
    assert freeze(client.get(task_id)) == told


def test_a_task_whose_questions_are_answered_by_its_run_continues() -> None:
    client = AskedTaskClient(ask("who"), Result("done"))
    task_id = client.start_task()
    client.run_worker()
    (link,) = [link for link in client.read_run(task_id)["links"] if link["args"].get("transition") == "$answer"]
    arguments = {**link["args"]["arguments"], "who": accept(name="Alice")}
    client.call("workflow.submit", {**link["args"], "arguments": arguments})
    client.run_worker(is_swept=True)
    assert client.get(task_id)["status"] == "completed"


@pytest.mark.parametrize(
    ("declared", "shown"),
    [
        ({}, []),
        ({"elicitation": {}}, ["1.form"]),
        ({"elicitation": {"url": {}}}, ["1.page"]),
        ({"elicitation": {"form": {}, "url": {}}}, ["1.form", "1.page"]),
        ({"sampling": {}, "roots": {}}, ["1.model", "1.roots"]),
    ],
)
def test_a_client_is_shown_the_questions_that_it_can_be_asked(declared: JsonObject, shown: list[str]) -> None:
    page: JsonObject = {
        "method": "elicitation/create",
        "params": {"mode": "url", "message": "Sign.", "url": "https://sign.example/1"},
    }
    block: JsonObject = {"type": "text", "text": "Name a colour."}
    model: JsonObject = {
        "method": "sampling/createMessage",
        "params": {"maxTokens": 5, "messages": [{"role": "user", "content": block}]},
    }
    questions = {**ask("form").requests, "page": page, "model": model, "roots": {"method": "roots/list"}}
    client = AskedTaskClient(InputRequired(questions))
    task_id = client.start_task()
    client.run_worker()
    client.capabilities = {**DECLARED, **declared}
    task = client.get(task_id)
    assert (task["status"], list(task["inputRequests"])) == ("input_required", shown)
    assert "`$answer`" in task["statusMessage"]


def answer_call(client: AskedTaskClient, asked: Any, **responses: Json) -> Any:
    """Send the call again, with answers to the questions that it was answered with."""
    params: dict[str, Any] = {"name": client.name, "arguments": {"what": "ship"}, "inputResponses": responses}
    state = {} if "requestState" not in asked else {"requestState": asked["requestState"]}
    return client.request("tools/call", {**params, **state})["result"]


@pytest.mark.invariant(169)
def test_a_short_function_that_needs_answers_asks_in_the_call_and_its_task_starts_with_them() -> None:
    client = AskedTaskClient(
        ask("who", state="asked"), Result("Hello, Alice."), timeout_ms=SHORT_MS, task="required", needs=("elicitation",)
    )
    asked = client.start(what="ship")
    assert (asked["resultType"], list(asked["inputRequests"]), "taskId" in asked) == ("input_required", ["who"], False)
    created = answer_call(client, asked, who=accept(name="Alice"))
    assert (created["resultType"], "requestState" in created, len(client.calls)) == ("task", False, 1)
    client.run_worker()
    assert (client.calls[1]["answers"], client.calls[1]["state"]) == ({"who": accept(name="Alice")}, "asked")
    task = client.get(created["taskId"])
    assert (task["status"], task["result"]["content"][0]["text"]) == ("completed", "Hello, Alice.")


@pytest.mark.invariant(169)
def test_further_questions_of_such_a_function_are_those_of_the_task() -> None:
    client = AskedTaskClient(
        ask("who", state=1),
        ask("how", state=2),
        Result("done"),
        timeout_ms=SHORT_MS,
        task="required",
        needs=("elicitation",),
    )
    created = answer_call(client, client.start(what="ship"), who=accept(name="Alice"))
    client.run_worker()
    asked = client.get(created["taskId"])
    assert (asked["status"], list(asked["inputRequests"])) == ("input_required", ["2.how"])
    client.answer(created["taskId"], how=accept(name="fast"))
    client.run_worker()
    assert client.calls[2]["answers"] == {"who": accept(name="Alice"), "how": accept(name="fast")}


def test_a_long_function_that_needs_answers_asks_in_its_task() -> None:
    client = AskedTaskClient(ask("who"), needs=("elicitation",))
    task_id = client.start_task()
    client.run_worker()
    assert client.get(task_id)["status"] == "input_required"


# Cancellations that are interrupted.


class UncancellableWorkflows(MemoryInstanceStore):
    """A store that keeps the ends of tasks, and whose other writes fail while the test says so."""

    is_down = False

    @override
    def save(self, tenant: str, entry: InstanceWrite, *, replacing: WriteCondition | None) -> bool:
        if self.is_down:
            raise Unavailable("The table is overloaded.")
        return super().save(tenant, entry, replacing=replacing)


@pytest.mark.invariant(166)
@pytest.mark.parametrize("is_repeated", [False, True])
def test_a_task_whose_run_could_not_be_cancelled_is_not_executed(*, is_repeated: bool) -> None:
    client, instances = TaskClient(), UncancellableWorkflows()
    client.gateway.instances = instances
    client.gateway.replace_adapters(instances=lambda: instances)
    client.worker = build_memory_worker(client.gateway)
    task_id = client.start_task()
    instances.is_down = True
    client.cancel(task_id)
    instances.is_down = False
    assert client.get(task_id)["status"] == "cancelled"
    if is_repeated:
        client.cancel(task_id)
        assert client.read_run(task_id)["cancelled"]
    client.run_worker()
    assert (client.calls, client.get(task_id)["status"]) == ([], "cancelled")
    assert client.read_run(task_id)["cancelled"]


class OvertakenEnds(MemoryInstanceStore):
    """A store in which something else happens right before an end of a task is kept."""

    happens: Callable[[], object] = staticmethod(lambda: None)

    @override
    def end_task(self, tenant: str, workflow_id: str, end: TaskEnd) -> TaskEnd:
        self.happens()
        return super().end_task(tenant, workflow_id, end)


@pytest.mark.invariant(165)
@pytest.mark.parametrize("reply", [Result({"built": "ship"}), reported_failure("permanent_error", "No wood.")])
def test_a_task_that_ends_right_before_its_cancellation_is_kept_stays_as_it_ended(reply: Result | Failure) -> None:
    client, instances = TaskClient(), OvertakenEnds()
    client.gateway.instances = instances
    client.gateway.replace_adapters(instances=lambda: instances)
    client.worker = build_memory_worker(client.gateway)
    client.replies[BUILD] = reply
    task_id = client.start_task()
    instances.happens = client.run_worker
    client.cancel(task_id)
    instances.happens = lambda: None
    told = client.get(task_id)
    assert (told["status"], told["result"]["isError"]) == ("completed", isinstance(reply, Failure))
    assert "cancelled" not in client.read_run(task_id)
