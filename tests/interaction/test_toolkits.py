"""Toolkits as they are called: through the harness of an executor, and by a client at /mcp/functions."""

import json
from typing import Any

import pytest

from signpost.calling import wire
from signpost.calling.wire import LARGEST_REPLY, call_message
from signpost.calling.wire_fields import MalformedMessage
from signpost.contract import ClientPresentation, Failure, HostedFunction, KeptResult, Result
from signpost.directory.manifest import ExecutorManifest, parse_manifest
from signpost.surfaces.function_calls import LONGEST_STRUCTURED
from signpost.toolkit import Answer, Content, Context, Function, ToolError, Toolkit, ToolResult, registered
from tests.support import hosted
from tests.support.hosted import TOKEN, MemoryKeptResults, as_lambda_sends, call_of
from tests.support.memory_gateway import MODERN
from tests.support.toolkits import Served

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
def served(request: pytest.FixtureRequest) -> Served:
    return Served(yard(), version=request.param)


def echo(args: Any) -> Any:
    return args


def text_of(result: Any) -> str:
    (block,) = result["content"]
    return block["text"]


def answering(value: Any, **said: Any) -> hosted.Hosted:
    """An executor whose tool `f` answers this."""
    kit = Toolkit("yard")

    def f() -> Any:
        return value() if callable(value) else value

    kit.tool(**said)(f)
    return hosted.Hosted(kit.functions, kept_results=MemoryKeptResults())


# Through the harness


def test_n004_n008_an_executor_gives_a_tool_what_its_author_declared() -> None:
    world = hosted.Hosted(yard().functions)
    assert world.call("yard::count") == Result({"n": 1}, [])
    assert world.call("yard::count", {"n": 2.0, "x": 1}) == Result({"n": 2}, [])
    assert world.call("yard::lookup", {"q": "a", "x": 1}) == Result(["q", "x"], [])


def test_a055_what_the_schema_cannot_say_is_an_invalid_argument_too() -> None:
    kit = Toolkit("yard")

    @kit.tool(input={"day": "date"})
    def f(args: Any) -> Any:
        raise AssertionError(args)

    reply = hosted.Hosted(kit.functions).call("yard::f", {"day": "soon"})
    assert isinstance(reply, Failure)
    assert (reply.code, reply.outcome) == ("invalid_arguments", "none")
    assert "the argument `day`" in reply.message
    assert f


@pytest.mark.invariant(59)
@pytest.mark.parametrize("isolate", [False, True])
def test_a078_what_does_not_conform_is_never_sent_and_the_log_says_why(isolate: bool) -> None:
    world = answering({"n": "secret"}, output=COUNT, isolate=isolate)
    reply = world.call("yard::f")
    assert isinstance(reply, Failure)
    assert (reply.code, reply.outcome) == ("result_refused", "unknown")
    assert "secret" not in reply.message
    (line,) = world.log.of("fault")
    assert "`n` of its result does not satisfy its output schema" in line["fault"]


def test_a075_a076_what_conforms_is_sent_and_errors_are_not_held_against_the_schema() -> None:
    assert answering({"n": 1, "note": None}, output=COUNT).call("yard::f") == Result({"n": 1, "note": None}, [])
    reply = answering(ToolResult([Content.text("No.")], is_error=True), output=COUNT).call("yard::f")
    shown = ClientPresentation([{"type": "text", "text": "No."}], {})
    assert reply == Failure("reported", "permanent_error", "none", "No.", shown=shown)


def test_a_result_that_takes_for_ever_to_check_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signpost.toolkit.harness.CHECK_TIMEOUT", 0.1)
    slow = {"type": "object", "properties": {"a": {"uniqueItems": True}}}
    world = answering({"a": [{"n": number} for number in range(20_000)]}, output_schema=slow)
    reply = world.call("yard::f")
    assert isinstance(reply, Failure)
    assert reply.code == "result_refused"
    assert "takes too long to validate" in world.log.of("fault")[0]["fault"]


