"""Calls of functions that take longer than a client waits: a run is the answer, and the worker makes the call."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from signpost.adapters.memory import MemoryBreakers
from signpost.calling.failures import failure, reported_failure
from signpost.calling.lookup import REVALIDATION_INTERVAL
from signpost.contract import BreakerState, Executor, HostedFunction, Result
from signpost.model import InputRequired, JsonObject
from tests.interaction.test_unavailable_instances import OverloadedInstanceStore
from tests.support.asking_steps import accept, form
from tests.support.function_tools import LEGACY, TENANT, YARD, FunctionToolClient, read_text
from tests.support.manifests import publish
from tests.support.memory_gateway import MODERN, build_modern_request
from tests.support.memory_workflows import run_until_idle

FLAT, BRIDGE = "/mcp/flat", "/mcp/functions"
NAMES = {FLAT: "skill:build", BRIDGE: "yard__build"}
BUILD = "yard::build"
LONG_MS = 40_000
WHAT: JsonObject = {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]}
OPEN: JsonObject = {"type": "object"}


def long_function(function: str = BUILD, **said: Any) -> HostedFunction:
    wanted: dict[str, Any] = {"timeout_ms": LONG_MS, "input_schema": OPEN, **said}
    return HostedFunction(function, **wanted)


class LongCallClient(FunctionToolClient):
    """Who calls a function that says of itself how long it takes, and a worker."""

    def __init__(self, endpoint: str, version: str = MODERN, **hosted: Any) -> None:
        super().__init__(version, endpoint)
        self.name = NAMES[endpoint]
        self.host(long_function(**hosted))

    def build(self, token: str | None = None, **arguments: Any) -> Any:
        return self.call(self.name, arguments, token=token)

    def look(self, answer: Any) -> Any:
        """By the link that an answer has, at the endpoint that gave it."""
        (link,) = [link for link in answer["structuredContent"]["links"] if link["rel"] == "self"]
        return self.call(link["method"], link["args"])["structuredContent"]

    def works(self) -> None:
        """The worker does what there is to do."""
        run_until_idle(
            self.gateway.composition.workflow_services().waker,
            self.gateway.instances,
            self.gateway.clock,
            is_swept=False,
        )


@pytest.fixture(params=[FLAT, BRIDGE])
def caller(request: pytest.FixtureRequest) -> LongCallClient:
    return LongCallClient(request.param)


def test_a_long_call_whose_function_asks_is_answered_by_its_link(caller: LongCallClient) -> None:
    caller.replies[BUILD] = InputRequired({"size": form()}, state={"at": 1})
    begun = caller.build(what="ship")
    assert "`$answer`" in read_text(begun)
    caller.works()
    asked = caller.look(begun)
    assert (asked["waitingFor"], asked["questions"]) == ("answers", {"size": form()})
    (link,) = [link for link in asked["links"] if link["args"].get("transition") == "$answer"]
    caller.replies[BUILD] = Result({"built": "ship"})
    arguments = {**link["args"]["arguments"], "size": accept(size=2)}
    answered = caller.call(link["method"], {**link["args"], "arguments": arguments})["structuredContent"]
    assert answered["pending"]["on"] == "executor"
    caller.works()
    assert caller.look(begun)["context"]["lastResult"] == {"built": "ship"}
    first, second = caller.calls
    assert (first.get("answers"), second["answers"], second["state"]) == (None, {"size": accept(size=2)}, {"at": 1})
    assert first["step"] == second["step"]


@pytest.mark.invariant(69)
@pytest.mark.parametrize("version", [MODERN, LEGACY])
@pytest.mark.parametrize("endpoint", [FLAT, BRIDGE])
def test_a_long_call_is_answered_at_once_and_executed_once_by_the_worker(endpoint: str, version: str) -> None:
    caller = LongCallClient(endpoint, version)
    caller.replies[BUILD] = Result({"built": "ship"})
    began = caller.gateway.clock.now()
    answer = caller.build(what="ship")
    stand = answer["structuredContent"]
    assert (answer["isError"], stand["definitionId"], stand["pending"]["on"]) == (False, "proxy_default", "executor")
    assert (caller.calls, caller.gateway.clock.now() - began) == ([], 0)
    caller.works()
    (call,) = caller.calls
    assert (call["function"], call["arguments"]) == (BUILD, {"what": "ship"})
    assert round(call["deadline"] - caller.gateway.clock.now()) == LONG_MS / 1000
    seen = caller.look(answer)
    assert "pending" not in seen
    assert seen["context"] == {"lastResult": {"built": "ship"}}
    caller.works()
    assert len(caller.calls) == 1


def test_the_text_of_a_long_call_names_the_next_step(caller: LongCallClient) -> None:
    answer = caller.build(what="ship")
    said, run = read_text(answer), answer["structuredContent"]["workflowId"]
    assert f'Call workflow.get with {{"workflowId": "{run}"}} in 1 s.' in said
    assert "do not call it again" in said
    assert "`context.lastResult` is its result" in said


def test_the_text_of_a_long_call_uses_portable_names_where_requested() -> None:
    caller = LongCallClient(FLAT)
    message, headers = build_modern_request("tools/call", {"name": "skill_build", "arguments": {}})
    credential = {"authorization": f"Bearer {caller.key}", "mcp-name": "skill_build"}
    answer = caller.gateway.send(
        path=FLAT, body=json.dumps(message), headers={**headers, **credential}, query={"names": "portable"}
    )
    result = answer.json["result"]
    assert "Call workflow_get with" in read_text(result)
    seen = caller.call("workflow_get", {"workflowId": result["structuredContent"]["workflowId"]})
    assert "pending" in seen["structuredContent"]


def test_a_long_call_runs_as_its_caller_with_the_declared_permissions() -> None:
    caller = LongCallClient(FLAT, permissions=frozenset({"mail"}))
    answer = caller.build()
    caller.works()
    (call,) = caller.calls
    run = answer["structuredContent"]["workflowId"]
    assert call["principal"]["tenant"] == TENANT
    assert call["principal"]["subject"] == next(iter(caller.gateway.instances.audit(TENANT, run))).subject
    assert (call["permissions"], call["depth"]) == (["mail"], 0)
    assert (call["step"], call["idempotencyKey"]) == (f"{run}.{BUILD}.1", f"{run}.{BUILD}.1")


@pytest.mark.parametrize(
    ("declared", "set_to", "ends_after", "is_waited_for"),
    [
        (None, None, 60_000, True),
        (25_000, None, 60_000, True),
        (25_001, None, 60_000, False),
        (None, 40_000, 60_000, False),
        (40_000, 20_000, 60_000, True),
        (40_000, None, 20_000, True),
    ],
)
def test_the_timeout_of_the_function_decides_if_its_call_is_long(
    declared: int | None, set_to: int | None, ends_after: int, *, is_waited_for: bool
) -> None:
    caller = LongCallClient(BRIDGE)
    executor = Executor(YARD.arn, YARD.key_secret_arn, ends_after)
    assert caller.directory.place(TENANT, executor, [HostedFunction(BUILD, timeout_ms=declared)]) == []
    if set_to is not None:
        caller.settings.set(TENANT, BUILD, "tool_timeout_ms", set_to)
    answer = caller.build()
    assert ("pending" not in answer.get("structuredContent", {})) == is_waited_for
    assert len(caller.calls) == is_waited_for


@pytest.mark.parametrize(
    ("declared", "of_tenant", "ends_after", "is_waited_for"),
    [
        (None, 25_000, 60_000, True),
        (None, 25_001, 60_000, False),
        (None, 100_000, 20_000, True),
        (20_000, 100_000, 60_000, True),
        (40_000, 20_000, 60_000, False),
    ],
)
def test_a_timeout_for_all_functions_of_a_tenant_makes_calls_long(
    declared: int | None, of_tenant: int, ends_after: int, *, is_waited_for: bool
) -> None:
    caller = LongCallClient(BRIDGE)
    executor = Executor(YARD.arn, YARD.key_secret_arn, ends_after)
    assert caller.directory.place(TENANT, executor, [HostedFunction(BUILD, timeout_ms=declared)]) == []
    caller.settings.set(TENANT, None, "tool_timeout_ms", of_tenant)
    answer = caller.build()
    assert ("pending" not in answer.get("structuredContent", {})) == is_waited_for
    assert len(caller.calls) == is_waited_for


def test_a_call_that_a_timeout_of_the_tenant_makes_long_has_that_time() -> None:
    caller = LongCallClient(BRIDGE, timeout_ms=None)
    caller.settings.set(TENANT, None, "tool_timeout_ms", 100_000)
    assert "pending" in caller.build()["structuredContent"]
    caller.works()
    (call,) = caller.calls
    assert round(call["deadline"] - caller.gateway.clock.now()) == min(100_000, YARD.timeout_ms) / 1000


def test_a_timeout_setting_applies_within_two_seconds() -> None:
    caller = LongCallClient(BRIDGE, timeout_ms=None)
    caller.build()
    caller.settings.set(TENANT, BUILD, "tool_timeout_ms", LONG_MS)
    caller.advance_clock(REVALIDATION_INTERVAL)
    assert "pending" in caller.build()["structuredContent"]


def test_the_tool_of_a_long_call_has_no_output_schema(caller: LongCallClient) -> None:
    shape: JsonObject = {"type": "object", "properties": {"built": {"type": "string"}}, "required": ["built"]}
    caller.host(long_function(output_schema=shape))
    caller.advance_clock(REVALIDATION_INTERVAL)
    tools = {tool["name"]: tool for tool in caller.list_tools()}
    assert "outputSchema" not in tools[caller.name]
    assert "pending" in caller.build()["structuredContent"]


def test_a_listed_output_schema_keeps_a_call_short_after_a_new_setting(caller: LongCallClient) -> None:
    shape: JsonObject = {"type": "object", "properties": {"built": {"type": "string"}}, "required": ["built"]}
    caller.host(HostedFunction(BUILD, output_schema=shape))
    caller.settings.set(TENANT, BUILD, "tool_timeout_ms", LONG_MS)
    caller.replies[BUILD] = Result({"built": "ship"})
    assert caller.build()["structuredContent"] == {"built": "ship"}
    assert caller.calls[0]["deadline"] - caller.gateway.clock.now() == pytest.approx(25)


@pytest.mark.invariant(69)
@pytest.mark.parametrize("arguments", [{}, {"what": 7}])
def test_invalid_arguments_are_refused_by_name_and_no_instance_is_started(
    caller: LongCallClient, arguments: dict[str, Any]
) -> None:
    caller.host(long_function(input_schema=WHAT))
    refused = caller.build(**arguments)
    assert (refused["isError"], "what" in read_text(refused)) == (True, True)
    assert caller.gateway.instances.wakes == []


def test_members_of_config_are_validated_before_an_instance_is_started() -> None:
    caller = LongCallClient(FLAT, input_schema={**WHAT, "required": []})
    refused = caller.build(config={"what": 7})
    assert (refused["isError"], "`what`" in read_text(refused)) == (True, True)
    assert caller.gateway.instances.wakes == []
    assert caller.build(config={"what": "ship"})["isError"] is False
    caller.works()
    assert caller.calls[0]["arguments"] == {"what": "ship"}


@pytest.mark.invariant(69)
def test_a_function_with_an_open_breaker_is_refused_without_an_instance(caller: LongCallClient) -> None:
    until = caller.gateway.clock.now() + 60
    MemoryBreakers(caller.gateway.functions).open(TENANT, BUILD, BreakerState(until, 3, "crashed"))
    refused = caller.build()
    assert (refused["isError"], read_text(refused).endswith("Try again in 60 s.")) == (True, True)
    assert caller.gateway.instances.wakes == []
    caller.advance_clock(61)
    assert "pending" in caller.build()["structuredContent"]
    caller.works()
    assert len(caller.calls) == 1


@pytest.mark.parametrize(("code", "member"), [("reported", "fault"), ("timed_out", "inDoubt"), ("crashed", "inDoubt")])
def test_a_failed_long_call_shows_its_fault_or_doubt_instead_of_a_result(
    caller: LongCallClient, code: str, member: str
) -> None:
    failed = reported_failure("permanent_error", "There is no wood.") if code == "reported" else failure(code, BUILD)
    caller.replies[BUILD] = failed
    answer = caller.build()
    caller.works()
    seen = caller.look(answer)
    assert (seen[member]["message"], seen["context"]) == (failed.message, {})
    assert len(caller.calls) == 1


def test_a_failed_idempotent_long_call_can_be_retried_by_its_link() -> None:
    caller = LongCallClient(BRIDGE, idempotent=True)
    caller.replies[BUILD] = failure("crashed", BUILD)
    answer = caller.build()
    caller.works()
    seen = caller.look(answer)
    assert [link["args"].get("transition") for link in seen["links"]] == [None, "$retry"]
    del caller.replies[BUILD]
    again = caller.call("workflow.submit", seen["links"][1]["args"])["structuredContent"]
    assert again["pending"]["on"] == "executor"
    caller.works()
    assert caller.look(answer)["context"] == {"lastResult": {}}
    assert len({call["idempotencyKey"] for call in caller.calls}) == 1


@pytest.mark.invariant(69)
def test_calls_with_the_same_token_are_executed_once(caller: LongCallClient) -> None:
    first, again, other = (caller.build(token, what="ship") for token in ("monday", "monday", "tuesday"))
    runs = [answer["structuredContent"]["workflowId"] for answer in (first, again, other)]
    assert (runs[0] == runs[1], runs[0] == runs[2]) == (True, False)
    caller.works()
    assert len(caller.calls) == 2
    done = caller.build("monday", what="ship")
    assert done["structuredContent"]["context"] == {"lastResult": {"what": "ship"}}
    assert "lastResult" in read_text(done)


def test_a_repeated_token_finds_its_instance_while_the_breaker_is_open(caller: LongCallClient) -> None:
    run = caller.build("monday")["structuredContent"]["workflowId"]
    until = caller.gateway.clock.now() + 60
    MemoryBreakers(caller.gateway.functions).open(TENANT, BUILD, BreakerState(until, 3, "crashed"))
    caller.advance_clock(REVALIDATION_INTERVAL)
    assert caller.build("monday")["structuredContent"]["workflowId"] == run
    assert caller.build("tuesday")["isError"] is True


@pytest.mark.invariant(69)
def test_a_repeated_token_finds_its_instance_after_the_timeout_was_shortened(caller: LongCallClient) -> None:
    run = caller.build("monday")["structuredContent"]["workflowId"]
    caller.works()
    caller.host(long_function(timeout_ms=20_000))
    caller.advance_clock(REVALIDATION_INTERVAL)
    assert caller.build("monday")["structuredContent"]["workflowId"] == run
    assert len(caller.calls) == 1
    caller.build("tuesday")
    assert len(caller.calls) == 2


def test_a_token_is_valid_for_one_function_only(caller: LongCallClient) -> None:
    caller.host(long_function(), long_function("yard::sink"))
    caller.build("monday")
    caller.name = caller.name.replace("build", "sink")
    refused = caller.build("monday")
    assert (refused["isError"], refused["structuredContent"]["error"]["code"]) == (True, "ALREADY_STARTED")
    assert BUILD in read_text(refused)


@pytest.mark.invariant(79)
def test_a_token_is_valid_for_one_set_of_arguments_only(caller: LongCallClient) -> None:
    run = caller.build("monday", what="ship")["structuredContent"]["workflowId"]
    refused = caller.build("monday", what="boat")
    assert (refused["isError"], refused["structuredContent"]["error"]["code"]) == (True, "ALREADY_STARTED")
    assert run in read_text(refused)
    caller.works()
    assert len(caller.calls) == 1


@pytest.mark.parametrize("version", [MODERN, LEGACY])
@pytest.mark.parametrize("token", ["", 7, "x" * 1001, {}])
def test_a_token_that_is_no_short_text_is_refused(version: str, token: Any) -> None:
    caller = LongCallClient(FLAT, version)
    refused = caller.request_call(caller.name, token=token)["error"]
    assert (refused["code"], "signpost/clientToken" in refused["message"]) == (-32602, True)
    assert caller.gateway.instances.wakes == []


def test_an_instance_with_a_start_in_doubt_is_named_in_the_answer(caller: LongCallClient) -> None:
    instances = OverloadedInstanceStore()
    caller.gateway.replace_adapters(instances=lambda: instances)
    instances.unheard = 10**6
    told = caller.build()
    run = told["structuredContent"]["links"][0]["args"]["workflowId"]
    assert told["isError"] is True
    assert read_text(told).startswith(f"The run {run} of {caller.name} may not have been started: ")
    assert caller.call("workflow.get", {"workflowId": run})["structuredContent"]["pending"]["on"] == "executor"


def test_published_capabilities_stay_available_beside_long_calls(caller: LongCallClient) -> None:
    adapters = caller.gateway.adapters
    exposed: Mapping[str, Any] = {"version": 1, "proxy": {"expose": [{"name": "notes.list"}]}}
    publish(adapters.content, adapters.values, adapters.definitions, TENANT, exposed)
    answer = caller.build()
    caller.works()
    seen = caller.call("workflow.get", {"workflowId": answer["structuredContent"]["workflowId"]})["structuredContent"]
    assert [link["args"]["transition"] for link in seen["links"]] == [BUILD, "$cancel"]
    started = caller.call("workflow.start", {"input": {"capability": "notes.list"}})["structuredContent"]
    assert [link["args"]["transition"] for link in started["links"]] == ["notes.list"]
    refused = caller.call("workflow.start", {"input": {"capability": BUILD}})
    assert refused["structuredContent"]["error"]["code"] == "NOT_FOUND"


def test_the_link_of_a_finished_long_call_calls_the_function_again(caller: LongCallClient) -> None:
    answer = caller.build(what="ship")
    caller.works()
    seen = caller.call("workflow.get", {"workflowId": answer["structuredContent"]["workflowId"]})["structuredContent"]
    link, cancel = seen["links"]
    assert (link["args"]["arguments"], cancel["args"]["transition"]) == ({"what": "ship"}, "$cancel")
    assert "pending" in caller.call(link["method"], link["args"])["structuredContent"]
    caller.works()
    assert len(caller.calls) == 2


def test_a_capability_of_a_long_function_is_run_by_the_worker() -> None:
    caller = LongCallClient(FLAT)
    adapters = caller.gateway.adapters
    build = {"name": "build", "inputSchema": WHAT, "executor": {"kind": "function", "function": BUILD}}
    publish(
        adapters.content, adapters.values, adapters.definitions, TENANT, {"version": 1, "proxy": {"expose": [build]}}
    )
    given = {"capability": "build", "what": "ship"}
    answer = caller.call("workflow.start", {"definitionId": "proxy_default", "input": given})
    assert answer["structuredContent"]["pending"]["on"] == "executor"
    caller.works()
    assert caller.look(answer)["context"] == {"lastResult": {"what": "ship"}}


@pytest.mark.invariant(142)
def test_a_function_that_is_withheld_after_a_long_call_cannot_be_called_in_its_run() -> None:
    caller = LongCallClient(FLAT)
    began = caller.build()
    caller.works()
    (again,) = [link for link in caller.look(began)["links"] if link["args"].get("transition") == BUILD]
    caller.settings.set(TENANT, None, "hidden_prefixes", "yard::")
    caller.advance_clock(REVALIDATION_INTERVAL)
    refused = caller.call(again["method"], again["args"])["structuredContent"]
    caller.works()
    assert (refused["error"]["code"], len(caller.calls)) == ("INVALID_TRANSITION", 1)
