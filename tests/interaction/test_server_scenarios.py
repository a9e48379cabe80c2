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
from stage.fixtures import TENANT
from stage.wiring.gateway import with_fixtures
from tests.support.memory_gateway import META, MODERN, MemoryGateway, modern
from tests.support.oracle import messages_of
from tests.support.toolkits import Served

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
def served(request: pytest.FixtureRequest) -> Served:
    version, endpoint = request.param
    return Served(yard(), version=version, endpoint=endpoint)


def called(served: Served, tool: str, **arguments: Any) -> Any:
    prefix = "yard__" if served.endpoint == "/mcp/functions" else "skill:"
    return served.call(f"{prefix}{tool}", **arguments)


def said(result: Any) -> str:
    (block,) = result["content"]
    return block["text"]


def refusal(served: Served, tool: str, **arguments: Any) -> str:
    result = called(served, tool, **arguments)
    assert result["isError"] is True
    assert served.called == []
    return said(result)


@pytest.mark.parametrize("version", [MODERN, *LEGACY_VERSIONS])
def test_n049_what_the_server_is_what_it_can_and_how_to_use_it_is_advertised(version: str) -> None:
    served = Served(yard(), version=version)
    hello: JsonObject = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    found = served.ask("server/discover") if version == MODERN else served.ask("initialize", hello)
    info = found["_meta"]["io.modelcontextprotocol/serverInfo"] if version == MODERN else found["serverInfo"]
    assert info["name"] == "signpost"
    assert {"tools", "resources", "prompts", "completions"} <= found["capabilities"].keys()
    assert "iii://skills" in found["instructions"]


def test_n050_who_asks_for_a_revision_that_there_is_not_is_offered_the_newest_and_may_ping() -> None:
    served = Served(yard(), version=OLDER)
    hello: JsonObject = {
        "protocolVersion": "1999-01-01",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    assert served.ask("initialize", hello)["protocolVersion"] == OLDER
    assert served.ask("ping") == {}


@pytest.mark.parametrize("method", ["tools/list", "resources/list", "resources/templates/list", "prompts/list"])
def test_n052_a_cursor_that_was_made_up_is_an_invalid_parameter(served: Served, method: str) -> None:
    assert served.error(method, {"cursor": "garbage"})["code"] == -32602


def test_n053_defaults_are_put_in_and_choices_are_what_the_function_knows(served: Served) -> None:
    assert said(called(served, "echo", message="Ahoy")) == "Ahoy"
    assert said(called(served, "echo", message="Ahoy", repeat=2, mode="loud")) == "AHOY AHOY"


def test_n054_a_structured_result_goes_with_the_same_json_as_text(served: Served) -> None:
    result = called(served, "add", a=1, b=2)
    assert result["structuredContent"] == json.loads(said(result)) == {"sum": 3}


@pytest.mark.parametrize(
    ("arguments", "field"),
    [({}, "message"), ({"message": "a", "repeat": 4}, "repeat"), ({"message": "a", "mode": "shrill"}, "mode")],
)
def test_n055_what_is_missing_out_of_range_or_no_choice_is_an_error_that_names_it(
    served: Served, arguments: JsonObject, field: str
) -> None:
    assert field in refusal(served, "echo", **arguments)


def test_n056_a_raw_schema_is_held_to_and_gets_what_was_sent(served: Served) -> None:
    assert "q" in refusal(served, "raw", q="a")
    assert json.loads(said(called(served, "raw", q="ab", more=1))) == ["more", "q"]


def test_n057_an_unknown_tool_is_an_invalid_parameter(served: Served) -> None:
    error = served.error("tools/call", {"name": "yard__nothing", "arguments": {}})
    assert (error["code"], "yard__nothing" in error["message"]) == (-32602, True)


def test_n058_what_an_author_reports_is_an_error_in_these_words(served: Served) -> None:
    result = called(served, "fails")
    assert (result["isError"], said(result)) == (True, "The yard is closed.")


def test_n059_a_crash_tells_nothing_of_what_is_inside_and_the_next_call_works(served: Served) -> None:
    result = called(served, "crashes")
    assert result["isError"] is True
    assert not {"hunter2", "RuntimeError", "Traceback"} & {*said(result).replace(".", " ").split()}
    assert said(called(served, "echo", message="Ahoy")) == "Ahoy"


def told(version: str, tool: str, **meta: Any) -> list[Any]:
    """All messages that come of a call whose client takes events: what is told, and the answer."""
    gateway = MemoryGateway()
    gateway.serve(with_fixtures(build_gateway_surface(gateway.composition)))
    credential = f"Bearer {gateway.make_key(TENANT)}"
    params: JsonObject = {"name": tool, "arguments": {}}
    message, headers = modern("tools/call", params, {**META, **meta})
    if version != MODERN:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**params, "_meta": meta}}
        headers = {"mcp-protocol-version": version}
    answer = gateway.send(
        body=json.dumps(message),
        headers={**headers, "authorization": credential, "accept": "application/json, text/event-stream"},
    )
    return messages_of(answer.headers, answer.text)