def test_a_result_that_comes_too_late_to_be_checked_has_timed_out() -> None:
    slow = {"type": "object", "properties": {"a": {"uniqueItems": True}}}
    world = answering({"a": [{"n": number} for number in range(20_000)]}, output_schema=slow)
    reply = world.call("yard::f", seconds=0.4)
    assert isinstance(reply, Failure)
    assert reply.code == "timed_out"


def test_a_result_against_whose_schema_nothing_can_be_held_is_not_sent() -> None:
    nowhere = {"type": "object", "properties": {"a": {"$ref": "#/$defs/missing"}}}
    world = answering({"a": 1}, output_schema=nowhere)
    reply = world.call("yard::f")
    assert isinstance(reply, Failure)
    assert reply.code == "result_refused"


@pytest.mark.parametrize("isolate", [False, True])
def test_content_travels_beside_the_value_that_can_be_read_of_it(isolate: bool) -> None:
    blocks = [Content.text("a"), Content.link("iii://a", "a")]
    reply = answering(Answer(blocks, evidence=[{"kind": "seen"}]), isolate=isolate).call("yard::f")
    assert reply == Result("a", [{"kind": "seen"}], ClientPresentation([block.block for block in blocks], {}))
    whole = ToolResult(blocks[:1], structured={"n": 1}, meta={"took": 1})
    assert answering(whole, isolate=isolate).call("yard::f") == Result(
        {"n": 1}, [], ClientPresentation([blocks[0].block], {"took": 1})
    )
    failed = answering(ToolResult(blocks, is_error=True), isolate=isolate).call("yard::f")
    assert isinstance(failed, Failure)
    assert failed.shown == ClientPresentation([block.block for block in blocks], {})


def test_who_knows_nothing_of_content_reads_the_value() -> None:
    world = answering(Content.text("a"))
    sent: Any = json.loads(as_lambda_sends(world.harness.handle(call_message(call_of("yard::f"), TOKEN), 60_000)))
    assert sent == {"signpost": 1, "result": "a", "shown": {"content": [{"type": "text", "text": "a"}]}}


def test_long_content_is_refused_and_a_long_value_is_kept() -> None:
    long = "x" * LARGEST_REPLY
    for refused in (Content.text(long), ToolResult([Content.text(long)], is_error=True), ToolResult(meta={"a": long})):
        reply = answering(refused).call("yard::f")
        assert isinstance(reply, Failure)
        assert (reply.code, reply.outcome) == ("result_too_large", "unknown")
    world = answering({"n": 1, "note": long}, output=COUNT)
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
def test_content_that_is_none_is_a_malformed_reply(shown: Any) -> None:
    with pytest.raises(MalformedMessage):
        wire.parse_reply(json.dumps({"signpost": 1, "result": 1, "shown": shown}).encode())


def test_the_manifest_says_all_that_an_author_said() -> None:
    kit = Toolkit("yard", category="Utility")

    @kit.tool(
        name="a name", title="T", hidden=True, idempotent=True, doc="yard/f", meta={"a": {"b": 1}}, output=COUNT,
        annotations={"title": "A", "destructive_hint": False}, icons=[{"src": "data:image/png;base64,AA=="}],
        expose=True, timeout_ms=5, permissions=["mail"], readable=False,
    )  # fmt: skip
    def f() -> None:
        """Does it."""

    (function,) = kit.functions
    world = hosted.Hosted([function])
    (read,) = parse_manifest(
        as_lambda_sends(world.harness.handle({"signpost": 1, "operation": "manifest"}, 1000))
    ).functions
    assert read == function.hosted
    assert (read.name, read.title, read.category, read.doc) == ("a name", "T", "Utility", "yard/f")
    assert (read.hidden, read.idempotent, read.exposed, read.readable) == (True, True, True, False)
    assert f


@pytest.mark.parametrize(
    ("member", "value"),
    [("outputSchema", 5), ("annotations", []), ("icons", {}), ("icons", [5]), ("meta", "x"), ("title", 5), ("doc", 5)],
)
def test_a_manifest_that_says_it_otherwise_is_none(member: str, value: Any) -> None:
    functions = [{"id": "f", member: value}]
    with pytest.raises(MalformedMessage):
        parse_manifest(json.dumps({"signpost": 1, "manifest": {"functions": functions}}).encode())


