"""Toolkits as they are called: through the harness of an executor, and by a client at /mcp/functions."""

import json
from typing import Any

import pytest

from signpost.calling import wire
from signpost.calling.wire import LARGEST_REPLY, call_message
from signpost.calling.wire_fields import MalformedMessage
from signpost.contract import ClientPresentation, Failure, HostedFunction, KeptResult, Result
from signpost.directory.manifest import ExecutorManifest, parse_manifest
from signpost.surfaces.reply_results import LONGEST_STRUCTURED
from signpost.toolkit import Answer, Content, Context, Function, ToolError, Toolkit, ToolResult, registered
from tests.support import function_host
from tests.support.function_host import TOKEN, MemoryKeptResults, build_call, encode_reply
from tests.support.memory_gateway import MODERN
from tests.support.toolkits import ServedToolkits

LEGACY = "2025-11-25"
OLDEST = "2024-11-05"
COUNT: Any = {"n": {"type": "integer", "required": True}, "note": "string"}


def yard() -> Toolkit:
    kit = Toolkit("yard", category="Utility")

    @kit.tool(name="files.read", category="Files", title="Read", annotations={"read_only_hint": True}, meta={"cost": 1})
    def read(path: str, ctx: Context) -> str:
        """Reads a file."""
        return f"{ctx.principal.tenant} {path}"

    @kit.tool
    def server_time() -> str:
        return "noon"

    @kit.tool(hidden=True, input='{"type": "object", "properties": {"q": {"type": "string"}}}')
    def lookup(args: Any) -> Any:
        return sorted(args)

    @kit.tool(input={"n": {"type": "integer", "default": 1}}, output=COUNT)
    def count(args: Any) -> Any:
        if args["n"] < 0:
            raise ToolError("There is nothing below zero.")
        return {"n": args["n"]} if args["n"] else {"n": "nothing"}

    @kit.tool(icons=[{"src": "https://a.test/i.png", "mimeType": "image/png"}])
    def show() -> Any:
        return [
            Content.text("Look:", audience=["user"]),
            Content.image(b"\x00", "image/png"),
            Content.audio(b"\x00", "audio/wav"),
        ]

    assert [read, server_time, lookup, count, show]
    return kit


@pytest.fixture(params=[MODERN, LEGACY])
def served(request: pytest.FixtureRequest) -> ServedToolkits:
    return ServedToolkits(yard(), version=request.param)


def echo(args: Any) -> Any:
    return args


def text_of(result: Any) -> str:
    (block,) = result["content"]
    return block["text"]


def executor_answering(value: Any, **said: Any) -> function_host.FunctionHost:
    """An executor whose tool `f` answers this."""
    kit = Toolkit("yard")

    def f() -> Any:
        return value() if callable(value) else value

    kit.tool(**said)(f)
    return function_host.FunctionHost(kit.functions, kept_results=MemoryKeptResults())


# Through the harness


def test_n004_n008_a_tool_gets_its_declared_defaults_and_converted_arguments() -> None:
    world = function_host.FunctionHost(yard().functions)
    assert world.call("yard::count") == Result({"n": 1}, [])
    assert world.call("yard::count", {"n": 2.0, "x": 1}) == Result({"n": 2}, [])
    assert world.call("yard::lookup", {"q": "a", "x": 1}) == Result(["q", "x"], [])


def test_a055_an_argument_that_cannot_be_cast_is_invalid() -> None:
    kit = Toolkit("yard")

    @kit.tool(input={"day": "date"})
    def f(args: Any) -> Any:
        raise AssertionError(args)

    reply = function_host.FunctionHost(kit.functions).call("yard::f", {"day": "soon"})
    assert isinstance(reply, Failure)
    assert (reply.code, reply.outcome) == ("invalid_arguments", "none")
    assert "the argument `day`" in reply.message
    assert f


@pytest.mark.invariant(59)
@pytest.mark.parametrize("isolate", [False, True])
def test_a078_a_result_that_violates_its_schema_is_not_sent_and_is_logged(isolate: bool) -> None:
    world = executor_answering({"n": "secret"}, output=COUNT, isolate=isolate)
    reply = world.call("yard::f")
    assert isinstance(reply, Failure)
    assert (reply.code, reply.outcome) == ("result_refused", "unknown")
    assert "secret" not in reply.message
    (line,) = world.log.find_lines("fault")
    assert "`n` of its result does not satisfy its output schema" in line["fault"]


