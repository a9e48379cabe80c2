"""Sections of skill documents: which functions they run for a client, and how many for one request."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from signpost.contract import HostedFunction, Result
from signpost.directory.manifest import parse_manifest
from signpost.model import MOST_SECTIONS, Json, JsonObject
from signpost.toolkit import Function
from tests.support.function_tools import LEGACY, TENANT, FunctionToolClient, read_text
from tests.support.memory_gateway import MODERN
from tests.support.registry import MemoryRegistry

BRIDGE = "/mcp/functions"
BATCHES = "2025-03-26"


@pytest.fixture
def client() -> FunctionToolClient:
    return FunctionToolClient(MODERN, BRIDGE)


def is_run(client: FunctionToolClient, function: str) -> bool:
    """Read the section of a function as a resource and by skill__fetch, and tell whether it ran for both."""
    uri = f"iii://fn/{function.replace('::', '/')}"
    before = len(client.calls)
    read = client.request("resources/read", {"uri": uri})
    fetched = client.call("skill__fetch", {"uri": uri})
    runs = len(client.calls) - before
    assert ("result" in read) is (runs == 2), (read, runs)
    assert fetched["isError"] is (runs == 0), (fetched, runs)
    return runs == 2


def readable(function: str, **members: Any) -> HostedFunction:
    return HostedFunction(function, readable=True, **members)


def manifest_of(member: JsonObject) -> bytes:
    return json.dumps({"signpost": 1, "manifest": {"functions": [{"id": "f", **member}]}}).encode()


@pytest.mark.invariant(81)
def test_a_section_runs_only_functions_that_are_declared_readable(client: FunctionToolClient) -> None:
    client.host("yard::purge", readable("yard::now"))
    assert [is_run(client, function) for function in ("yard::now", "yard::purge")] == [True, False]


@pytest.mark.invariant(81)
def test_a_function_of_the_toolkit_is_readable_if_declared_readable_or_read_only() -> None:
    def is_readable(**options: Any) -> bool:
        return Function("f", lambda: None, **options).hosted.readable

    read_only: JsonObject = {"readOnlyHint": True}
    assert not is_readable()
    assert not is_readable(annotations={"readOnlyHint": False})
    assert not is_readable(annotations=read_only, readable=False)
    assert is_readable(annotations=read_only)
    assert is_readable(readable=True)


@pytest.mark.invariant(81)
@pytest.mark.parametrize(
    ("member", "is_readable"),
    [
        ({}, False),
        ({"readable": True}, False),
        ({"readable": True, "annotations": {"readOnlyHint": True}}, True),
        ({"readable": False, "annotations": {"readOnlyHint": True}}, False),
        ({"readableInSections": True}, True),
        ({"readableInSections": False, "annotations": {"readOnlyHint": True}}, False),
    ],
)
def test_a_manifest_of_an_earlier_release_makes_only_read_only_functions_readable(
    member: JsonObject, is_readable: bool
) -> None:
    (hosted,) = parse_manifest(manifest_of(member)).functions
    assert hosted.readable is is_readable


@pytest.mark.invariant(81)
def test_exposure_settings_hold_for_sections_as_for_tools(client: FunctionToolClient) -> None:
    client.host(readable("evil::purge", exposed=True), readable("yard::shut"), readable("yard::open", exposed=True))
    client.settings.set(TENANT, None, "require_expose", 1)
    client.settings.set(TENANT, None, "hidden_prefixes", "evil::")
    functions = ("evil::purge", "yard::shut", "yard::open")
    assert [is_run(client, function) for function in functions] == [False, False, True]
    assert client.list_tool_names() == ["yard__open", "skill__fetch"]


@pytest.mark.invariant(81)
def test_exposure_settings_of_the_deployment_hold_for_sections() -> None:
    client = FunctionToolClient(MODERN, BRIDGE, REQUIRE_EXPOSE="1", HIDDEN_PREFIXES="evil::")
    client.host(readable("evil::purge", exposed=True), readable("yard::shut"), readable("yard::open", exposed=True))
    functions = ("evil::purge", "yard::shut", "yard::open")
    assert [is_run(client, function) for function in functions] == [False, False, True]


def test_the_refusal_of_an_unreadable_section_says_how_authors_declare_it(client: FunctionToolClient) -> None:
    client.host("yard::purge")
    refused = client.call("skill__fetch", {"uri": "iii://fn/yard/purge"})
    assert "readable=True" in read_text(refused)


@pytest.mark.invariant(81)
def test_one_fetch_runs_the_functions_of_at_most_ten_sections(client: FunctionToolClient) -> None:
    client.host(readable("yard::now"))
    client.replies["yard::now"] = Result("Now.")
    assert client.call("skill__fetch", {"uris": ["iii://fn/yard/now"] * MOST_SECTIONS})["isError"] is False
    assert len(client.calls) == MOST_SECTIONS
    refused = client.call("skill__fetch", {"uris": ["iii://fn/yard/now"] * (MOST_SECTIONS + 1)})
    assert f"at most {MOST_SECTIONS} sections" in read_text(refused)
    assert len(client.calls) == MOST_SECTIONS


@pytest.mark.invariant(81)
def test_the_messages_of_a_batch_share_the_limit_of_sections() -> None:
    client = FunctionToolClient(LEGACY, BRIDGE)
    client.host(readable("yard::now"))
    client.replies["yard::now"] = Result("Now.")
    reads = [build_read(number) for number in range(MOST_SECTIONS)]
    answers = send_batch(client, [*reads, build_read("one more"), build_fetch("fetched")])
    assert ["result" in answer for answer in answers[:-1]] == [True] * MOST_SECTIONS + [False]
    assert answers[-1]["result"]["isError"] is True
    assert len(client.calls) == MOST_SECTIONS


def test_a_refused_section_does_not_count() -> None:
    registry = MemoryRegistry()
    registry.host("yard::now", "Now.")
    registry.host("yard::shut", "Shut.", readable=False)
    caller = registry.make_caller()
    for _ in range(MOST_SECTIONS):
        registry.skills.read("iii://fn/yard/shut", caller)
    assert caller.sections.remaining == MOST_SECTIONS


@pytest.mark.invariant(81)
def test_the_tool_that_runs_sections_is_not_annotated_as_read_only(client: FunctionToolClient) -> None:
    (fetch,) = [tool for tool in client.list_tools() if tool["name"] == "skill__fetch"]
    assert "readOnlyHint" not in fetch.get("annotations", {})


def build_read(message_id: Json) -> JsonObject:
    params: JsonObject = {"uri": "iii://fn/yard/now"}
    return {"jsonrpc": "2.0", "id": message_id, "method": "resources/read", "params": params}


def build_fetch(message_id: Json) -> JsonObject:
    params: JsonObject = {"name": "skill__fetch", "arguments": {"uri": "iii://fn/yard/now"}}
    return {"jsonrpc": "2.0", "id": message_id, "method": "tools/call", "params": params}


def send_batch(client: FunctionToolClient, messages: Sequence[JsonObject]) -> Sequence[Any]:
    headers = {"mcp-protocol-version": BATCHES, "content-type": "application/json"}
    authorized = {**headers, "authorization": f"Bearer {client.key}"}
    return client.gateway.send(path=BRIDGE, body=json.dumps(messages), headers=authorized).json