def test_what_an_earlier_executor_does_not_say_is_not_said() -> None:
    old = json.dumps({"signpost": 1, "manifest": {"functions": [{"id": "f"}]}}).encode()
    assert parse_manifest(old) == ExecutorManifest([HostedFunction("f")])


# By a client


def test_n006_n007_n048_lists_show_what_tools_have_and_leave_out_what_is_hidden(served: Served) -> None:
    tools = served.tools()
    assert sorted(tools) == ["skill__fetch", "yard__count", "yard__read", "yard__server_time", "yard__show"]
    assert tools["yard__read"]["_meta"] == {"cost": 1, "category": "Files"}
    assert tools["yard__server_time"]["_meta"] == {"category": "Utility"}


def test_n013_n014_n015_what_is_said_where_a_kit_is_registered_counts_in_lists_and_what_is_hidden_answers() -> None:
    admin = Served(registered(yard(), hidden=True, category="Admin"))
    assert sorted(admin.tools()) == ["skill__fetch"]
    assert text_of(admin.call("yard__server_time")) == "noon"
    shown = Served(registered(yard(), visible=True, category="Admin")).tools()
    assert {"yard__lookup", "yard__read"} <= shown.keys()
    assert shown["yard__read"]["_meta"] == {"cost": 1, "category": "Admin"}
    assert shown["yard__lookup"]["_meta"] == {"category": "Admin"}


def test_n051_a_tool_that_is_registered_again_under_another_name_is_another_tool() -> None:
    clock = Toolkit("clock")

    @clock.tool
    def server_time() -> str:
        """The time."""
        return "noon"

    again = registered(clock, namespace="shop", name="shop.time", description="The time of the shop.")
    served = Served(clock, again, endpoint="/mcp/flat")
    tools = {name: tool["description"] for name, tool in served.tools().items() if name != "skill__fetch"}
    assert tools == {
        "skill:server_time": "The time. [dynamic]",
        "skill:shop.time": "The time of the shop. [dynamic]",
    }
    assert [text_of(served.call(name)) for name in tools] == ["noon", "noon"]
    assert served.called == ["clock::server_time", "shop::server_time"]
    assert server_time


def test_a066_a067_a073_a074_only_tools_that_have_them_show_title_meta_annotations_and_output_schema() -> None:
    plain = Toolkit("plain")

    @plain.tool
    def bare() -> None: ...

    tools = Served(yard(), plain).tools()
    assert tools["plain__bare"].keys() == {"name", "description", "inputSchema"}
    assert tools["yard__read"]["title"] == "Read"
    assert tools["yard__read"]["annotations"] == {"readOnlyHint": True}
    assert "outputSchema" not in tools["yard__read"]
    assert tools["yard__count"]["outputSchema"]["required"] == ["n"]
    assert tools["yard__show"]["icons"] == [{"src": "https://a.test/i.png", "mimeType": "image/png"}]
    assert "icons" not in tools["yard__read"]
    assert bare


def test_older_clients_are_shown_what_they_know() -> None:
    tools = Served(yard(), version=OLDEST).tools()
    assert all(tool.keys() == {"name", "description", "inputSchema"} for tool in tools.values())


def test_n011_n018_visible_hidden_and_argumentless_tools_answer(served: Served) -> None:
    assert text_of(served.call("yard__read", path="a")) == "default a"
    assert text_of(served.call("yard__server_time")) == "noon"
    assert json.loads(text_of(served.call("yard__lookup", q="a"))) == ["q"]


def test_a075_a077_structured_results_go_with_equal_text_and_others_without_structure(served: Served) -> None:
    counted = served.call("yard__count", n=5)
    assert counted["structuredContent"] == json.loads(text_of(counted)) == {"n": 5}
    assert counted["isError"] is False
    assert "structuredContent" not in served.call("yard__server_time")