@pytest.mark.parametrize("version", [MODERN, *LEGACY_VERSIONS])
def test_n060_progress_is_told_to_who_sent_a_token_and_to_nobody_else(version: str) -> None:
    *progress, answer = told(version, "test_tool_with_progress", progressToken="p")
    assert [(one["method"], one["params"]["progressToken"]) for one in progress] == [
        ("notifications/progress", "p")
    ] * 3
    assert answer["result"]["content"][0]["text"] == "Progressed."
    (answer,) = told(version, "test_tool_with_progress")
    assert answer["result"]["content"][0]["text"] == "Progressed."


@pytest.mark.parametrize(("level", "messages"), [({}, 0), ({LOG_LEVEL: "info"}, 3), ({LOG_LEVEL: "warning"}, 0)])
def test_n061_log_messages_are_told_from_the_level_on_that_a_request_names_and_else_not(
    level: JsonObject, messages: int
) -> None:
    *logged, answer = told(MODERN, "test_logging_tool", **level)
    assert [one["method"] for one in logged] == ["notifications/message"] * messages
    assert answer["result"]["content"][0]["text"] == "Logged."
    (refused,) = told(MODERN, "test_logging_tool", **{LOG_LEVEL: "loud"})
    assert refused["error"]["code"] == -32602


def test_n065_functions_without_a_toolkit_are_served_and_advertised_all_the_same() -> None:
    def run(args: JsonObject, ctx: Context) -> JsonObject:
        return {"tenant": ctx.principal.tenant, **args}

    served = Served(Function("yard::plain", run, description="Plain."))
    assert "tools" in served.ask("server/discover")["capabilities"]
    assert served.tools()["yard__plain"]["description"] == "Plain."
    assert served.call("yard__plain", a=1)["structuredContent"] == {"tenant": "default", "a": 1}


def test_n066_a_server_without_tools_advertises_none_and_has_no_such_methods() -> None:
    gateway = MemoryGateway(Surface(name="bare", instructions=""))
    assert gateway.ask("server/discover").json["result"]["capabilities"] == {}
    call: JsonObject = {"name": "any", "arguments": {}}
    assert gateway.ask("tools/list").json["error"]["code"] == -32601
    assert gateway.ask("tools/call", call).json["error"]["code"] == -32601


@pytest.mark.parametrize("version", [MODERN, *LEGACY_VERSIONS])
def test_n067_what_is_no_json_gets_a_parse_error_and_an_unknown_notification_no_word(version: str) -> None:
    gateway = MemoryGateway()
    headers = {"authorization": f"Bearer {gateway.make_key()}", "mcp-protocol-version": version}
    broken = gateway.send(body='{"jsonrpc": "2.0", ', headers=headers)
    assert (broken.json["error"]["code"], broken.json["id"]) == (-32700, None)
    unheard = gateway.send(body=json.dumps({"jsonrpc": "2.0", "method": "notifications/rumour"}), headers=headers)
    assert (unheard.status, unheard.text) == (202, "")


def test_n068_a_hundred_and_twenty_tools_come_by_fifty_and_all_of_them_by_following_the_cursor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pages, "PAGE_SIZE", 50)
    served = Served(*[Function(f"yard::f{number:03}", lambda: None) for number in range(119)])
    found, cursor, sizes = list[str](), None, list[int]()
    while True:
        page = served.ask("tools/list", {} if cursor is None else {"cursor": cursor})
        sizes.append(len(page["tools"]))
        found += [tool["name"] for tool in page["tools"]]
        cursor = page.get("nextCursor")
        if cursor is None:
            break
    assert sizes == [50, 50, 20]
    assert sorted(found) == ["skill__fetch", *(f"yard__f{number:03}" for number in range(119))]