def test_a075_a076_a_conforming_result_is_sent_and_errors_are_not_validated() -> None:
    assert executor_answering({"n": 1, "note": None}, output=COUNT).call("yard::f") == Result(
        {"n": 1, "note": None}, []
    )
    reply = executor_answering(ToolResult([Content.text("No.")], is_error=True), output=COUNT).call("yard::f")
    shown = ClientPresentation([{"type": "text", "text": "No."}], {})
    assert reply == Failure("reported", "permanent_error", "none", "No.", shown=shown)


def test_a_result_that_takes_too_long_to_validate_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signpost.schema.validation.VALIDATION_TIME_LIMIT", 0.1)
    slow = {"type": "object", "properties": {"a": {"uniqueItems": True}}}
    world = executor_answering({"a": [{"n": number} for number in range(20_000)]}, output_schema=slow)
    reply = world.call("yard::f")
    assert isinstance(reply, Failure)
    assert reply.code == "result_refused"
    assert "takes too long to validate" in world.log.find_lines("fault")[0]["fault"]


def test_a_result_validated_past_the_deadline_has_timed_out() -> None:
    slow = {"type": "object", "properties": {"a": {"uniqueItems": True}}}
    world = executor_answering({"a": [{"n": number} for number in range(20_000)]}, output_schema=slow)
    reply = world.call("yard::f", seconds=0.4)
    assert isinstance(reply, Failure)
    assert reply.code == "timed_out"


def test_a_result_with_a_dangling_reference_in_its_schema_is_not_sent() -> None:
    nowhere = {"type": "object", "properties": {"a": {"$ref": "#/$defs/missing"}}}
    world = executor_answering({"a": 1}, output_schema=nowhere)
    reply = world.call("yard::f")
    assert isinstance(reply, Failure)
    assert reply.code == "result_refused"


@pytest.mark.parametrize("isolate", [False, True])
def test_content_blocks_are_sent_beside_the_value(isolate: bool) -> None:
    blocks = [Content.text("a"), Content.link("iii://a", "a")]
    reply = executor_answering(Answer(blocks, evidence=[{"kind": "seen"}]), isolate=isolate).call("yard::f")
    assert reply == Result("a", [{"kind": "seen"}], ClientPresentation([block.block for block in blocks], {}))
    whole = ToolResult(blocks[:1], structured={"n": 1}, meta={"took": 1})
    assert executor_answering(whole, isolate=isolate).call("yard::f") == Result(
        {"n": 1}, [], ClientPresentation([blocks[0].block], {"took": 1})
    )
    failed = executor_answering(ToolResult(blocks, is_error=True), isolate=isolate).call("yard::f")
    assert isinstance(failed, Failure)
    assert failed.shown == ClientPresentation([block.block for block in blocks], {})


def test_the_reply_with_content_has_a_plain_result() -> None:
    world = executor_answering(Content.text("a"))
    sent: Any = json.loads(encode_reply(world.harness.handle(call_message(build_call("yard::f"), TOKEN), 60_000)))
    assert sent == {"signpost": 1, "result": "a", "shown": {"content": [{"type": "text", "text": "a"}]}}


def test_long_content_is_refused_and_a_long_value_is_kept() -> None:
    long = "x" * LARGEST_REPLY
    for refused in (Content.text(long), ToolResult([Content.text(long)], is_error=True), ToolResult(meta={"a": long})):
        reply = executor_answering(refused).call("yard::f")
        assert isinstance(reply, Failure)
        assert (reply.code, reply.outcome) == ("result_too_large", "unknown")
    world = executor_answering({"n": 1, "note": long}, output=COUNT)
    kept = world.call("yard::f", keep_at="answers/acme/1.json")
    assert isinstance(kept, KeptResult)


@pytest.mark.parametrize(
    "shown",
    [
        5,
        {"content": "a"},
        {"content": [{"type": "video"}]},
        {"content": [{"type": "text"}]},
        {"meta": []},
        {"meta": json.loads("[" * 90 + "]" * 90)},
    ],
)
def test_malformed_content_is_a_malformed_reply(shown: Any) -> None:
    with pytest.raises(MalformedMessage):
        wire.parse_reply(json.dumps({"signpost": 1, "result": 1, "shown": shown}).encode())


def test_the_manifest_carries_all_declared_settings() -> None:
    kit = Toolkit("yard", category="Utility")

    @kit.tool(
        name="a name", title="T", hidden=True, idempotent=True, doc="yard/f", meta={"a": {"b": 1}}, output=COUNT,
        annotations={"title": "A", "destructive_hint": False}, icons=[{"src": "data:image/png;base64,AA=="}],
        expose=True, timeout_ms=5, permissions=["mail"], readable=False,
    )  # fmt: skip
    def f() -> None:
        """Does it."""

    (function,) = kit.functions
    world = function_host.FunctionHost([function])
    (read,) = parse_manifest(
        encode_reply(world.harness.handle({"signpost": 1, "operation": "manifest"}, 1000))
    ).functions
    assert read == function.hosted
    assert (read.name, read.title, read.category, read.doc) == ("a name", "T", "Utility", "yard/f")
    assert (read.hidden, read.idempotent, read.exposed, read.readable) == (True, True, True, False)
    assert f


