"""Whose failure it is when a core function fails: that of the caller's input, or that of the function."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from core_skills.caller_input import CoreToolkit
from core_skills.hosted import core_toolkits
from core_skills.json_transform import KIT as JSON_TRANSFORM
from core_skills.template_render import KIT as TEMPLATE_RENDER
from core_skills.waiting import KIT as WAIT
from signpost.calling.failures import is_counted
from signpost.contract import CallReply, Failure, Result
from signpost.model import JsonObject
from signpost.toolkit import Context, ToolError
from tests.support.function_host import FunctionHost

HALF = "\ud800"


def call_body(body: Callable[[Any], Any], *, has_dependency: bool = False, seconds: float = 60) -> CallReply:
    kit = CoreToolkit("Data", has_dependency=has_dependency)

    def evaluate(args: dict[str, Any]) -> Any:
        return body(args)

    kit.tool(evaluate)
    return FunctionHost(kit.functions).call("core::evaluate", {"a": 1}, seconds)


def raise_fault(fault: BaseException) -> Callable[[Any], Any]:
    def body(_: Any) -> Any:
        raise fault

    return body


def failure_of(reply: CallReply) -> Failure:
    assert isinstance(reply, Failure), reply
    return reply


@pytest.mark.invariant(90)
@pytest.mark.parametrize(
    "fault",
    [
        AttributeError(), KeyError("a"), RecursionError(), MemoryError(), ZeroDivisionError(), UnicodeError(),
        RuntimeError(), AssertionError(), StopIteration(), ToolError("Not now.", "transient_error"),
    ],
    ids=lambda fault: type(fault).__name__,
)  # fmt: skip
def test_any_exception_while_input_is_evaluated_is_a_failure_of_the_caller(fault: Exception) -> None:
    reply = failure_of(call_body(raise_fault(fault)))
    assert (reply.code, reply.outcome, is_counted(reply)) == ("reported", "none", False), reply


@pytest.mark.invariant(90)
@pytest.mark.parametrize("fault", [ImportError("jinja2"), OSError(24, "Too many open files"), SystemExit(1)])
def test_a_broken_deployment_or_sandbox_counts(fault: BaseException) -> None:
    assert is_counted(failure_of(call_body(raise_fault(fault))))


@pytest.mark.parametrize(
    "fault", [AttributeError("of the provider's answer"), ToolError("The provider fails.", "transient_error")]
)
def test_a_failure_of_a_dependency_that_the_operator_has_chosen_counts(fault: Exception) -> None:
    assert is_counted(failure_of(call_body(raise_fault(fault), has_dependency=True)))


@pytest.mark.parametrize("has_dependency", [False, True])
@pytest.mark.parametrize(
    "result", [HALF, {HALF: 1}, [float("nan")], {1}, [1 << 20_000]], ids=["half", "key", "nan", "set", "large"]
)
def test_a_result_that_json_cannot_express_is_refused_with_its_reason(result: Any, has_dependency: bool) -> None:
    reply = failure_of(call_body(lambda _: result, has_dependency=has_dependency))
    assert reply.message.startswith("The result cannot be answered: "), reply
    assert not is_counted(reply)


def work_until_stopped(_: Any) -> None:
    while True:
        pass


@pytest.mark.invariant(90)
def test_an_evaluation_that_takes_too_long_is_a_failure_of_the_caller() -> None:
    reply = failure_of(call_body(work_until_stopped, seconds=2))
    assert (reply.code, reply.kind, is_counted(reply)) == ("reported", "timeout", False), reply


def test_the_deadline_still_ends_a_function_after_its_boundary_has_ended() -> None:
    kit, ended_by_itself = CoreToolkit("Data"), list[bool]()

    def evaluate(args: dict[str, Any]) -> Any:
        return args

    def outlast_the_boundary(arguments: JsonObject, ctx: Context) -> object:
        answer = evaluated.run(arguments, ctx)
        until = time.monotonic() + 5
        while time.monotonic() < until:
            pass
        ended_by_itself.append(True)
        return answer

    kit.tool(evaluate)
    (evaluated,) = kit.functions
    reply = failure_of(FunctionHost([replace(evaluated, run=outlast_the_boundary)]).call("core::evaluate", {}, 0.5))
    assert reply.code == "timed_out"
    assert not ended_by_itself, "nothing stopped it at its deadline"


def test_a_dependency_that_takes_too_long_counts() -> None:
    reply = failure_of(call_body(lambda _: time.sleep(60), has_dependency=True, seconds=0.5))
    assert is_counted(reply), reply


def test_an_unexpected_exception_is_logged_by_its_place_and_without_its_message() -> None:
    kit = CoreToolkit("Data")

    def evaluate(args: dict[str, Any]) -> Any:
        raise KeyError(args["a"])

    kit.tool(evaluate)
    host = FunctionHost(kit.functions)
    host.call("core::evaluate", {"a": "private"})
    (line,) = host.log.find_lines("said")
    assert line["facts"]["fault"] == "KeyError"
    assert any("test_caller_input.py:" in place for place in line["facts"]["places"])
    assert "private" not in str(host.log.lines)


@pytest.mark.invariant(90)
@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("template_render", {"template": "{{ 1|dictsort }}"}),
        ("template_render", {"template": "{{ '\\ud800' }}"}),
        ("template_render", {"template": HALF}),
        ("template_render", {"template": "{{ a }}", "values": {"a": HALF}}),
        ("template_render", {"template": "{{ '%1000000000d' is odd }}"}),
        ("json_transform", {"data": 1, "expression": '`"\\ud800"`'}),
        ("json_transform", {"data": HALF, "expression": "@"}),
        ("json_transform", {"data": {HALF: 1}, "expression": "length(@)"}),
        ("json_transform", {"data": "9" * 4_300, "expression": "[to_number(@), to_number(@)] | sum(@)"}),
        ("wait", {"seconds": 1.9}),
        ("http_fetch", {"url": f"https://{HALF}.test/"}),
        ("http_fetch", {"url": "https://page.test/", "headers": {"x": HALF}}),
        ("web_search", {"query": HALF}),
        ("web_search", {"query": "a", "config": {"x": HALF}}),
    ],
)
def test_input_that_a_core_function_cannot_use_is_refused_and_does_not_count(
    function: str, arguments: Mapping[str, Any]
) -> None:
    functions = [hosted for kit in core_toolkits({"SEARCH_PROVIDER": "tavily"}) for hosted in kit.functions]
    reply = failure_of(FunctionHost(functions).call(f"core::{function}", arguments, seconds=2))
    assert (reply.code, is_counted(reply)) == ("reported", False), reply


def test_every_core_function_is_behind_the_boundary() -> None:
    assert all(isinstance(kit, CoreToolkit) for kit in core_toolkits(os.environ))


@pytest.mark.parametrize(
    ("kit", "function", "arguments"),
    [
        (WAIT, "wait", {"seconds": 0.01}),
        (TEMPLATE_RENDER, "template_render", {"template": "a"}),
        (JSON_TRANSFORM, "json_transform", {"data": "a", "expression": "@"}),
    ],
)
def test_the_boundary_leaves_results_alone(kit: CoreToolkit, function: str, arguments: Mapping[str, Any]) -> None:
    assert isinstance(FunctionHost(kit.functions).call(f"core::{function}", arguments), Result)
