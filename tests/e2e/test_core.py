"""What a deployment ships is there when it is done, and follows the code."""

import json
import uuid
from typing import Any

import pytest

from signpost.adapters.dynamodb import DynamoFunctionStates
from tests.support.executors import Executors
from tests.support.laptop import Laptop, Stack

pytestmark = pytest.mark.cloud


def test_core_functions_are_callable_once_the_stack_is_deployed(executors: Executors, key: str) -> None:
    assert executors.call(key, "core::wait", {"seconds": 0.1})["result"] == {"waited": 0.1}
    failed = executors.call(key, "core::wait", {"seconds": 1_000})["failure"]
    assert (failed["code"], failed["outcome"]) == ("reported", "none")
    assert executors.call(key, "core::wait", {"seconds": "long"})["failure"]["code"] == "invalid_arguments"


@pytest.mark.parametrize(
    ("function", "arguments", "result"),
    [
        ("json_transform", {"data": {"a": [1, 2]}, "expression": "sum(a)"}, {"result": 3}),
        ("template_render", {"template": "{{ a }}{{ b }}", "values": {"a": "ü", "b": [1]}}, {"text": "ü[1]"}),
    ],
)
def test_a_core_function_has_its_libraries(
    executors: Executors, key: str, function: str, arguments: Any, result: Any
) -> None:
    assert executors.call(key, f"core::{function}", arguments)["result"] == result


@pytest.mark.parametrize(
    ("function", "arguments", "says"),
    [
        ("http_fetch", {"url": "http://169.254.169.254/latest/meta-data/"}, "is not a public address"),
        (
            "http_fetch",
            {"url": "http://localhost:9001/2018-06-01/"},
            "may only be reached at port",
        ),
        ("web_search", {"query": "tea"}, "SearchProvider"),
    ],
)
def test_a_core_function_refuses_destinations_that_the_stack_does_not_allow(
    executors: Executors, key: str, function: str, arguments: Any, says: str
) -> None:
    failed = executors.call(key, f"core::{function}", arguments)["failure"]
    assert (failed["code"], failed["class"], failed["outcome"]) == ("reported", "permanent_error", "none")
    assert says in failed["message"]


LONE_SURROGATE = '"' + chr(92) + 'ud800"'
HOSTILE_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("template_render", {"template": "{{ 1|dictsort }}"}),
    ("template_render", {"template": f"{{{{ {LONE_SURROGATE} }}}}"}),
    ("template_render", {"template": "{% for a in m %}" * 4 + "{% endfor %}" * 4, "values": {"m": [1] * 1_000}}),
    ("json_transform", {"data": 1, "expression": f"`{LONE_SURROGATE}`"}),
    ("json_transform", {
        "data": {f"key number {number}": number for number in range(30_000)},
        "expression": f"merge({','.join(['@'] * 1_975)})",
    }),
]  # fmt: skip


@pytest.mark.invariant(90)
@pytest.mark.parametrize(("function", "arguments"), HOSTILE_CALLS)
def test_no_input_opens_the_breaker_of_a_core_function(
    executors: Executors, tenant: str, key: str, function: str, arguments: dict[str, Any]
) -> None:
    executors.set_settings(tenant, breaker_failures=3)
    failures = [executors.call(key, f"core::{function}", arguments)["failure"] for _ in range(4)]
    assert [(failed["code"], failed["class"]) for failed in failures] == [("reported", "permanent_error")] * 4, failures


def test_each_core_function_has_a_readable_document(executors: Executors, key: str) -> None:
    names = [name for name in _list_tools(executors, key) if name.startswith("core__")]
    assert len(names) == 5
    for name in names:
        uri = f"iii://{name.replace('__', '/')}"
        assert f"`{name.replace('__', '::')}`" in json.dumps(
            executors.gateway.request(key, "resources/read", {"uri": uri}).json
        )


def _list_tools(executors: Executors, key: str) -> list[str]:
    listed = executors.gateway.request(key, "tools/list", path="/mcp/functions").json["result"]["tools"]
    return [tool["name"] for tool in listed]


def test_a_deployment_places_core_functions_with_their_timeout(laptop: Laptop, product_stack: Stack) -> None:
    states = DynamoFunctionStates(laptop.client("dynamodb"), product_stack.deployed.outputs["RegistryTableName"])
    placement = states.read(f"t-{uuid.uuid4().hex[:8]}", "core::wait").shipped
    assert placement is not None
    assert placement.executor.timeout_ms == 30_000