@pytest.mark.parametrize(
    ("member", "value"),
    [("outputSchema", 5), ("annotations", []), ("icons", {}), ("icons", [5]), ("meta", "x"), ("title", 5), ("doc", 5)],
)
def test_an_invalid_member_of_a_manifest_is_malformed(member: str, value: Any) -> None:
    functions = [{"id": "f", member: value}]
    with pytest.raises(MalformedMessage):
        parse_manifest(json.dumps({"signpost": 1, "manifest": {"functions": functions}}).encode())


def test_a_manifest_without_optional_members_has_their_defaults() -> None:
    old = json.dumps({"signpost": 1, "manifest": {"functions": [{"id": "f"}]}}).encode()
    assert parse_manifest(old) == ExecutorManifest([HostedFunction("f")])


# By a client


def test_n006_n007_n048_lists_show_tool_metadata_and_leave_out_hidden_tools(served: ServedToolkits) -> None:
    tools = served.list_tools()
    assert sorted(tools) == ["skill__fetch", "yard__count", "yard__read", "yard__server_time", "yard__show"]
    assert tools["yard__read"]["_meta"] == {"cost": 1, "category": "Files"}
    assert tools["yard__server_time"]["_meta"] == {"category": "Utility"}


def test_n013_n014_n015_overrides_of_a_registered_toolkit_apply_to_lists() -> None:
    admin = ServedToolkits(registered(yard(), hidden=True, category="Admin"))
    assert sorted(admin.list_tools()) == ["skill__fetch"]
    assert text_of(admin.call("yard__server_time")) == "noon"
    shown = ServedToolkits(registered(yard(), visible=True, category="Admin")).list_tools()
    assert {"yard__lookup", "yard__read"} <= shown.keys()
    assert shown["yard__read"]["_meta"] == {"cost": 1, "category": "Admin"}
    assert shown["yard__lookup"]["_meta"] == {"category": "Admin"}


def test_n051_a_toolkit_registered_twice_under_two_names_is_two_tools() -> None:
    clock = Toolkit("clock")

    @clock.tool
    def server_time() -> str:
        """The time."""
        return "noon"

    again = registered(clock, namespace="shop", name="shop.time", description="The time of the shop.")
    served = ServedToolkits(clock, again, endpoint="/mcp/flat")
    tools = {name: tool["description"] for name, tool in served.list_tools().items() if name != "skill__fetch"}
    assert tools == {
        "skill:server_time": "The time. [dynamic]",
        "skill:shop.time": "The time of the shop. [dynamic]",
    }
    assert [text_of(served.call(name)) for name in tools] == ["noon", "noon"]
    assert served.called_functions == ["clock::server_time", "shop::server_time"]
    assert server_time


def test_a066_a067_a073_a074_tools_list_only_declared_metadata() -> None:
    plain = Toolkit("plain")

    @plain.tool
    def bare() -> None: ...

    tools = ServedToolkits(yard(), plain).list_tools()
    assert tools["plain__bare"].keys() == {"name", "description", "inputSchema"}
    assert tools["yard__read"]["title"] == "Read"
    assert tools["yard__read"]["annotations"] == {"readOnlyHint": True}
    assert "outputSchema" not in tools["yard__read"]
    assert tools["yard__count"]["outputSchema"]["required"] == ["n"]
    assert tools["yard__show"]["icons"] == [{"src": "https://a.test/i.png", "mimeType": "image/png"}]
    assert "icons" not in tools["yard__read"]
    assert bare


def test_tools_are_listed_with_the_members_of_the_legacy_revision() -> None:
    tools = ServedToolkits(yard(), version=OLDEST).list_tools()
    assert all(tool.keys() == {"name", "description", "inputSchema"} for tool in tools.values())


def test_n011_n018_visible_hidden_and_argumentless_tools_can_be_called(served: ServedToolkits) -> None:
    assert text_of(served.call("yard__read", path="a")) == "default a"
    assert text_of(served.call("yard__server_time")) == "noon"
    assert json.loads(text_of(served.call("yard__lookup", q="a"))) == ["q"]


def test_a075_a077_only_results_with_an_output_schema_are_structured(served: ServedToolkits) -> None:
    counted = served.call("yard__count", n=5)
    assert counted["structuredContent"] == json.loads(text_of(counted)) == {"n": 5}
    assert counted["isError"] is False
    assert "structuredContent" not in served.call("yard__server_time")


