"""The tools that continue a run at /mcp/flat and /mcp/functions, for hosts that call listed tools only."""

from collections.abc import Sequence
from typing import Any

import pytest

from signpost.contract import HostedFunction
from signpost.surfaces.gateway.tool_specs import RUN_TOOLS
from tests.support.function_tools import TENANT, FunctionToolClient
from tests.support.manifests import publish
from tests.support.memory_gateway import MODERN

RUN_NAMES = [tool.name for tool in RUN_TOOLS]
FLAT, FUNCTIONS = "/mcp/flat", "/mcp/functions"
QUICK = HostedFunction("yard::quick", name="quick")
LONG = HostedFunction("yard::long", name="long", timeout_ms=40_000)
STEPS: Any = {
    name: {"transitions": {"next": {"target": target}}}
    for name, target in (("a", "b"), ("b", "c"), ("c", "d"), ("d", "end"))
}
FOUR_STEPS: Any = {"title": "Four steps", "initialState": "a", "states": {**STEPS, "end": {"terminal": True}}}


def client_of(path: str, *, workflows: Any = None, hosted: Sequence[HostedFunction] = ()) -> FunctionToolClient:
    client = FunctionToolClient(MODERN, path)
    client.host(*hosted)
    adapters = client.gateway.adapters
    manifest: Any = {"version": 1, "workflows": workflows or {}}
    publish(adapters.content, adapters.values, adapters.definitions, TENANT, manifest)
    client.advance_clock(3)
    return client


@pytest.mark.invariant(124)
@pytest.mark.parametrize(
    ("path", "workflows", "hosted", "listed"),
    [
        (FLAT, {"four": FOUR_STEPS}, [], ["skill__fetch", *RUN_NAMES, "workflow:Four steps"]),
        (FLAT, {"four": {**FOUR_STEPS, "enabled": False}}, [QUICK], ["skill:quick", "skill__fetch"]),
        (FLAT, {}, [QUICK, LONG], ["skill:long", "skill:quick", "skill__fetch", *RUN_NAMES]),
        (FUNCTIONS, {"four": FOUR_STEPS}, [QUICK], ["yard__quick", "skill__fetch"]),
        (FUNCTIONS, {}, [QUICK, LONG], [*RUN_NAMES, "yard__long", "yard__quick", "skill__fetch"]),
    ],
    ids=["a workflow", "a disabled workflow", "a long skill", "no tool starts a run", "a long function"],
)
def test_the_tools_that_continue_a_run_are_listed_with_what_starts_one(
    path: str, workflows: Any, hosted: Sequence[HostedFunction], listed: Sequence[str]
) -> None:
    client = client_of(path, workflows=workflows, hosted=hosted)
    assert client.list_tool_names() == listed
    catalog: list[Any] = client.call("catalog", {"type": "tools"})["structuredContent"]["tools"] if path == FLAT else []
    hidden = {tool["name"] for tool in catalog if tool["hidden"]}
    assert not hidden & set(listed)
    assert path == FUNCTIONS or set(RUN_NAMES) <= hidden | set(listed)


@pytest.mark.invariant(124)
@pytest.mark.parametrize("path", [FLAT, FUNCTIONS])
@pytest.mark.parametrize(
    ("hosted", "milliseconds", "is_listed"),
    [
        (QUICK, 40_000, True),
        (QUICK, 25_000, False),
        (HostedFunction("yard::short", timeout_ms=5_000), 40_000, False),
        (HostedFunction("yard::shaped", output_schema={"type": "object"}), 40_000, False),
        (HostedFunction("yard::secret", hidden=True), 40_000, True),
    ],
    ids=["longer than a client waits", "as long", "the author declared less", "an output schema", "hidden"],
)
def test_they_are_listed_where_the_setting_of_the_tenant_makes_calls_long(
    path: str, hosted: HostedFunction, milliseconds: int, is_listed: bool
) -> None:
    client = client_of(path, hosted=[hosted])
    assert not {*RUN_NAMES} & {*client.list_tool_names()}
    client.settings.set(TENANT, None, "tool_timeout_ms", milliseconds)
    client.advance_clock(3)
    assert ({*RUN_NAMES} <= {*client.list_tool_names()}) is is_listed
    name = "yard__" + hosted.function[6:] if path == FUNCTIONS else "skill:" + hosted.function[6:]
    answer = client.call(name)
    assert ("workflowId" in answer.get("structuredContent", {})) is is_listed


@pytest.mark.invariant(124)
def test_a_run_is_driven_to_its_end_by_listed_tools_alone() -> None:
    client = client_of(FLAT, workflows={"four": FOUR_STEPS})
    listed = set(client.list_tool_names())

    def call(name: str, arguments: Any) -> Any:
        assert name in listed
        return client.call(name, arguments)["structuredContent"]

    seen = call("workflow:Four steps", {})
    for _ in range(4):
        link = seen["links"][0]
        seen = call(link["method"], link["args"])
    assert (seen["terminal"], seen["links"]) == (True, [])
    assert call("workflow.get", {"workflowId": seen["workflowId"]})["state"] == "end"


def test_the_instructions_of_the_flat_endpoint_say_which_tools_are_listed() -> None:
    client = client_of(FLAT, workflows={"four": FOUR_STEPS})
    instructions = client.request("server/discover")["result"]["instructions"]
    assert all(name in instructions for name in RUN_NAMES)
    assert "workflow.get, workflow.submit and workflow.explain are listed" in instructions


def test_a_token_that_has_started_a_run_with_another_input_links_that_run() -> None:
    client = client_of(FLAT, workflows={"four": {**FOUR_STEPS, "inputSchema": {"type": "object"}}})
    started = client.call("workflow:Four steps", {"a": 1}, token="t")["structuredContent"]
    refused = client.call("workflow:Four steps", {"a": 2}, token="t")
    itself = refused["structuredContent"]["links"][0]
    assert client.call(itself["method"], itself["args"])["structuredContent"]["workflowId"] == started["workflowId"]
    assert refused["content"][0]["text"].startswith("Your clientToken has already started four with another input")
