"""A server of plain functions as clients of both eras meet it: N-049 to N-068."""

import json
from enum import StrEnum
from typing import Annotated, Any

import pytest

from signpost.mcp import pages
from signpost.mcp.request import LOG_LEVEL
from signpost.mcp.revisions import LEGACY_VERSIONS
from signpost.mcp.surface import Surface
from signpost.model import JsonObject
from signpost.toolkit import Context, Function, ToolError, Toolkit
from signpost.wiring.endpoints import build_gateway_surface
from stage.samples import TENANT
from tests.support.fixture_provider import add_fixtures
from tests.support.memory_gateway import META, MODERN, MemoryGateway, build_modern_request
from tests.support.oracle import parse_messages
from tests.support.toolkits import ServedToolkits

OLDER = LEGACY_VERSIONS[0]
RAW: JsonObject = {"type": "object", "properties": {"q": {"type": "string", "minLength": 2}}, "required": ["q"]}


class Mode(StrEnum):
    PLAIN = "plain"
    LOUD = "loud"


def yard() -> Toolkit:
    kit = Toolkit("yard")

    @kit.tool
    def echo(message: str, repeat: Annotated[int, {"min": 1, "max": 3}] = 1, mode: Mode = Mode.PLAIN) -> str:
        """Says it again."""
        said = " ".join([message] * repeat)
        return said.upper() if mode is Mode.LOUD else said

    @kit.tool(output={"sum": {"type": "integer", "required": True}})
    def add(a: int, b: int) -> Any:
        return {"sum": a + b}

    @kit.tool(input_schema=RAW)
    def raw(args: Any) -> Any:
        return sorted(args)

    @kit.tool
    def fails() -> None:
        raise ToolError("The yard is closed.")

    @kit.tool
    def crashes() -> None:
        raise RuntimeError("hunter2")

    @kit.resource("yard://rules")
    def rules() -> str:
        return "Shut the gate."

    @kit.prompt
    def ask(word: str) -> str:
        return word

    assert [echo, add, raw, fails, crashes, rules, ask]
    return kit


@pytest.fixture(params=[(MODERN, "/mcp/functions"), (OLDER, "/mcp/functions"), (MODERN, "/mcp/flat")])
def served(request: pytest.FixtureRequest) -> ServedToolkits:
    version, endpoint = request.param
    return ServedToolkits(yard(), version=version, endpoint=endpoint)


def call_tool(served: ServedToolkits, tool: str, **arguments: Any) -> Any:
    prefix = "yard__" if served.endpoint == "/mcp/functions" else "skill:"
    return served.call(f"{prefix}{tool}", **arguments)


def text_of(result: Any) -> str:
    (block,) = result["content"]
    return block["text"]


def refusal_text(served: ServedToolkits, tool: str, **arguments: Any) -> str:
    result = call_tool(served, tool, **arguments)
    assert result["isError"] is True
    assert served.called_functions == []
    return text_of(result)


@pytest.mark.parametrize("version", [MODERN, *LEGACY_VERSIONS])
def test_n049_the_server_advertises_info_capabilities_and_instructions(version: str) -> None:
    served = ServedToolkits(yard(), version=version)
    hello: JsonObject = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    found = (
        served.request_result("server/discover") if version == MODERN else served.request_result("initialize", hello)
    )
    info = found["_meta"]["io.modelcontextprotocol/serverInfo"] if version == MODERN else found["serverInfo"]
    assert info["name"] == "signpost"
    completions = [] if version == LEGACY_VERSIONS[-1] else ["completions"]
    assert found["capabilities"].keys() - {"extensions"} == {"tools", "resources", "prompts", *completions}
    assert "iii://skills" in found["instructions"]