@pytest.mark.invariant(59)
def test_a078_a_client_gets_an_error_without_the_nonconforming_result(served: ServedToolkits) -> None:
    refused = served.call("yard__count", n=0)
    assert refused["isError"]
    assert "structuredContent" not in refused
    assert text_of(refused) == "yard::count ran, but its result does not satisfy its output schema and was not sent."


def test_a076_a_tool_error_reaches_the_client_with_its_message(served: ServedToolkits) -> None:
    refused = served.call("yard__count", n=-1)
    assert (refused["isError"], text_of(refused)) == (True, "There is nothing below zero.")


def test_a079_a080_a_call_without_arguments_gets_defaults_or_is_refused(served: ServedToolkits) -> None:
    assert served.request_result("tools/call", {"name": "yard__count"})["structuredContent"] == {"n": 1}
    missing = served.request_result("tools/call", {"name": "yard__read"})
    assert missing["isError"]
    assert "`path`" in text_of(missing)


def test_n009_bad_arguments_are_an_error_that_names_the_tool_and_the_field(served: ServedToolkits) -> None:
    refused = served.call("yard__read", path=5)
    assert refused["isError"]
    assert text_of(refused).startswith("yard__read was not called: the argument `path`")


def test_every_kind_of_content_is_sent(served: ServedToolkits) -> None:
    text, image, audio = served.call("yard__show")["content"]
    assert text == {"type": "text", "text": "Look:", "annotations": {"audience": ["user"]}}
    assert image == {"type": "image", "data": "AA==", "mimeType": "image/png"}
    assert audio == {"type": "audio", "data": "AA==", "mimeType": "audio/wav"}


def test_audio_is_described_as_text_to_legacy_clients() -> None:
    audio = ServedToolkits(yard(), version=OLDEST).call("yard__show")["content"][2]
    assert audio["type"] == "text"
    assert "audio" in audio["text"]


def test_a_tool_result_is_sent_with_content_structure_meta_and_error_flag(served: ServedToolkits) -> None:
    kit = Toolkit("yard")

    @kit.tool
    def whole(*, wrong: bool = False) -> ToolResult:
        words = [Content.text("Five.")]
        return ToolResult(words, structured={"n": 5}, meta={"took": 3}, is_error=wrong)

    other = ServedToolkits(kit, version=served.version)
    good, bad = other.call("yard__whole"), other.call("yard__whole", wrong=True)
    assert (text_of(good), good["structuredContent"], good["isError"]) == ("Five.", {"n": 5}, False)
    assert good["_meta"]["took"] == bad["_meta"]["took"] == 3
    assert (text_of(bad), bad["isError"]) == ("Five.", True)
    assert whole


def test_a_result_with_an_output_schema_is_structured_at_any_length() -> None:
    kit = Toolkit("yard")
    long = "x" * (LONGEST_STRUCTURED + 1)

    @kit.tool(output={"note": "string"})
    def conforms() -> Any:
        return {"note": long}

    @kit.tool
    def says() -> Any:
        return {"note": long}

    @kit.tool(output={"note": "string"})
    def is_kept() -> Any:
        return {"note": "x" * LARGEST_REPLY}

    served = ServedToolkits(kit)
    assert served.call("yard__is_kept")["isError"]
    assert served.call("yard__conforms")["structuredContent"] == {"note": long}
    assert len(served.call("yard__conforms")["content"][0]["text"]) < LONGEST_STRUCTURED
    assert "structuredContent" not in served.call("yard__says")
    assert [conforms, says, is_kept]


def test_an_output_schema_of_no_object_is_validated_and_not_listed() -> None:
    kit = Toolkit("yard")

    @kit.tool(output_schema={"type": "array", "items": {"type": "integer"}})
    def numbers() -> Any:
        return [1]

    served = ServedToolkits(kit)
    assert "outputSchema" not in served.list_tools()["yard__numbers"]
    assert json.loads(text_of(served.call("yard__numbers"))) == [1]
    assert numbers


def test_require_expose_applies_to_tools_of_toolkits() -> None:
    kit = Toolkit("yard")

    @kit.tool(expose=True)
    def open_() -> None: ...

    @kit.tool
    def shut() -> None: ...

    assert "yard__shut" not in ServedToolkits(kit, REQUIRE_EXPOSE="1").list_tools()
    assert [open_, shut]


def test_toolkits_and_plain_functions_are_served_together() -> None:
    served = ServedToolkits(yard(), Function("plain", echo))
    assert "plain" in served.list_tools()
    assert served.call("plain", a=1)["structuredContent"] == {"a": 1}