@pytest.mark.invariant(59)
def test_a078_a_client_is_told_that_a_result_does_not_conform_and_not_what_it_is(served: Served) -> None:
    refused = served.call("yard__count", n=0)
    assert refused["isError"]
    assert "structuredContent" not in refused
    assert text_of(refused) == "yard::count ran, but its result does not satisfy its output schema and was not sent."


def test_a076_a_reported_error_reaches_the_client_in_its_own_words(served: Served) -> None:
    refused = served.call("yard__count", n=-1)
    assert (refused["isError"], text_of(refused)) == (True, "There is nothing below zero.")


def test_a079_a080_a_call_without_arguments_is_refused_or_has_the_defaults(served: Served) -> None:
    assert served.ask("tools/call", {"name": "yard__count"})["structuredContent"] == {"n": 1}
    missing = served.ask("tools/call", {"name": "yard__read"})
    assert missing["isError"]
    assert "`path`" in text_of(missing)


def test_n009_bad_arguments_are_an_error_that_names_the_tool_and_the_field(served: Served) -> None:
    refused = served.call("yard__read", path=5)
    assert refused["isError"]
    assert text_of(refused).startswith("yard__read was not called: the argument `path`")


def test_every_kind_of_content_is_shown(served: Served) -> None:
    text, image, audio = served.call("yard__show")["content"]
    assert text == {"type": "text", "text": "Look:", "annotations": {"audience": ["user"]}}
    assert image == {"type": "image", "data": "AA==", "mimeType": "image/png"}
    assert audio == {"type": "audio", "data": "AA==", "mimeType": "audio/wav"}


def test_clients_that_know_no_audio_are_told_that_there_is_some() -> None:
    audio = Served(yard(), version=OLDEST).call("yard__show")["content"][2]
    assert audio["type"] == "text"
    assert "audio" in audio["text"]


def test_a_whole_result_is_shown_whole(served: Served) -> None:
    kit = Toolkit("yard")

    @kit.tool
    def whole(*, wrong: bool = False) -> ToolResult:
        words = [Content.text("Five.")]
        return ToolResult(words, structured={"n": 5}, meta={"took": 3}, is_error=wrong)

    other = Served(kit, version=served.version)
    good, bad = other.call("yard__whole"), other.call("yard__whole", wrong=True)
    assert (text_of(good), good["structuredContent"], good["isError"]) == ("Five.", {"n": 5}, False)
    assert good["_meta"]["took"] == bad["_meta"]["took"] == 3
    assert (text_of(bad), bad["isError"]) == ("Five.", True)
    assert whole


def test_what_an_output_schema_asks_for_is_structured_however_long_it_is() -> None:
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

    served = Served(kit)
    assert served.call("yard__is_kept")["isError"]
    assert served.call("yard__conforms")["structuredContent"] == {"note": long}
    assert len(served.call("yard__conforms")["content"][0]["text"]) < LONGEST_STRUCTURED
    assert "structuredContent" not in served.call("yard__says")
    assert [conforms, says, is_kept]


def test_an_output_that_is_no_object_is_checked_and_not_shown_as_a_schema() -> None:
    kit = Toolkit("yard")

    @kit.tool(output_schema={"type": "array", "items": {"type": "integer"}})
    def numbers() -> Any:
        return [1]

    served = Served(kit)
    assert "outputSchema" not in served.tools()["yard__numbers"]
    assert json.loads(text_of(served.call("yard__numbers"))) == [1]
    assert numbers


def test_where_tools_have_to_be_exposed_those_of_kits_have_to_be_too() -> None:
    kit = Toolkit("yard")

    @kit.tool(expose=True)
    def open_() -> None: ...

    @kit.tool
    def shut() -> None: ...

    assert "yard__shut" not in Served(kit, REQUIRE_EXPOSE="1").tools()
    assert [open_, shut]


def test_kits_stand_beside_plain_functions() -> None:
    served = Served(yard(), Function("plain", echo))
    assert "plain" in served.tools()
    assert served.call("plain", a=1)["structuredContent"] == {"a": 1}