def test_n050_an_unknown_revision_is_answered_with_the_newest_legacy_one() -> None:
    served = ServedToolkits(yard(), version=OLDER)
    hello: JsonObject = {
        "protocolVersion": "1999-01-01",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    assert served.request_result("initialize", hello)["protocolVersion"] == OLDER
    assert served.request_result("ping") == {}


@pytest.mark.parametrize("method", ["tools/list", "resources/list", "resources/templates/list", "prompts/list"])
def test_n052_an_invented_cursor_is_an_invalid_parameter(served: ServedToolkits, method: str) -> None:
    assert served.request_error(method, {"cursor": "garbage"})["code"] == -32602


def test_n053_defaults_are_filled_in_and_choices_become_enum_members(served: ServedToolkits) -> None:
    assert text_of(call_tool(served, "echo", message="Ahoy")) == "Ahoy"
    assert text_of(call_tool(served, "echo", message="Ahoy", repeat=2, mode="loud")) == "AHOY AHOY"


def test_n054_a_structured_result_is_also_sent_as_json_text(served: ServedToolkits) -> None:
    result = call_tool(served, "add", a=1, b=2)
    assert result["structuredContent"] == json.loads(text_of(result)) == {"sum": 3}


@pytest.mark.parametrize(
    ("arguments", "field"),
    [({}, "message"), ({"message": "a", "repeat": 4}, "repeat"), ({"message": "a", "mode": "shrill"}, "mode")],
)
def test_n055_a_missing_or_invalid_argument_is_an_error_that_names_it(
    served: ServedToolkits, arguments: JsonObject, field: str
) -> None:
    assert field in refusal_text(served, "echo", **arguments)


def test_n056_arguments_of_a_raw_schema_are_validated_and_passed_unchanged(served: ServedToolkits) -> None:
    assert "q" in refusal_text(served, "raw", q="a")
    assert json.loads(text_of(call_tool(served, "raw", q="ab", more=1))) == ["more", "q"]


def test_n057_an_unknown_tool_is_an_invalid_parameter(served: ServedToolkits) -> None:
    error = served.request_error("tools/call", {"name": "yard__nothing", "arguments": {}})
    assert (error["code"], "yard__nothing" in error["message"]) == (-32602, True)


def test_n058_a_tool_error_is_an_error_result_with_its_message(served: ServedToolkits) -> None:
    result = call_tool(served, "fails")
    assert (result["isError"], text_of(result)) == (True, "The yard is closed.")


def test_n059_a_crash_reveals_no_details_and_the_next_call_works(served: ServedToolkits) -> None:
    result = call_tool(served, "crashes")
    assert result["isError"] is True
    assert not {"hunter2", "RuntimeError", "Traceback"} & {*text_of(result).replace(".", " ").split()}
    assert text_of(call_tool(served, "echo", message="Ahoy")) == "Ahoy"


def messages_of_call(version: str, tool: str, **meta: Any) -> list[Any]:
    """All messages that come of a call whose client takes events: what is told, and the answer."""
    gateway = MemoryGateway()
    gateway.serve_surface(add_fixtures(build_gateway_surface(gateway.composition)))
    credential = f"Bearer {gateway.make_key(TENANT)}"
    params: JsonObject = {"name": tool, "arguments": {}}
    message, headers = build_modern_request("tools/call", params, {**META, **meta})
    if version != MODERN:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**params, "_meta": meta}}
        headers = {"mcp-protocol-version": version}
    answer = gateway.send(
        body=json.dumps(message),
        headers={**headers, "authorization": credential, "accept": "application/json, text/event-stream"},
    )
    return parse_messages(answer.headers, answer.text)


@pytest.mark.parametrize("version", [MODERN, *LEGACY_VERSIONS])
def test_n060_progress_is_sent_only_for_a_progress_token(version: str) -> None:
    *progress, answer = messages_of_call(version, "test_tool_with_progress", progressToken="p")
    assert [(one["method"], one["params"]["progressToken"]) for one in progress] == [
        ("notifications/progress", "p")
    ] * 3
    assert answer["result"]["content"][0]["text"] == "Progressed."
    (answer,) = messages_of_call(version, "test_tool_with_progress")
    assert answer["result"]["content"][0]["text"] == "Progressed."


@pytest.mark.parametrize(("level", "messages"), [({}, 0), ({LOG_LEVEL: "info"}, 3), ({LOG_LEVEL: "warning"}, 0)])
def test_n061_log_messages_are_sent_only_from_the_requested_level_on(level: JsonObject, messages: int) -> None:
    *logged, answer = messages_of_call(MODERN, "test_logging_tool", **level)
    assert [one["method"] for one in logged] == ["notifications/message"] * messages
    assert answer["result"]["content"][0]["text"] == "Logged."
    (refused,) = messages_of_call(MODERN, "test_logging_tool", **{LOG_LEVEL: "loud"})
    assert refused["error"]["code"] == -32602


def test_n065_functions_without_a_toolkit_are_served_and_advertised() -> None:
    def run(args: JsonObject, ctx: Context) -> JsonObject:
        return {"tenant": ctx.principal.tenant, **args}

    served = ServedToolkits(Function("yard::plain", run, description="Plain."))
    assert "tools" in served.request_result("server/discover")["capabilities"]
    assert served.list_tools()["yard__plain"]["description"] == "Plain."
    assert served.call("yard__plain", a=1)["structuredContent"] == {"tenant": "default", "a": 1}


def test_n066_a_server_without_tools_has_no_tool_capability_and_methods() -> None:
    gateway = MemoryGateway(Surface(name="bare", instructions=""))
    assert gateway.request("server/discover").json["result"]["capabilities"] == {}
    call: JsonObject = {"name": "any", "arguments": {}}
    assert gateway.request("tools/list").json["error"]["code"] == -32601
    assert gateway.request("tools/call", call).json["error"]["code"] == -32601


@pytest.mark.parametrize("version", [MODERN, *LEGACY_VERSIONS])
def test_n067_invalid_json_is_a_parse_error_and_unknown_notifications_are_ignored(version: str) -> None:
    gateway = MemoryGateway()
    headers = {"authorization": f"Bearer {gateway.make_key()}", "mcp-protocol-version": version}
    broken = gateway.send(body='{"jsonrpc": "2.0", ', headers=headers)
    assert (broken.json["error"]["code"], broken.json["id"]) == (-32700, None)
    unheard = gateway.send(body=json.dumps({"jsonrpc": "2.0", "method": "notifications/rumour"}), headers=headers)
    assert (unheard.status, unheard.text) == (202, "")


def test_n068_120_tools_are_listed_in_pages_of_fifty(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pages, "PAGE_SIZE", 50)
    served = ServedToolkits(*[Function(f"yard::f{number:03}", lambda: None) for number in range(119)])
    found, cursor, sizes = list[str](), None, list[int]()
    while True:
        page = served.request_result("tools/list", {} if cursor is None else {"cursor": cursor})
        sizes.append(len(page["tools"]))
        found += [tool["name"] for tool in page["tools"]]
        cursor = page.get("nextCursor")
        if cursor is None:
            break
    assert sizes == [50, 50, 20]
    assert sorted(found) == ["skill__fetch", *(f"yard__f{number:03}" for number in range(119))]
