"""Prompts, resources and templates of toolkits, as a client sees them at both endpoints and in both eras."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from signpost.adapters.memory import MemoryDirectory, MemoryRuntimeSettings
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
from tests.support.toolkits import BRIDGE, ServedToolkits

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
def served(request: pytest.FixtureRequest) -> ServedToolkits:
    version, path = request.param
    return ServedToolkits(yard(), version=version, endpoint=path)


def prompt_reference(name: str) -> JsonObject:
    return {"type": "ref/prompt", "name": name}


def template_reference(uri: str) -> JsonObject:
    return {"type": "ref/resource", "uri": uri}


def completion_params(of: JsonObject, argument: str, value: str, **given: str) -> JsonObject:
    return {"ref": of, "argument": {"name": argument, "value": value}, "context": {"arguments": given}}


def names(served: ServedToolkits, method: str, key: str, name: str) -> list[str]:
    return [one[name] for one in served.request_result(method)[key]]


def register_prompt(served: ServedToolkits, name: str, function: str) -> None:
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


def test_n069_resources_prompts_and_completions_are_advertised() -> None:
    capabilities = ServedToolkits(yard()).request_result("server/discover")["capabilities"]
    assert {"resources", "prompts", "completions"} <= capabilities.keys()


@pytest.mark.invariant(37)
def test_components_under_a_hidden_prefix_do_not_exist_for_clients(served: ServedToolkits) -> None:
    uris = ["yard://readme.md", "yard://picture", "yard://books/atlas/2", "yard://hidden/a"]
    assert all("contents" in served.request_result("resources/read", {"uri": uri}) for uri in uris)
    hidden = ServedToolkits(yard(), version=served.version, endpoint=served.endpoint, HIDDEN_PREFIXES="yard::")
    empty = ServedToolkits(version=served.version, endpoint=served.endpoint)
    reference: JsonObject = {"type": "ref/prompt", "name": "review"}
    requests: list[tuple[str, JsonObject]] = [
        ("prompts/list", {}),
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("prompts/get", {"name": "review", "arguments": {"code": "a"}}),
        ("completion/complete", {"ref": reference, "argument": {"name": "language", "value": "e"}}),
        *(("resources/read", {"uri": uri}) for uri in uris),
    ]
    for method, params in requests:
        assert hidden.request(method, params) == empty.request(method, params), method
    assert hidden.called_functions == []


def test_components_need_no_exposure_because_their_authors_have_declared_them(served: ServedToolkits) -> None:
    MemoryRuntimeSettings(served.gateway.functions).set("default", None, "require_expose", 1)
    assert names(served, "prompts/list", "prompts", "name") == ["review"]
    assert "contents" in served.request_result("resources/read", {"uri": "yard://readme.md"})


@pytest.mark.invariant(61)
def test_n029_n030_lists_leave_out_hidden_components(served: ServedToolkits) -> None:
    assert names(served, "prompts/list", "prompts", "name") == ["review"]
    uris = ["iii://skills", "yard://readme.md", "yard://books/default/1", "yard://books/atlas/2"]
    assert names(served, "resources/list", "resources", "uri") == uris
    templates = names(served, "resources/templates/list", "resourceTemplates", "uriTemplate")
    own = [template for template in templates if not template.startswith(("iii://", "signpost://"))]
    assert own == templates[-1:] == ["yard://books/{book}/{page}"]
    if served.endpoint == BRIDGE:
        assert list(served.list_tools()) == ["skill__fetch"]


def test_a013_a051_n076_a_prompt_is_listed_with_its_arguments(served: ServedToolkits) -> None:
    (prompt,) = served.request_result("prompts/list")["prompts"]
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


def test_n070_n071_resources_and_templates_are_listed_with_their_metadata(served: ServedToolkits) -> None:
    _, readme, instance, two = served.request_result("resources/list")["resources"]
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
    assert served.request_result("resources/templates/list")["resourceTemplates"][-1] == {
        "uriTemplate": "yard://books/{book}/{page}",
        "name": "page",
        "title": "Page",
        "mimeType": "text/plain",
        "icons": [ICON],
        "_meta": {"a": 1},
    }


def test_components_are_listed_with_the_members_of_the_legacy_revision() -> None:
    served = ServedToolkits(yard(), version=OLDEST)
    (prompt,) = served.request_result("prompts/list")["prompts"]
    assert prompt.keys() == {"name", "description", "arguments"}
    _, readme, *_ = served.request_result("resources/list")["resources"]
    assert readme.keys() == {"uri", "name", "description", "mimeType", "annotations"}
    *_, template = served.request_result("resources/templates/list")["resourceTemplates"]
    assert template.keys() == {"uriTemplate", "name", "mimeType"}
    messages = served.request_result("prompts/get", {"name": "review", "arguments": {"code": "x"}})["messages"]
    assert "audio" in messages[1]["content"]["text"]


def test_instances_are_enumerated_once_in_two_seconds_and_only_for_resources() -> None:
    served = ServedToolkits(yard())
    for method in ("resources/templates/list", "prompts/list", "tools/list"):
        served.request_result(method)
    assert served.called_functions == []
    served.request_result("resources/list")
    served.request_result("resources/list")
    assert served.called_functions == ["yard::page::enumerate"]
    served.gateway.clock.advance(REVALIDATION_INTERVAL)
    served.gateway.request("resources/list", credential=served.key)
    assert served.called_functions == ["yard::page::enumerate"] * 2


# Getting, reading


@pytest.mark.invariant(61)
def test_n031_hidden_components_can_be_read(served: ServedToolkits) -> None:
    assert served.request_result("prompts/get", {"name": "whisper"})["messages"][0]["content"]["text"] == "psst"
    assert served.request_result("resources/read", {"uri": "yard://picture"})["contents"][0]["blob"] == "AA=="
    (read,) = served.request_result("resources/read", {"uri": "yard://hidden/a/b"})["contents"]
    assert json.loads(read["text"]) == {"path": "a/b"}


def test_n077_a_prompt_is_rendered_with_its_own_description(served: ServedToolkits) -> None:
    rendered = served.request_result("prompts/get", {"name": "review", "arguments": {"code": "x = 1", "tone": "dry"}})
    assert rendered["description"] == "Mine."
    first, second = rendered["messages"]
    assert first == {"role": "user", "content": {"type": "text", "text": "dry  x = 1"}}
    assert (second["role"], second["content"]["type"]) == ("assistant", "audio")
    assert served.request_result("prompts/get", {"name": "whisper"})["description"] == "Says it quietly."


def test_n078_a_missing_prompt_argument_is_refused_by_name_before_the_call(served: ServedToolkits) -> None:
    error = served.request_error("prompts/get", {"name": "review", "arguments": {"tone": "dry"}})
    assert (error["code"], error["message"]) == (-32602, "review needs the argument `code`.")
    assert error["data"] == {"argument": "code"}
    assert served.request_error("prompts/get", {"name": "rewrite"})["code"] == -32602
    assert served.called_functions == []


def test_n072_resources_and_instances_are_read(served: ServedToolkits) -> None:
    assert served.request_result("resources/read", {"uri": "yard://readme.md"})["contents"] == [
        {"uri": "yard://readme.md", "mimeType": "text/markdown", "text": "# A"}
    ]
    assert served.request_result("resources/read", {"uri": "yard://books/my%20atlas/7"})["contents"] == [
        {"uri": "yard://books/my%20atlas/7", "mimeType": "text/plain", "text": "my atlas, 7"}
    ]


def test_n073_an_unknown_resource_is_not_found(served: ServedToolkits) -> None:
    for uri in ("yard://books/atlas", "yard://books/atlas/1/2", "yard://nothing", "yard://books/atlas/0"):
        error = served.request_error("resources/read", {"uri": uri})
        assert error["code"] == (-32602 if served.version == MODERN else -32002)
        assert error["data"] == {"uri": uri}


def test_an_invalid_template_variable_is_named(served: ServedToolkits) -> None:
    error = served.request_error("resources/read", {"uri": "yard://books/atlas/x"})
    assert (error["code"], "`page`" in error["message"]) == (-32602, True)


def test_a_failed_component_is_an_error_without_details(served: ServedToolkits) -> None:
    prompt = served.request_error("prompts/get", {"name": "review", "arguments": {"code": "boom"}})
    resource = served.request_error("resources/read", {"uri": "yard://books/boom/1"})
    completion = served.request_error(
        "completion/complete", completion_params(prompt_reference("review"), "language", "boom")
    )
    for error, function in ((prompt, "yard::review"), (resource, "yard::page"), (completion, "yard::review::complete")):
        assert (error["code"], error["message"]) == (-32603, f"{function} failed unexpectedly.")
        assert error["data"] == {"function": function, "cause": "exception"}
    refused = served.request_error("prompts/get", {"name": "review", "arguments": {"code": "no"}})
    assert (refused["code"], refused["message"]) == (-32602, "Not this one.")


def test_a_prompt_requires_input_only_from_clients_with_the_capability() -> None:
    asks: JsonObject = {"name": "review", "arguments": {"code": "asks"}}
    assert ServedToolkits(yard()).request_error("prompts/get", asks)["data"] == {"requiredCapabilities": {"roots": {}}}
    assert (
        "first needs an answer" in ServedToolkits(yard(), version=LEGACY).request_error("prompts/get", asks)["message"]
    )


# Completion


def test_n079_static_values_are_completed_by_prefix(served: ServedToolkits) -> None:
    found = served.request_result("completion/complete", completion_params(prompt_reference("review"), "tone", "k"))
    assert found["completion"] == {"values": ["kind", "keen"], "total": 2, "hasMore": False}
    every = served.request_result("completion/complete", completion_params(prompt_reference("review"), "tone", ""))
    assert every["completion"]["values"] == ["kind", "keen", "dry"]
    assert served.called_functions == []


def test_n080_functions_complete_with_the_other_arguments(served: ServedToolkits) -> None:
    found = served.request_result(
        "completion/complete", completion_params(prompt_reference("review"), "language", "p", tone="dry")
    )
    assert found["completion"]["values"] == ["p", "default", "dry"]
    many = served.request_result(
        "completion/complete", completion_params(prompt_reference("review"), "language", "many")
    )["completion"]
    assert (len(many["values"]), many["total"], many["hasMore"]) == (100, 150, True)
    pattern = template_reference("yard://books/{book}/{page}")
    assert served.request_result("completion/complete", completion_params(pattern, "book", "a"))["completion"][
        "values"
    ] == ["atlas"]
    assert (
        served.request_result("completion/complete", completion_params(pattern, "page", "1"))["completion"]["values"]
        == []
    )


def test_n081_completion_of_an_unknown_reference_or_argument_is_refused(served: ServedToolkits) -> None:
    for of, argument in (
        (prompt_reference("rewrite"), "tone"),
        (prompt_reference("review"), "colour"),
        (template_reference("yard://{else}"), "else"),
        (template_reference("yard://books/{book}/{page}"), "colour"),
        (template_reference("iii://{+skill_id}"), "colour"),
    ):
        assert served.request_error("completion/complete", completion_params(of, argument, ""))["code"] == -32602


def test_registered_prompts_and_documents_have_no_completions(served: ServedToolkits) -> None:
    register_prompt(served, "greet", "yard::whisper")
    for of, argument in ((prompt_reference("greet"), "who"), (template_reference("iii://{+skill_id}"), "skill_id")):
        found = served.request_result("completion/complete", completion_params(of, argument, "a"))
        assert found["completion"]["values"] == []


# Whose they are


@pytest.mark.invariant(61)
def test_a_registered_prompt_hides_a_component_of_the_same_name(served: ServedToolkits) -> None:
    register_prompt(served, "review", "yard::whisper")
    (prompt,) = served.request_result("prompts/list")["prompts"]
    assert prompt["description"] == "Mine."
    assert served.request_result("prompts/get", {"name": "review"})["messages"][0]["content"]["text"] == "psst"
    refused = served.request_error("completion/complete", completion_params(prompt_reference("review"), "tone", ""))
    assert refused["code"] == -32602


def test_the_first_function_id_wins_among_equal_components() -> None:
    prompt = HostedFunction("a::p", name="p", description="The first.", component=Component("prompt"))
    resource = HostedFunction("a::r", component=Component("resource", "yard://a"), hidden=True)
    gateway, called = gateway_with_components({"a::r": Result({"contents": [{"text": "a"}]})}, prompt, resource)
    (listed,) = gateway.request("prompts/list").json["result"]["prompts"]
    assert listed["description"] == "The first."
    assert uris_of(gateway) == ["iii://skills"]
    assert gateway.request("resources/read", {"uri": "yard://a"}).json["result"]["contents"][0]["text"] == "a"
    assert called == ["a::r"]


def test_a_component_of_the_tenant_hides_an_equal_shipped_one() -> None:
    """As it is with functions of the same id."""
    gateway, called = gateway_with_components({"zoo::r": Result({"contents": [{"text": "mine"}]})})
    own = (
        HostedFunction("zoo::p", name="p", description="Mine.", component=Component("prompt")),
        HostedFunction("zoo::r", component=Component("resource", "yard://a")),
        HostedFunction("zoo::t", name="mine", component=Component("template", "yard://{b}/{c}")),
    )
    MemoryDirectory(gateway.functions).place("default", replace(YARD, key_secret_arn="secret:zoo"), own)
    (prompt,) = gateway.request("prompts/list").json["result"]["prompts"]
    assert prompt["description"] == "Mine."
    assert gateway.request("resources/read", {"uri": "yard://a"}).json["result"]["contents"][0]["text"] == "mine"
    assert called == ["zoo::r"]
    listed = gateway.request("resources/templates/list").json["result"]["resourceTemplates"]
    assert [one["name"] for one in listed if one["uriTemplate"].startswith("yard:")] == ["mine"]
    gateway.request("resources/read", {"uri": "yard://b/c"})
    assert called == ["zoo::r", "zoo::t"]


def test_an_equally_specific_template_of_the_tenant_is_called_first() -> None:
    gateway, called = gateway_with_components({})
    own = HostedFunction("zoo::t", component=Component("template", "yard://{other}/{names}"))
    MemoryDirectory(gateway.functions).place("default", YARD, [own])
    gateway.request("resources/read", {"uri": "yard://b/c"})
    assert called[0] == "zoo::t"


def test_a_tenant_that_switched_shipped_content_off_sees_no_shipped_component() -> None:
    gateway, _ = gateway_with_components({})
    assert uris_of(gateway) == ["iii://skills", "yard://a"]
    gateway.functions.settings["default", None] = {"shipped_content": 0}
    gateway.clock.advance(REVALIDATION_INTERVAL)
    assert uris_of(gateway) == ["iii://skills"]


# Executors of any kind


def gateway_with_components(replies: dict[str, CallReply], *more: HostedFunction) -> tuple[MemoryGateway, list[str]]:
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
    return [one["uri"] for one in gateway.request("resources/list").json["result"]["resources"]]


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
def test_malformed_prompt_messages_are_an_error(value: Json) -> None:
    gateway, _ = gateway_with_components({"yard::p": Result(value)})
    error = gateway.request("prompts/get", {"name": "p"}).json["error"]
    assert (error["code"], error["message"]) == (-32603, "yard::p answered with malformed messages.")


def test_a_prompt_component_can_answer_like_a_registered_prompt() -> None:
    gateway, _ = gateway_with_components({"yard::p": Result({"content": "a"})})
    (message,) = gateway.request("prompts/get", {"name": "p"}).json["result"]["messages"]
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
def test_malformed_resource_contents_are_an_error(value: Json) -> None:
    gateway, _ = gateway_with_components({"yard::r": Result(value)})
    error = gateway.request("resources/read", {"uri": "yard://a"}).json["error"]
    assert (error["code"], error["message"]) == (-32603, "yard::r answered with malformed contents.")


def test_contents_too_long_or_nested_too_deep_are_an_error_with_the_reason() -> None:
    deep = json.loads("[" * 90 + "]" * 90)
    for reply, words in ((KeptResult("k", 7_000_000, "d"), "7000000 bytes"), (Result(deep), "nested more than")):
        gateway, _ = gateway_with_components({"yard::r": reply})
        assert words in gateway.request("resources/read", {"uri": "yard://a"}).json["error"]["message"]


@pytest.mark.parametrize("value", [5, {"values": "a"}, {"values": [5]}])
def test_malformed_completions_are_an_error(value: Json) -> None:
    gateway, _ = gateway_with_components(
        {"yard::p::complete": Result(value)}, HostedFunction("yard::p::complete", component=Component("helper"))
    )
    error = gateway.request("completion/complete", completion_params(prompt_reference("p"), "a", "")).json["error"]
    assert (error["code"], error["message"]) == (-32603, "yard::p::complete answered with malformed completions.")


def test_an_input_request_from_a_completion_is_ignored() -> None:
    helper = HostedFunction("yard::p::complete", component=Component("helper"))
    gateway, _ = gateway_with_components({"yard::p::complete": InputRequired({"a": ROOTS})}, helper)
    found = gateway.request("completion/complete", completion_params(prompt_reference("p"), "a", "")).json["result"]
    assert found["completion"]["values"] == []


def test_failed_enumerations_and_malformed_instances_are_left_out_of_lists() -> None:
    listing = HostedFunction("yard::l", name="l", component=Component("template", "garden://{b}", enumerates=True))
    helper = HostedFunction("yard::l::enumerate", component=Component("helper"))
    gateway, called = gateway_with_components({}, listing, helper)
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
    gateway, _ = gateway_with_components({"yard::l::enumerate": Result({"resources": odd})}, listing, helper)
    assert uris_of(gateway) == ["iii://skills", "yard://a", "garden://e"]


@pytest.mark.invariant(61)
def test_internal_and_unknown_components_are_not_served_and_none_is_a_tool() -> None:
    gateway, called = gateway_with_components({})
    assert [one["name"] for one in gateway.request("prompts/list").json["result"]["prompts"]] == ["p"]
    assert gateway.request("prompts/get", {"name": "internal"}).json["error"]["code"] == -32602
    assert gateway.request("resources/read", {"uri": "yard://later"}).json["error"]["code"] == -32602
    tools = gateway.request("tools/list", path=BRIDGE).json["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["skill__fetch"]
    for name in ("yard__p", "yard__r", "yard__later"):
        assert (
            gateway.request("tools/call", {"name": name, "arguments": {}}, path=BRIDGE).json["error"]["code"] == -32602
        )
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
def test_an_invalid_component_in_a_manifest_is_malformed(component: Any) -> None:
    functions = [{"id": "f", "component": component}]
    with pytest.raises(MalformedMessage):
        parse_manifest(json.dumps({"signpost": 1, "manifest": {"functions": functions}}).encode())


def test_helper_functions_have_the_id_of_their_component_and_a_suffix() -> None:
    ids = {function.id for function in yard().functions}
    assert {f"yard::review{COMPLETE_SUFFIX}", f"yard::page{ENUMERATE_SUFFIX}"} <= ids


def test_a_prompt_without_a_name_is_named_by_its_function_id() -> None:
    gateway, _ = gateway_with_components(
        {"yard::q": Result("a")}, HostedFunction("yard::q", component=Component("prompt"))
    )
    listed = gateway.request("prompts/list").json["result"]["prompts"]
    assert [prompt["name"] for prompt in listed] == ["p", "yard::q"]
    assert gateway.request("prompts/get", {"name": "yard::q"}).json["result"]["messages"]


def test_the_gateway_does_not_import_components_at_start() -> None:
    names = {
        "signpost.surfaces.toolkit_index",
        "signpost.surfaces.toolkit_answers",
        "signpost.calling.components",
        "signpost.calling.uri_templates",
    }
    assert imported_by("import signpost.wiring.gateway", names) == set()
