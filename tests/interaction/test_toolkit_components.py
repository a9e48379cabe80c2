"""Prompts, resources and templates of toolkits, as a client sees them at both endpoints and in both eras."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from signpost.adapters.memory import MemoryDirectory
from signpost.calling import wire
from signpost.calling.components import COMPLETE_SUFFIX, ENUMERATE_SUFFIX
from signpost.calling.failures import failure
from signpost.calling.lookup import REVALIDATION_INTERVAL
from signpost.calling.wire_fields import MalformedMessage
from signpost.content.callers import Caller
from signpost.contract import CallReply, Component, Executor, HostedFunction, KeptResult, Result
from signpost.directory.manifest import parse_manifest
from signpost.model import InputRequired, Json, JsonObject, Principal, PromptArgument
from signpost.toolkit import Content, Context, PromptResult, ToolError, Toolkit, assistant, user
from tests.support.imports import imported_by
from tests.support.memory_gateway import MODERN, MemoryGateway
from tests.support.toolkits import BRIDGE, Served

LEGACY = "2025-11-25"
OLDEST = "2024-11-05"
ICON: JsonObject = {"src": "https://a.test/i.png", "mimeType": "image/png"}
YARD = Executor("arn:yard", "secret:yard", 60_000)
ROOTS: JsonObject = {"method": "roots/list", "params": {}}


def languages(value: str, given: Mapping[str, str], ctx: Context) -> list[str]:
    if value == "boom":
        raise RuntimeError("secret")
    if value == "many":
        return [f"l{n}" for n in range(150)]
    return [value, ctx.principal.tenant, *given.values()]


def instances(ctx: Context) -> list[Any]:
    return [f"yard://books/{ctx.principal.tenant}/1", Content.link("yard://books/atlas/2", "Two", size=3)]


def yard() -> Toolkit:
    kit = Toolkit("yard")
    declare_prompts(kit)
    declare_resources(kit)
    return kit


def declare_prompts(kit: Toolkit) -> None:
    @kit.prompt(
        title="Review",
        icons=[ICON],
        meta={"cost": 1},
        complete={"tone": ["kind", "keen", "dry"], "language": languages},
    )
    def review(code: str, tone: str = "kind", language: str = "") -> Any:
        """Reviews code."""
        if code == "asks":
            return InputRequired({"roots": ROOTS})
        if code == "boom":
            raise RuntimeError("secret")
        if code == "no":
            raise ToolError("Not this one.")
        return PromptResult(
            [user(f"{tone} {language} {code}"), assistant(Content.audio(b"\x00", "audio/wav"))], "Mine."
        )

    @kit.prompt(hidden=True)
    def whisper() -> str:
        """Says it quietly."""
        return "psst"

    assert [review, whisper]


def declare_resources(kit: Toolkit) -> None:
    @kit.resource(
        "yard://readme.md", title="Read me", description="All of it.", mime_type="text/markdown", size=3,
        annotations={"audience": ["user"], "priority": 0.5}, icons=[ICON], meta={"a": 1},
    )  # fmt: skip
    def readme() -> str:
        return "# A"

    @kit.resource("yard://picture", hidden=True)
    def picture() -> bytes:
        return b"\x00"

    @kit.template(
        "yard://books/{book}/{page}", name="page", mime_type="text/plain", enumerate=instances,
        complete={"book": ["atlas", "bible"]}, icons=[ICON], meta={"a": 1}, title="Page",
    )  # fmt: skip
    def page(book: str, page: int) -> Any:
        if book == "boom":
            raise RuntimeError("secret")
        return f"{book}, {page}" if page else None

    @kit.template("yard://hidden/{+path}", visible=False)
    def secret(path: str) -> Any:
        return {"path": path}

    assert [readme, picture, page, secret]


@pytest.fixture(params=[(MODERN, "/mcp"), (MODERN, BRIDGE), (LEGACY, "/mcp"), (LEGACY, BRIDGE)])
def served(request: pytest.FixtureRequest) -> Served:
    version, path = request.param
    return Served(yard(), version=version, endpoint=path)


def of_prompt(name: str) -> JsonObject:
    return {"type": "ref/prompt", "name": name}


def of_template(uri: str) -> JsonObject:
    return {"type": "ref/resource", "uri": uri}


def completing(of: JsonObject, argument: str, value: str, **given: str) -> JsonObject:
    return {"ref": of, "argument": {"name": argument, "value": value}, "context": {"arguments": given}}


def names(served: Served, method: str, key: str, name: str) -> list[str]:
    return [one[name] for one in served.ask(method)[key]]


def registered(served: Served, name: str, function: str) -> None:
    functions = served.gateway.composition.documents.functions
    operator = Principal("operator", "default", "signpost:operator")
    payload: JsonObject = {
        "name": name,
        "description": "Mine.",
        "function_id": function,
        "arguments": [{"name": "who"}],
    }
    answer = functions.call("prompts::register", payload, Caller("default", operator, served.gateway.clock.now() + 20))
    assert isinstance(answer, dict), answer
    served.gateway.clock.advance(REVALIDATION_INTERVAL)


# Lists


def test_n069_what_they_are_is_advertised() -> None:
    capabilities = Served(yard()).ask("server/discover")["capabilities"]
    assert {"resources", "prompts", "completions"} <= capabilities.keys()


@pytest.mark.invariant(61)
def test_n029_n030_lists_have_what_is_not_hidden(served: Served) -> None:
    assert names(served, "prompts/list", "prompts", "name") == ["review"]
    uris = ["iii://skills", "yard://readme.md", "yard://books/default/1", "yard://books/atlas/2"]
    assert names(served, "resources/list", "resources", "uri") == uris
    templates = names(served, "resources/templates/list", "resourceTemplates", "uriTemplate")
    assert templates == ["iii://{+skill_id}", "iii://fn/{+function_path}", "yard://books/{book}/{page}"]
    if served.endpoint == BRIDGE:
        assert list(served.tools()) == ["skill__fetch"]


def test_a013_a051_n076_a_prompt_is_listed_with_its_arguments(served: Served) -> None:
    (prompt,) = served.ask("prompts/list")["prompts"]
    assert prompt == {
        "name": "review",
        "title": "Review",
        "description": "Reviews code.",
        "arguments": [
            {"name": "code", "description": "Required: text.", "required": True},
            {"name": "tone", "description": "Optional: text; kind if left out.", "required": False},
            {"name": "language", "description": "Optional: text.", "required": False},
        ],
        "icons": [ICON],
        "_meta": {"cost": 1},
    }


def test_n070_n071_resources_and_templates_are_listed_with_what_is_said_of_them(served: Served) -> None:
    _, readme, instance, two = served.ask("resources/list")["resources"]
    assert readme == {
        "uri": "yard://readme.md",
        "name": "readme.md",
        "title": "Read me",
        "description": "All of it.",
        "mimeType": "text/markdown",
        "size": 3,
        "annotations": {"audience": ["user"], "priority": 0.5},
        "icons": [ICON],
        "_meta": {"a": 1},
    }
    assert instance == {"uri": "yard://books/default/1", "name": "1"}
    assert two == {"uri": "yard://books/atlas/2", "name": "Two", "size": 3}
    assert served.ask("resources/templates/list")["resourceTemplates"][2] == {
        "uriTemplate": "yard://books/{book}/{page}",
        "name": "page",
        "title": "Page",
        "mimeType": "text/plain",
        "icons": [ICON],
        "_meta": {"a": 1},
    }


def test_older_clients_are_listed_what_they_know() -> None:
    served = Served(yard(), version=OLDEST)
    (prompt,) = served.ask("prompts/list")["prompts"]
    assert prompt.keys() == {"name", "description", "arguments"}
    _, readme, *_ = served.ask("resources/list")["resources"]
    assert readme.keys() == {"uri", "name", "description", "mimeType", "annotations"}
    *_, template = served.ask("resources/templates/list")["resourceTemplates"]
    assert template.keys() == {"uriTemplate", "name", "mimeType"}
    messages = served.ask("prompts/get", {"name": "review", "arguments": {"code": "x"}})["messages"]
    assert "audio" in messages[1]["content"]["text"]


def test_instances_are_asked_for_once_in_two_seconds_and_only_for_lists_of_resources() -> None:
    served = Served(yard())
    for method in ("resources/templates/list", "prompts/list", "tools/list"):
        served.ask(method)
    assert served.called == []
    served.ask("resources/list")
    served.ask("resources/list")
    assert served.called == ["yard::page::enumerate"]
    served.gateway.clock.advance(REVALIDATION_INTERVAL)
    served.gateway.ask("resources/list", credential=served.key)
    assert served.called == ["yard::page::enumerate"] * 2


# Getting, reading


@pytest.mark.invariant(61)
def test_n031_what_is_hidden_is_answered(served: Served) -> None:
    assert served.ask("prompts/get", {"name": "whisper"})["messages"][0]["content"]["text"] == "psst"
    assert served.ask("resources/read", {"uri": "yard://picture"})["contents"][0]["blob"] == "AA=="
    (read,) = served.ask("resources/read", {"uri": "yard://hidden/a/b"})["contents"]
    assert json.loads(read["text"]) == {"path": "a/b"}


def test_n077_a_prompt_is_rendered_with_its_own_description(served: Served) -> None:
    rendered = served.ask("prompts/get", {"name": "review", "arguments": {"code": "x = 1", "tone": "dry"}})
    assert rendered["description"] == "Mine."
    first, second = rendered["messages"]
    assert first == {"role": "user", "content": {"type": "text", "text": "dry  x = 1"}}
    assert (second["role"], second["content"]["type"]) == ("assistant", "audio")
    assert served.ask("prompts/get", {"name": "whisper"})["description"] == "Says it quietly."


def test_n078_what_is_missing_is_named_and_nothing_is_called(served: Served) -> None:
    error = served.error("prompts/get", {"name": "review", "arguments": {"tone": "dry"}})
    assert (error["code"], error["message"]) == (-32602, "review needs the argument `code`.")
    assert error["data"] == {"argument": "code"}
    assert served.error("prompts/get", {"name": "rewrite"})["code"] == -32602
    assert served.called == []


def test_n072_resources_and_instances_are_read(served: Served) -> None:
    assert served.ask("resources/read", {"uri": "yard://readme.md"})["contents"] == [
        {"uri": "yard://readme.md", "mimeType": "text/markdown", "text": "# A"}
    ]
    assert served.ask("resources/read", {"uri": "yard://books/my%20atlas/7"})["contents"] == [
        {"uri": "yard://books/my%20atlas/7", "mimeType": "text/plain", "text": "my atlas, 7"}
    ]


def test_n073_what_is_not_there_is_not_found(served: Served) -> None:
    for uri in ("yard://books/atlas", "yard://books/atlas/1/2", "yard://nothing", "yard://books/atlas/0"):
        error = served.error("resources/read", {"uri": uri})
        assert error["code"] == (-32602 if served.version == MODERN else -32002)
        assert error["data"] == {"uri": uri}


def test_a_variable_that_is_no_number_is_named(served: Served) -> None:
    error = served.error("resources/read", {"uri": "yard://books/atlas/x"})
    assert (error["code"], "`page`" in error["message"]) == (-32602, True)


def test_what_fails_says_so_and_nothing_of_its_insides(served: Served) -> None:
    prompt = served.error("prompts/get", {"name": "review", "arguments": {"code": "boom"}})
    resource = served.error("resources/read", {"uri": "yard://books/boom/1"})
    completion = served.error("completion/complete", completing(of_prompt("review"), "language", "boom"))
    for error, function in ((prompt, "yard::review"), (resource, "yard::page"), (completion, "yard::review::complete")):
        assert (error["code"], error["message"]) == (-32603, f"{function} failed unexpectedly.")
        assert error["data"] == {"function": function, "cause": "exception"}
    refused = served.error("prompts/get", {"name": "review", "arguments": {"code": "no"}})
    assert (refused["code"], refused["message"]) == (-32602, "Not this one.")


def test_a_prompt_may_ask_first_where_the_client_can_answer() -> None:
    asks: JsonObject = {"name": "review", "arguments": {"code": "asks"}}
    assert Served(yard()).error("prompts/get", asks)["data"] == {"requiredCapabilities": {"roots": {}}}
    assert "needs an answer first" in Served(yard(), version=LEGACY).error("prompts/get", asks)["message"]


# Completion


def test_n079_static_values_begin_as_what_was_typed(served: Served) -> None:
    found = served.ask("completion/complete", completing(of_prompt("review"), "tone", "k"))
    assert found["completion"] == {"values": ["kind", "keen"], "total": 2, "hasMore": False}
    every = served.ask("completion/complete", completing(of_prompt("review"), "tone", ""))
    assert every["completion"]["values"] == ["kind", "keen", "dry"]
    assert served.called == []


def test_n080_functions_complete_by_what_else_is_known_and_variables_too(served: Served) -> None:
    found = served.ask("completion/complete", completing(of_prompt("review"), "language", "p", tone="dry"))
    assert found["completion"]["values"] == ["p", "default", "dry"]
    many = served.ask("completion/complete", completing(of_prompt("review"), "language", "many"))["completion"]
    assert (len(many["values"]), many["total"], many["hasMore"]) == (100, 150, True)
    pattern = of_template("yard://books/{book}/{page}")
    assert served.ask("completion/complete", completing(pattern, "book", "a"))["completion"]["values"] == ["atlas"]
    assert served.ask("completion/complete", completing(pattern, "page", "1"))["completion"]["values"] == []


def test_n081_what_is_unknown_is_refused(served: Served) -> None:
    for of, argument in (
        (of_prompt("rewrite"), "tone"),
        (of_prompt("review"), "colour"),
        (of_template("yard://{else}"), "else"),
        (of_template("yard://books/{book}/{page}"), "colour"),
        (of_template("iii://{+skill_id}"), "colour"),
    ):
        assert served.error("completion/complete", completing(of, argument, ""))["code"] == -32602


def test_of_the_registry_s_own_nothing_is_known_to_complete(served: Served) -> None:
    registered(served, "greet", "yard::whisper")
    for of, argument in ((of_prompt("greet"), "who"), (of_template("iii://{+skill_id}"), "skill_id")):
        found = served.ask("completion/complete", completing(of, argument, "a"))
        assert found["completion"]["values"] == []


# Whose they are


@pytest.mark.invariant(61)
def test_the_registry_s_own_prompt_goes_before_one_of_the_same_name(served: Served) -> None:
    registered(served, "review", "yard::whisper")
    (prompt,) = served.ask("prompts/list")["prompts"]
    assert prompt["description"] == "Mine."
    assert served.ask("prompts/get", {"name": "review"})["messages"][0]["content"]["text"] == "psst"
    refused = served.error("completion/complete", completing(of_prompt("review"), "tone", ""))
    assert refused["code"] == -32602


def test_of_two_executors_that_say_the_same_the_first_id_counts() -> None:
    prompt = HostedFunction("a::p", name="p", description="The first.", component=Component("prompt"))
    resource = HostedFunction("a::r", component=Component("resource", "yard://a"), hidden=True)
    gateway, called = hosting({"a::r": Result({"contents": [{"text": "a"}]})}, prompt, resource)
    (listed,) = gateway.ask("prompts/list").json["result"]["prompts"]
    assert listed["description"] == "The first."
    assert uris_of(gateway) == ["iii://skills"]
    assert gateway.ask("resources/read", {"uri": "yard://a"}).json["result"]["contents"][0]["text"] == "a"
    assert called == ["a::r"]


def test_of_a_shipped_one_and_one_of_the_tenant_that_say_the_same_the_tenants_own_counts() -> None:
    """As it is with functions of the same id."""
    gateway, called = hosting({"zoo::r": Result({"contents": [{"text": "mine"}]})})
    own = (
        HostedFunction("zoo::p", name="p", description="Mine.", component=Component("prompt")),
        HostedFunction("zoo::r", component=Component("resource", "yard://a")),
        HostedFunction("zoo::t", name="mine", component=Component("template", "yard://{b}/{c}")),
    )
    MemoryDirectory(gateway.functions).place("default", replace(YARD, key_secret_arn="secret:zoo"), own)
    (prompt,) = gateway.ask("prompts/list").json["result"]["prompts"]
    assert prompt["description"] == "Mine."
    assert gateway.ask("resources/read", {"uri": "yard://a"}).json["result"]["contents"][0]["text"] == "mine"
    assert called == ["zoo::r"]
    listed = gateway.ask("resources/templates/list").json["result"]["resourceTemplates"]
    assert [one["name"] for one in listed if one["uriTemplate"].startswith("yard:")] == ["mine"]
    gateway.ask("resources/read", {"uri": "yard://b/c"})
    assert called == ["zoo::r", "zoo::t"]


def test_of_templates_that_say_as_much_of_their_instances_the_tenants_own_is_asked_first() -> None:
    gateway, called = hosting({})
    own = HostedFunction("zoo::t", component=Component("template", "yard://{other}/{names}"))
    MemoryDirectory(gateway.functions).place("default", YARD, [own])
    gateway.ask("resources/read", {"uri": "yard://b/c"})
    assert called[0] == "zoo::t"


def test_tenants_that_switched_shipped_content_off_see_none_of_it() -> None:
    gateway, _ = hosting({})
    assert uris_of(gateway) == ["iii://skills", "yard://a"]
    gateway.functions.settings["default", None] = {"shipped_content": 0}
    gateway.clock.advance(REVALIDATION_INTERVAL)
    assert uris_of(gateway) == ["iii://skills"]


# Executors of any kind


def hosting(replies: dict[str, CallReply], *more: HostedFunction) -> tuple[MemoryGateway, list[str]]:
    """A gateway with an executor that answers these, whatever they are, and what that was called for."""
    gateway = MemoryGateway()
    called: list[str] = []
    hosted = (
        HostedFunction(
            "yard::p", name="p", component=Component("prompt", complete={"a": None}, arguments=(PromptArgument("a"),))
        ),
        HostedFunction("yard::r", component=Component("resource", "yard://a")),
        HostedFunction("yard::t", component=Component("template", "yard://{b}/{c}", enumerates=True), hidden=True),
        HostedFunction("skills::p", name="internal", component=Component("prompt")),
        HostedFunction("yard::later", name="later", component=Component("app", "yard://later")),
        *more,
    )
    MemoryDirectory(gateway.functions).place(None, YARD, hosted)

    def answer(message: JsonObject) -> JsonObject:
        call: Any = message["call"]
        called.append(call["function"])
        reply = replies.get(call["function"], failure("unknown_function", call["function"]))
        kept = isinstance(reply, KeptResult)
        return wire.reply_message(replace(reply, key=call["keepAt"]) if kept else reply)

    gateway.executors[YARD.arn] = answer
    return gateway, called


def uris_of(gateway: MemoryGateway) -> list[str]:
    return [one["uri"] for one in gateway.ask("resources/list").json["result"]["resources"]]


@pytest.mark.parametrize(
    "value",
    [
        5,
        None,
        {"messages": 5},
        {"messages": ["a"]},
        {"messages": [{"role": "system", "content": {"type": "text", "text": "a"}}]},
        {"messages": [{"role": "user", "content": {"type": "video"}}]},
        {"messages": [{"role": "user", "content": "a"}]},
    ],
)
def test_messages_that_are_none_do_not_reach_the_client(value: Json) -> None:
    gateway, _ = hosting({"yard::p": Result(value)})
    error = gateway.ask("prompts/get", {"name": "p"}).json["error"]
    assert (error["code"], error["message"]) == (-32603, "yard::p answered with malformed messages.")


def test_a_prompt_of_another_executor_may_answer_what_a_slash_command_may() -> None:
    gateway, _ = hosting({"yard::p": Result({"content": "a"})})
    (message,) = gateway.ask("prompts/get", {"name": "p"}).json["result"]["messages"]
    assert message == {"role": "user", "content": {"type": "text", "text": "a"}}


@pytest.mark.parametrize(
    "value",
    [
        5,
        "a",
        {"contents": 5},
        {"contents": []},
        {"contents": [{"colour": "red"}]},
        {"contents": [{"text": 5}]},
        {"contents": [{"text": "a", "blob": "AA=="}]},
        {"contents": [{"text": "a", "mimeType": 5}]},
        {"contents": [{"uri": 5, "text": "a"}]},
    ],
)
def test_contents_that_are_none_do_not_reach_the_client(value: Json) -> None:
    gateway, _ = hosting({"yard::r": Result(value)})
    error = gateway.ask("resources/read", {"uri": "yard://a"}).json["error"]
    assert (error["code"], error["message"]) == (-32603, "yard::r answered with malformed contents.")


def test_what_is_too_long_or_too_deep_is_said_to_be() -> None:
    deep = json.loads("[" * 90 + "]" * 90)
    for reply, words in ((KeptResult("k", 7_000_000, "d"), "7000000 bytes"), (Result(deep), "nested more than")):
        gateway, _ = hosting({"yard::r": reply})
        assert words in gateway.ask("resources/read", {"uri": "yard://a"}).json["error"]["message"]


@pytest.mark.parametrize("value", [5, {"values": "a"}, {"values": [5]}])
def test_completions_that_are_none_do_not_reach_the_client(value: Json) -> None:
    gateway, _ = hosting(
        {"yard::p::complete": Result(value)}, HostedFunction("yard::p::complete", component=Component("helper"))
    )
    error = gateway.ask("completion/complete", completing(of_prompt("p"), "a", "")).json["error"]
    assert (error["code"], error["message"]) == (-32603, "yard::p::complete answered with malformed completions.")


def test_nobody_is_asked_questions_while_they_type() -> None:
    helper = HostedFunction("yard::p::complete", component=Component("helper"))
    gateway, _ = hosting({"yard::p::complete": InputRequired({"a": ROOTS})}, helper)
    found = gateway.ask("completion/complete", completing(of_prompt("p"), "a", "")).json["result"]
    assert found["completion"]["values"] == []


def test_a_failing_executor_spoils_no_list_and_what_is_no_instance_is_left_out() -> None:
    listing = HostedFunction("yard::l", name="l", component=Component("template", "garden://{b}", enumerates=True))
    helper = HostedFunction("yard::l::enumerate", component=Component("helper"))
    gateway, called = hosting({}, listing, helper)
    assert uris_of(gateway) == ["iii://skills", "yard://a"]
    assert called == ["yard::l::enumerate"]
    odd: list[Json] = [
        5,
        {"uri": 5, "name": "a"},
        {"uri": "garden://a"},
        {"uri": "yard://a", "name": "a"},
        {"uri": "iii://a", "name": "a"},
        {"uri": "garden://b", "name": "b", "size": -1},
        {"uri": "garden://c", "name": "c", "annotations": {"priority": 5}},
        {"uri": "garden://d", "name": "d", "title": 5},
        {"uri": "garden://e", "name": "e"},
        {"uri": "garden://e", "name": "twice"},
    ]
    gateway, _ = hosting({"yard::l::enumerate": Result({"resources": odd})}, listing, helper)
    assert uris_of(gateway) == ["iii://skills", "yard://a", "garden://e"]


@pytest.mark.invariant(61)
def test_what_is_internal_or_of_a_later_release_is_neither_listed_nor_answered_and_none_of_it_is_a_tool() -> None:
    gateway, called = hosting({})
    assert [one["name"] for one in gateway.ask("prompts/list").json["result"]["prompts"]] == ["p"]
    assert gateway.ask("prompts/get", {"name": "internal"}).json["error"]["code"] == -32602
    assert gateway.ask("resources/read", {"uri": "yard://later"}).json["error"]["code"] == -32602
    tools = gateway.ask("tools/list", path=BRIDGE).json["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["skill__fetch"]
    for name in ("yard__p", "yard__r", "yard__later"):
        assert gateway.ask("tools/call", {"name": name, "arguments": {}}, path=BRIDGE).json["error"]["code"] == -32602
    assert called == []


@pytest.mark.parametrize(
    "component",
    [
        5,
        {},
        {"kind": 5},
        {"kind": "prompt", "arguments": 5},
        {"kind": "prompt", "arguments": [{"title": "a"}]},
        {"kind": "prompt", "complete": 5},
        {"kind": "prompt", "complete": {"a": 5}},
        {"kind": "resource", "uri": 5},
        {"kind": "resource", "size": "5"},
    ],
)
def test_a_manifest_that_says_otherwise_what_one_is_is_none(component: Any) -> None:
    functions = [{"id": "f", "component": component}]
    with pytest.raises(MalformedMessage):
        parse_manifest(json.dumps({"signpost": 1, "manifest": {"functions": functions}}).encode())


def test_helpers_are_called_as_what_they_help() -> None:
    ids = {function.id for function in yard().functions}
    assert {f"yard::review{COMPLETE_SUFFIX}", f"yard::page{ENUMERATE_SUFFIX}"} <= ids


def test_a_prompt_without_a_name_is_called_as_its_function() -> None:
    gateway, _ = hosting({"yard::q": Result("a")}, HostedFunction("yard::q", component=Component("prompt")))
    listed = gateway.ask("prompts/list").json["result"]["prompts"]
    assert [prompt["name"] for prompt in listed] == ["p", "yard::q"]
    assert gateway.ask("prompts/get", {"name": "yard::q"}).json["result"]["messages"]


def test_a_gateway_that_nobody_asks_for_them_imports_nothing_of_it() -> None:
    names = {
        "signpost.surfaces.toolkit_index",
        "signpost.surfaces.toolkit_answers",
        "signpost.calling.components",
        "signpost.calling.uri_templates",
    }
    assert imported_by("import signpost.wiring.gateway", names) == set()
