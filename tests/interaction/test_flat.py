"""The callable skills of a tenant and its workflows as tools at /mcp/flat, as a client sees them in both eras."""

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from core_skills.hosted import core_toolkits
from signpost.adapters.memory import MemoryBreakers
from signpost.calling import wire
from signpost.calling.failures import failure, reported_failure
from signpost.calling.function_schemas import merge_config, skill_schema
from signpost.calling.lookup import REVALIDATION_INTERVAL
from signpost.catalogue.snapshot import CatalogueSnapshot
from signpost.content.callers import Caller
from signpost.content.names import INTERNAL_NAMESPACES
from signpost.contract import BreakerState, CallReply, Executor, Failure, HostedFunction, Result
from signpost.model import CatalogueItem, JsonObject, Principal
from signpost.schema.validation import VALIDATION_TIME_LIMIT, check_schema
from signpost.surfaces.gateway.tool_specs import GATEWAY_TOOLS, RUN_TOOLS
from signpost.toolkit import Toolkit
from tests.interaction.test_unavailable_instances import OverloadedInstanceStore
from tests.support.catalogues import store_catalogue
from tests.support.function_tools import LEGACY, SHELF, TENANT, YARD, FunctionToolClient, read_text
from tests.support.imports import imported_by
from tests.support.manifests import publish
from tests.support.memory_gateway import MODERN, MemoryGateway, build_modern_request
from tests.support.toolkits import ServedToolkits

FLAT = "/mcp/flat"
QUERY: JsonObject = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "max_results": {"type": "integer"}},
    "required": ["query"],
}


@pytest.fixture(params=[MODERN, LEGACY])
def client(request: pytest.FixtureRequest) -> FunctionToolClient:
    return FunctionToolClient(request.param, FLAT)


def ship(client: FunctionToolClient, *hosted: HostedFunction) -> None:
    assert client.directory.place(None, SHELF, hosted) == []


def tools_by_name(client: FunctionToolClient) -> Mapping[str, Any]:
    return {tool["name"]: tool for tool in client.list_tools()}


class TestNames:
    def test_s1_s3_s55_every_gateway_lists_skills_and_fetch_by_name(self, client: FunctionToolClient) -> None:
        ship(client, HostedFunction("core::web_search"), HostedFunction("core::wait"))
        client.host(HostedFunction("files::read_file", name="files.read"), "yard::echo", "plain")
        names = ["skill:echo", "skill:files.read", "skill:plain", "skill:wait", "skill:web_search", "skill__fetch"]
        assert client.list_tool_names() == names == sorted(names)
        client.gateway.replace_adapters()
        assert client.list_tool_names() == names

    def test_s5_the_core_functions_are_skills(self, client: FunctionToolClient) -> None:
        ship(client, *(function.hosted for kit in core_toolkits({}) for function in kit.functions))
        names = ["http_fetch", "json_transform", "template_render", "wait", "web_search"]
        assert client.list_tool_names() == [*(f"skill:{name}" for name in names), "skill__fetch"]
        search = tools_by_name(client)["skill:web_search"]["inputSchema"]["properties"]
        assert {name: search[name]["type"] for name in ("input", "config", "query", "max_results")} == {
            "input": "string",
            "config": "object",
            "query": "string",
            "max_results": "integer",
        }

    def test_a_declared_name_takes_precedence_over_a_name_from_an_id(self, client: FunctionToolClient) -> None:
        client.host("a::send", HostedFunction("b::post", name="send"))
        client.replies |= {"a::send": Result("a"), "b::post": Result("b")}
        assert client.list_tool_names() == ["skill:a::send", "skill:send", "skill__fetch"]
        assert [read_text(client.call(name)) for name in ("skill:send", "skill:a::send")] == ["b", "a"]

    def test_a_name_of_an_own_function_takes_precedence_over_a_shipped_one(self, client: FunctionToolClient) -> None:
        ship(client, HostedFunction("core::wait", name="wait"))
        client.host("yard::wait")
        assert client.list_tool_names() == ["skill:core::wait", "skill:wait", "skill__fetch"]
        client.call("skill:wait")
        assert [call["function"] for call in client.calls] == ["yard::wait"]

    def test_the_first_function_by_id_gets_a_shared_name(self, client: FunctionToolClient) -> None:
        client.host("c::send", "b::send", "a::send")
        assert client.list_tool_names() == ["skill:b::send", "skill:c::send", "skill:send", "skill__fetch"]
        client.call("skill:send")
        assert [call["function"] for call in client.calls] == ["a::send"]

    def test_s18_s19_portable_names_are_listed_on_demand_and_always_callable(self) -> None:
        client = FunctionToolClient(MODERN, FLAT)
        hosted = [
            HostedFunction("a::x", name="files.read"),
            HostedFunction("b::x", name="files_read"),
            HostedFunction("c::x", name="Ärger"),
        ]
        client.host(*hosted, HostedFunction("d::x", name="un.listed", hidden=True))
        message, headers = build_modern_request("tools/list", {})
        credential = {"authorization": f"Bearer {client.key}"}
        answer = client.gateway.send(
            path=FLAT, body=json.dumps(message), headers={**headers, **credential}, query={"names": "portable"}
        )
        portable = [tool["name"] for tool in answer.json["result"]["tools"]]
        assert portable[2:] == ["skill_rger", "skill__fetch"]
        assert len({*portable}) == 4
        for name in (*portable[:3], "skill:files.read", "skill:files_read", "skill:Ärger", "skill_un_listed"):
            assert client.call(name)["isError"] is False
        assert [call["function"] for call in client.calls] == [*["a::x", "b::x", "c::x"] * 2, "d::x"]


class TestToolEntries:
    def test_s2_s9_s10_a_description_marks_skills_of_the_tenant_as_dynamic(self, client: FunctionToolClient) -> None:
        ship(client, HostedFunction("core::wait", description="Waits."), HostedFunction("core::bare"))
        client.host(HostedFunction("yard::info", description="Says how it is."), "yard::plain")
        said = {name: tool["description"] for name, tool in tools_by_name(client).items() if name != "skill__fetch"}
        assert said == {
            "skill:bare": "bare skill",
            "skill:info": "Says how it is. [dynamic]",
            "skill:plain": "plain skill [dynamic]",
            "skill:wait": "Waits.",
        }

    def test_n017_n048_a_skill_has_the_title_annotations_and_meta_of_the_bridge(
        self, client: FunctionToolClient
    ) -> None:
        client.host(
            HostedFunction(
                "yard::echo",
                title="Echo",
                category="Yard",
                doc="yard/echo",
                meta={"team": "a"},
                annotations={"readOnlyHint": True},
                output_schema={"type": "object"},
            )
        )
        echo = tools_by_name(client)["skill:echo"]
        bridge = client.request("tools/list", path="/mcp/functions")["result"]["tools"][0]
        assert echo["_meta"] == {"team": "a", "category": "Yard", "doc": "iii://yard/echo"}
        differing = ("name", "description", "inputSchema")
        assert {**echo, **dict.fromkeys(differing)} == {**bridge, **dict.fromkeys(differing)}
        assert (echo["title"], echo["annotations"]) == ("Echo", {"readOnlyHint": True})

    def test_n006_n011_n031_hidden_skills_are_callable_and_not_listed(self, client: FunctionToolClient) -> None:
        client.host(HostedFunction("yard::lookup", hidden=True), "yard::echo")
        assert client.list_tool_names() == ["skill:echo", "skill__fetch"]
        assert client.call("skill:lookup")["isError"] is False
        assert [call["function"] for call in client.calls] == ["yard::lookup"]

    def test_s6_every_input_schema_is_valid_with_text_input_and_object_config(self, client: FunctionToolClient) -> None:
        client.host(HostedFunction("yard::search", input_schema=QUERY), "yard::echo")
        for name, tool in tools_by_name(client).items():
            check_schema(tool["inputSchema"])
            if name != "skill__fetch":
                properties = tool["inputSchema"]["properties"]
                assert (properties["input"]["type"], properties["config"]["type"]) == ("string", "object")

    def test_s13_declared_fields_are_listed_beside_input_and_config(self, client: FunctionToolClient) -> None:
        client.host(HostedFunction("yard::search", input_schema=QUERY))
        schema = tools_by_name(client)["skill:search"]["inputSchema"]
        assert list(schema["properties"]) == ["input", "config", "query", "max_results"]
        assert schema["required"] == ["query"]

    @pytest.mark.parametrize("closing", ["additionalProperties", "unevaluatedProperties"])
    def test_a_closed_schema_is_listed_as_declared_and_takes_nothing_else(
        self, client: FunctionToolClient, closing: str
    ) -> None:
        closed: JsonObject = {**QUERY, closing: False}
        client.host(HostedFunction("yard::search", input_schema=closed))
        assert tools_by_name(client)["skill:search"]["inputSchema"] == closed
        for name, value in (("input", "rain"), ("config", {"query": "rain"})):
            refused = client.call("skill:search", {"query": "rain", name: value})
            assert (refused["isError"], name in read_text(refused)) == (True, True)
        assert client.calls == []
        assert client.call("skill:search", {"query": "rain"})["isError"] is False

    def test_a_closed_schema_keeps_an_input_and_a_config_of_its_own(self) -> None:
        declared: JsonObject = {
            "type": "object",
            "properties": {"input": {"type": "integer"}, "config": {"type": "string"}},
            "additionalProperties": False,
        }
        assert skill_schema(declared) == declared
        assert merge_config(declared, {"config": "a"}) == {"config": "a"}

    @pytest.mark.parametrize("extra", [True, {"type": "integer"}, {}])
    def test_a_schema_that_allows_further_properties_has_the_generic_ones(self, extra: Any) -> None:
        properties = skill_schema({**QUERY, "additionalProperties": extra})["properties"]
        assert isinstance(properties, dict)
        assert list(properties) == ["input", "config", "query", "max_results"]

    @pytest.mark.parametrize("name", ["input", "config"])
    def test_a_declared_field_takes_precedence_over_a_generic_one(self, name: str) -> None:
        properties = skill_schema({"type": "object", "properties": {name: {"type": "integer"}}})["properties"]
        assert isinstance(properties, dict)
        assert properties[name] == {"type": "integer"}
        assert set(properties) == {"input", "config"}


class TestArguments:
    def test_s14_typed_arguments_reach_the_function(self, client: FunctionToolClient) -> None:
        client.host(HostedFunction("yard::search", input_schema=QUERY))
        assert client.call("skill:search", {"query": "rain", "max_results": 2})["isError"] is False
        assert client.calls[0]["arguments"] == {"query": "rain", "max_results": 2}

    def test_s15_generic_arguments_reach_the_function(self, client: FunctionToolClient) -> None:
        client.host("yard::fetch")
        client.call("skill:fetch", {"input": "a text", "config": {"url": "https://a.test"}})
        assert client.calls[0]["arguments"] == {"input": "a text", "config": {"url": "https://a.test"}}

    @pytest.mark.parametrize(
        ("declared", "given", "taken"),
        [
            (None, {"config": {"a": 1}}, {"config": {"a": 1}}),
            ({}, {"config": {"a": 1, "b": 2}, "a": 3, "input": "x"}, {"a": 3, "b": 2, "input": "x"}),
            ({"properties": {"config": {}}}, {"config": {"a": 1}}, {"config": {"a": 1}}),
            ({"properties": {"a": {}}}, {"a": 1}, {"a": 1}),
        ],
    )
    def test_s15_members_of_config_are_merged_unless_config_is_declared(
        self, declared: JsonObject | None, given: JsonObject, taken: JsonObject
    ) -> None:
        assert merge_config(declared, given) == taken

    @pytest.mark.parametrize(("name", "wrong"), [("input", {"a": 1}), ("config", "x"), ("max_results", "2")])
    def test_s16_an_argument_of_a_wrong_type_is_refused_by_name_before_the_call(
        self, client: FunctionToolClient, name: str, wrong: Any
    ) -> None:
        client.host(HostedFunction("yard::search", input_schema=QUERY))
        refused = client.call("skill:search", {"query": "rain", name: wrong})
        assert (refused["isError"], f"`{name}`" in read_text(refused)) == (True, True)
        assert client.calls == []

    def test_s17_an_undeclared_argument_is_refused_by_name(self, client: FunctionToolClient) -> None:
        client.host("yard::echo")
        refused = client.call("skill:echo", {"inptu": "x"})
        assert (refused["isError"], "inptu" in read_text(refused)) == (True, True)
        assert client.calls == []


def yard_toolkit() -> Toolkit:
    kit = Toolkit("yard", category="Yard")

    @kit.tool(name="yard.say", input={"word": {"type": "string", "required": True}, "times": "integer"})
    def say(args: Any) -> Any:
        return {name: args[name] for name in args}

    @kit.tool(input={"word": "string"}, strict=True)
    def spell(args: Any) -> Any:
        return " ".join(args.get("word", ""))

    del say, spell
    return kit


class TestToolkits:
    def test_s14_s15_a_toolkit_function_gets_its_fields_from_arguments_or_config(self) -> None:
        served = ServedToolkits(yard_toolkit(), endpoint=FLAT)
        say = served.list_tools()["skill:yard.say"]
        assert (list(say["inputSchema"]["properties"]), say["_meta"]) == (
            ["input", "config", "word", "times"],
            {"category": "Yard"},
        )
        told = served.call("skill:yard.say", word="ahoy", config={"word": "no", "times": 2}, input="left out")
        assert told["structuredContent"] == {"word": "ahoy", "times": 2}

    def test_s16_members_of_config_are_validated_against_the_schema(self) -> None:
        refused = ServedToolkits(yard_toolkit(), endpoint=FLAT).call(
            "skill:yard.say", word="ahoy", config={"times": "two"}
        )
        assert (refused["isError"], "`times`" in read_text(refused)) == (True, True)

    def test_s17_a_strict_function_refuses_undeclared_fields_by_name(self) -> None:
        served = ServedToolkits(yard_toolkit(), endpoint=FLAT)
        assert read_text(served.call("skill:spell", word="ab")) == "a b"
        strays: Any = {"input": "ab", "wrod": "ab", "config": {}}
        for name, value in strays.items():
            refused = served.call("skill:spell", **{name: value})
            assert (refused["isError"], f"'{name}' was unexpected" in read_text(refused)) == (True, True)


class TestCalls:
    @pytest.mark.parametrize(
        "name", ["skill:nothing", "skill:", "skill:Echo", "workflow:nothing", "workflow:", "tool:echo", "echo", ""]
    )
    def test_s20_s21_s22_s48_an_unknown_name_is_refused_and_named(self, client: FunctionToolClient, name: str) -> None:
        client.host("yard::echo")
        assert client.is_unknown(name)
        assert client.calls == []

    def test_s25_s26_a_text_is_one_block_and_an_object_is_also_structured(self, client: FunctionToolClient) -> None:
        client.host("f")
        client.replies["f"] = Result("as it is\n")
        assert read_text(client.call("skill:f")) == "as it is\n"
        client.replies["f"] = Result({"a": [1]})
        result = client.call("skill:f")
        assert json.loads(read_text(result)) == result["structuredContent"] == {"a": [1]}

    def test_s27_an_empty_result_is_the_text_null(self, client: FunctionToolClient) -> None:
        client.host("f")
        client.replies["f"] = Result(None)
        assert read_text(client.call("skill:f")) == "null"

    @pytest.mark.parametrize(
        ("reply", "says"),
        [
            (reported_failure("permanent_error", "There is no such page."), "There is no such page."),
            (failure("timed_out", "f"), "f took too long and was stopped."),
            (failure("exception", "f"), "f failed unexpectedly."),
            (failure("malformed_reply", "f"), "The executor of f sent a reply that does not follow the contract."),
            (Failure("reported", "rate_limited", "none", "It is full.", 1_200), "It is full. Try again in 2 s."),
        ],
    )
    def test_s29_s30_s32_s33_a_failure_is_an_error_with_its_message(
        self, client: FunctionToolClient, reply: CallReply, says: str
    ) -> None:
        client.host("f")
        client.replies["f"] = reply
        result = client.call("skill:f")
        assert (result["isError"], read_text(result)) == (True, says)
        del client.replies["f"]
        assert client.call("skill:f")["isError"] is False

    def test_s31_a_lowered_timeout_applies_to_the_next_call(self, client: FunctionToolClient) -> None:
        client.host("f")
        client.settings.set(TENANT, None, "tool_timeout_ms", 2_000)
        client.call("skill:f")
        assert client.calls[0]["deadline"] - client.gateway.clock.now() == pytest.approx(2)

    def test_s34_s35_a_call_has_depth_0_and_the_declared_permissions(self, client: FunctionToolClient) -> None:
        client.host(HostedFunction("f", permissions=frozenset({"mail"})))
        client.call("skill:f")
        assert (client.calls[0]["depth"], client.calls[0]["permissions"]) == (0, ["mail"])
        assert client.calls[0]["principal"]["tenant"] == TENANT

    def test_s36_a_function_with_an_open_breaker_is_not_called(self, client: FunctionToolClient) -> None:
        client.host("f")
        until = client.gateway.clock.now() + 60
        MemoryBreakers(client.gateway.functions).open(TENANT, "f", BreakerState(until, 3, "crashed"))
        result = client.call("skill:f")
        assert (result["isError"], read_text(result).endswith("Try again in 60 s.")) == (True, True)
        assert client.calls == []

    def test_a_function_removed_between_lookup_and_call_is_refused_by_name(self, client: FunctionToolClient) -> None:
        @contextmanager
        def going(seconds: float) -> Generator[None]:
            if seconds == VALIDATION_TIME_LIMIT:  # while arguments are held against a schema, after the tool was found
                client.host()
                client.advance_clock(REVALIDATION_INTERVAL)
            yield

        schema: JsonObject = {"type": "object", "maxProperties": 5}  # not so plain that no time limit is needed
        client.host(HostedFunction("f", name="gone", input_schema=schema))
        client.gateway.replace_adapters(alarm=going)
        refused = client.call("skill:gone")
        assert (refused["isError"], read_text(refused)) == (True, "There is no function skill:gone.")


class TestRefresh:
    def test_s54_a_refused_placement_changes_no_tool(self, client: FunctionToolClient) -> None:
        client.host("a")
        other = Executor("arn:other", "secret:other", 1_000)
        assert client.directory.place(TENANT, other, [HostedFunction("a"), HostedFunction("b")]) == ["a"]
        client.advance_clock(REVALIDATION_INTERVAL)
        assert client.list_tool_names() == ["skill:a", "skill__fetch"]
        client.call("skill:a")
        assert [call["function"] for call in client.calls] == ["a"]

    def test_s53_no_list_announces_its_changes(self, client: FunctionToolClient) -> None:
        method, params = ("server/discover", {}) if client.version == MODERN else (
            "initialize",
            {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
        )  # fmt: skip
        said = client.request(method, params)["result"]
        assert said["capabilities"]["tools"] == {}
        assert "skill:<name>" in said["instructions"]

    def test_a_tenant_has_its_own_skills_and_shipped_ones_unless_switched_off(self, client: FunctionToolClient) -> None:
        client.host("both")
        ship(client, HostedFunction("both", description="shipped"), HostedFunction("shipped"))
        client.directory.place("acme", Executor("arn:acme", "secret:acme", 1_000), [HostedFunction("theirs")])
        assert {name: tool["description"] for name, tool in list(tools_by_name(client).items())[:-1]} == {
            "skill:both": "both skill [dynamic]",
            "skill:shipped": "shipped skill",
        }
        assert client.is_unknown("skill:theirs")
        client.settings.set(TENANT, None, "shipped_content", 0)
        client.advance_clock(REVALIDATION_INTERVAL)
        assert client.list_tool_names() == ["skill:both", "skill__fetch"]


@pytest.mark.invariant(37)
@pytest.mark.parametrize("namespace", INTERNAL_NAMESPACES)
def test_functions_of_internal_namespaces_are_no_skills(client: FunctionToolClient, namespace: str) -> None:
    client.host(HostedFunction(f"{namespace}x", name="x", exposed=True), HostedFunction("skill::fetch", name="fetch"))
    assert client.list_tool_names() == ["skill__fetch"]
    assert client.is_unknown("skill:x")
    assert client.is_unknown("skill:fetch")


@pytest.mark.invariant(37)
def test_a_function_hidden_at_the_bridge_is_no_skill(client: FunctionToolClient) -> None:
    client.settings.set(TENANT, None, "hidden_prefixes", "private::")
    client.settings.set(TENANT, None, "require_expose", 1)
    client.host(
        HostedFunction("private::key", exposed=True),
        HostedFunction("yard::open", exposed=True),
        HostedFunction("yard::shut"),
    )
    assert client.list_tool_names() == ["skill:open", "skill__fetch"]
    assert client.is_unknown("skill:key")
    assert client.is_unknown("skill:shut")


@pytest.mark.invariant(38)
def test_s49_s50_s51_a_placement_is_seen_within_two_seconds(client: FunctionToolClient) -> None:
    client.host(HostedFunction("a", description="Old."))
    assert tools_by_name(client)["skill:a"]["description"] == "Old. [dynamic]"
    client.host(HostedFunction("a", description="New."), "b")
    client.advance_clock(REVALIDATION_INTERVAL)
    assert tools_by_name(client)["skill:a"]["description"] == "New. [dynamic]"
    assert client.call("skill:b")["isError"] is False
    client.host("b")
    client.advance_clock(REVALIDATION_INTERVAL)
    assert client.list_tool_names() == ["skill:b", "skill__fetch"]
    assert client.is_unknown("skill:a")


def test_documents_prompts_and_agent_skills_are_served_as_on_the_default_endpoint(client: FunctionToolClient) -> None:
    functions = client.gateway.composition.documents.functions
    operator = Principal("operator", TENANT, "signpost:operator")
    caller = Caller(TENANT, operator, client.gateway.clock.now() + 20)
    functions.call("skills::register", {"id": "span", "skill": "# Span\n\nbody\n"}, caller)
    methods = ["resources/list", "resources/templates/list", "prompts/list"]
    methods += ["skills/list"] if client.version == MODERN else []
    for method in methods:
        assert client.request(method)["result"] == client.request(method, path="/mcp")["result"]
    assert read_text(client.call("skill__fetch", {"uri": "iii://span"})).endswith("# Span\n\nbody")


def test_a_token_for_any_endpoint_is_accepted_and_a_refusal_names_the_metadata() -> None:
    gateway = MemoryGateway()
    for endpoint in ("/mcp", FLAT, "/mcp/functions"):
        token = gateway.make_token(aud=f"https://gateway.test{endpoint}")
        assert gateway.request("tools/list", credential=token, path=FLAT).status == 200
    refused = gateway.send(path=FLAT, body="{}", headers={"content-type": "application/json"})
    metadata = "https://gateway.test/.well-known/oauth-protected-resource/mcp/flat"
    assert (refused.status, metadata in refused.headers["www-authenticate"]) == (401, True)


ONE_STEP: JsonObject = {"initialState": "open", "states": {"open": {"terminal": True}}}


def workflow(**said: Any) -> Mapping[str, Any]:
    return {**ONE_STEP, **said}


def publish_workflows(client: FunctionToolClient, **workflows: Mapping[str, Any]) -> None:
    adapters = client.gateway.adapters
    manifest = {"version": 1, "workflows": workflows}
    publish(adapters.content, adapters.values, adapters.definitions, TENANT, manifest)
    client.advance_clock(REVALIDATION_INTERVAL)


BAKE: JsonObject = {"actor": "deterministic", "executor": {"kind": "function", "function": "yard::bake"}}
BAKING: JsonObject = {
    "title": "Bake bread",
    "initialState": "mixing",
    "states": {"mixing": {"transitions": {"bake": {**BAKE, "target": "done"}}}, "done": {"terminal": True}},
}
RUN_NAMES = [tool.name for tool in RUN_TOOLS]
REVIEW: JsonObject = {
    "title": "Review",
    "initialState": "open",
    "states": {"open": {"transitions": {"close": {"target": "shut"}}}, "shut": {"terminal": True}},
}


class TestWorkflows:
    def test_s4_s7_workflows_that_can_be_started_are_tools_after_the_skills(self, client: FunctionToolClient) -> None:
        publish_workflows(client, news=workflow(title="Tech News Digest"), off=workflow(title="Off", enabled=False))
        client.host("yard::echo")
        assert client.list_tool_names() == ["skill:echo", "skill__fetch", *RUN_NAMES, "workflow:Tech News Digest"]
        assert client.is_unknown("workflow:Off")

    def test_s11_a_workflow_without_a_description_gets_a_default_one(self, client: FunctionToolClient) -> None:
        publish_workflows(client, a=workflow(title="A", description="Does it all."), b=workflow(title="B"))
        said = {
            name: tool["description"] for name, tool in tools_by_name(client).items() if name.startswith("workflow:")
        }
        assert said == {"workflow:A": "Does it all.", "workflow:B": "Run the B workflow"}

    def test_workflows_with_the_same_title_are_named_by_their_ids(self, client: FunctionToolClient) -> None:
        titled = {"one": "Same", "two": "Same", "three": "one", "four": "Own", "five": "five"}
        publish_workflows(client, **{name: workflow(title=title) for name, title in titled.items()})
        names = [name.removeprefix("workflow:") for name in client.list_tool_names() if name.startswith("workflow:")]
        assert names == ["Own", "five", "one", "three", "two"]
        for name, started in {"one": "one", "three": "three", "Own": "four"}.items():
            assert client.call(f"workflow:{name}")["structuredContent"]["definitionId"] == started

    def test_a_title_shared_with_a_disabled_workflow_names_the_enabled_one(self, client: FunctionToolClient) -> None:
        publish_workflows(client, one=workflow(title="Same"), two=workflow(title="Same", enabled=False))
        assert "workflow:Same" in client.list_tool_names()

    def test_s8_a_workflow_takes_its_declared_input_or_one_input_text(self, client: FunctionToolClient) -> None:
        declared: JsonObject = {
            "type": "object",
            "properties": {"service": {"type": "string"}},
            "required": ["service"],
        }
        publish_workflows(client, a=workflow(title="A", inputSchema=declared), b=workflow(title="B"))
        tools = tools_by_name(client)
        assert tools["workflow:A"]["inputSchema"] == declared
        assert list(tools["workflow:B"]["inputSchema"]["properties"]) == ["input"]
        refused = client.call("workflow:A", {"service": 1})
        assert (refused["isError"], "`service`" in read_text(refused)) == (True, True)
        assert client.call("workflow:B", {"service": "x"})["isError"] is True

    def test_a_field_with_a_default_is_not_required(self, client: FunctionToolClient) -> None:
        properties: JsonObject = {"city": {"type": "string", "default": "Rome"}, "day": {"type": "string"}}
        declared: JsonObject = {"type": "object", "properties": properties, "required": ["city", "day"]}
        publish_workflows(client, a=workflow(title="A", inputSchema=declared))
        assert tools_by_name(client)["workflow:A"]["inputSchema"] == {**declared, "required": ["day"]}
        assert client.call("workflow:A", {"day": "Monday"})["isError"] is False

    def test_an_input_schema_missing_from_an_old_snapshot_is_read_from_the_definition(
        self, client: FunctionToolClient
    ) -> None:
        declared: JsonObject = {"type": "object", "properties": {"service": {"type": "string"}}}
        publish_workflows(client, a=workflow(title="A", inputSchema=declared), b=workflow(title="B"))
        adapters = client.gateway.adapters
        items = client.gateway.composition.catalogue.load(TENANT).snapshot.items
        store_catalogue(adapters.content, adapters.values, TENANT, [replace(item, input_schema=None) for item in items])
        client.advance_clock(REVALIDATION_INTERVAL)
        tools = tools_by_name(client)
        assert tools["workflow:A"]["inputSchema"] == declared
        assert list(tools["workflow:B"]["inputSchema"]["properties"]) == ["input"]

    def test_s40_a_workflow_tool_answers_like_workflow_start(self, client: FunctionToolClient) -> None:
        publish_workflows(client, review=REVIEW)
        told = client.call("workflow:Review", {"input": "a text"})
        stand = told["structuredContent"]
        assert told["isError"] is False
        assert json.loads(read_text(told)) == stand
        at_mcp = client.request(
            "tools/call",
            {"name": "workflow.start", "arguments": {"definitionId": "review", "input": {"input": "a text"}}},
            path="/mcp",
        )["result"]["structuredContent"]
        run, other = stand["workflowId"], at_mcp["workflowId"]
        assert json.loads(json.dumps(at_mcp).replace(other, run)) == stand
        assert [link["method"] for link in stand["links"]] == ["workflow.submit"]

    def test_s40_s45_the_links_of_an_answer_can_be_called_at_the_same_endpoint(
        self, client: FunctionToolClient
    ) -> None:
        publish_workflows(client, review=REVIEW)
        link = client.call("workflow:Review")["structuredContent"]["links"][0]
        assert client.call(link["method"], link["args"])["structuredContent"]["terminal"] is True
        listed = {tool.name for tool in GATEWAY_TOOLS} & {*client.list_tool_names()}
        assert listed == {*RUN_NAMES}

    def test_s41_the_first_step_reads_the_workflow_input(self, client: FunctionToolClient) -> None:
        baking = json.loads(json.dumps(BAKING))
        baking["states"]["mixing"]["transitions"]["bake"]["executor"]["arguments"] = {"what": "$.workflow.input.input"}
        client.host("yard::bake")
        publish_workflows(client, bread=baking)
        told = client.call("workflow:Bake bread", {"input": "rye"})
        assert (told["isError"], told["structuredContent"]["state"]) == (False, "done")
        assert client.calls[-1]["arguments"] == {"what": "rye"}

    @pytest.mark.parametrize(
        ("reply", "why"),
        [
            (reported_failure("permanent_error", "The oven is cold."), "The oven is cold."),
            (failure("exception", "yard::bake"), "yard::bake failed unexpectedly. Its effect is unknown."),
            (
                failure("timed_out", "yard::bake"),
                "yard::bake took too long and was stopped. Its effect is unknown.",
            ),
            (
                Failure("reported", "rate_limited", "none", "The oven is taken.", 1_200),
                "The oven is taken. Follow its links in 2 s.",
            ),
        ],
    )
    def test_s44_a_failed_instance_is_an_error_that_names_its_id_state_and_cause(
        self, client: FunctionToolClient, reply: CallReply, why: str
    ) -> None:
        client.host("yard::bake")
        client.replies["yard::bake"] = reply
        publish_workflows(client, bread=BAKING)
        told = client.call("workflow:Bake bread")
        stand = told["structuredContent"]
        run = f"The run {stand['workflowId']} of Bake bread failed at bake and is in the state mixing"
        assert (told["isError"], read_text(told)) == (True, f"{run}: {why}")
        assert stand["links"]
        looked = client.call("workflow.get", {"workflowId": stand["workflowId"]})["structuredContent"]
        assert looked["state"] == "mixing"

    def test_s42_a_workflow_without_its_required_input_is_not_started(self, client: FunctionToolClient) -> None:
        declared: JsonObject = {"type": "object", "properties": {"topic": {"type": "string"}}, "required": ["topic"]}
        publish_workflows(client, news=workflow(title="News", inputSchema=declared))
        refused = client.call("workflow:News")
        assert (refused["isError"], "`topic`" in read_text(refused)) == (True, True)
        assert "structuredContent" not in refused

    def test_s45_an_instance_longer_than_a_call_answers_with_a_link_to_itself(self, client: FunctionToolClient) -> None:
        def slow(message: JsonObject) -> JsonObject:
            del message
            client.advance_clock(24)
            return wire.reply_message(Result({}))

        client.host("yard::bake")
        client.gateway.executors[YARD.arn] = slow
        then: JsonObject = {"initialState": "mixing", "title": "Bake bread", "states": {
            "mixing": {"transitions": {"mix": {**BAKE, "target": "baking"}}},
            "baking": {"transitions": {"bake": {**BAKE, "target": "done"}}},
            "done": {"terminal": True},
        }}  # fmt: skip
        publish_workflows(client, bread=then)
        told = client.call("workflow:Bake bread")
        stand = told["structuredContent"]
        assert (told["isError"], stand["state"], stand["pending"]["transition"]) == (False, "baking", "bake")
        assert stand["links"][0] == {
            "rel": "self",
            "method": "workflow.get",
            "args": {"workflowId": stand["workflowId"]},
        }

    def test_s46_the_starter_of_an_instance_can_cancel_it_at_the_flat_surface(self, client: FunctionToolClient) -> None:
        publish_workflows(client, review=REVIEW)
        stand = client.call("workflow:Review")["structuredContent"]
        arguments = {"workflowId": stand["workflowId"], "expectedVersion": stand["version"], "transition": "$cancel"}
        ended = client.call("workflow.submit", arguments)["structuredContent"]
        assert (ended["terminal"], ended["cancelled"]["by"] != "", ended["links"]) == (True, True, [])

    def test_s47_a_human_transition_is_refused_to_an_agent(self, client: FunctionToolClient) -> None:
        asked: JsonObject = {"pay": {"actor": "human", "target": "paid"}}
        publish_workflows(client, pay=workflow(title="Pay", initialState="asked", states={
            "asked": {"transitions": asked},
                                                                              "paid": {"terminal": True}}))  # fmt: skip
        stand = client.call("workflow:Pay")["structuredContent"]
        assert (stand["state"], stand["waitingFor"]) == ("asked", "human")
        arguments = {"workflowId": stand["workflowId"], "expectedVersion": stand["version"], "transition": "pay"}
        refused = client.call("workflow.submit", arguments)["structuredContent"]
        assert (refused["state"], refused["error"]["code"]) == ("asked", "ACTOR_MISMATCH")

    @pytest.mark.parametrize("name", ["workflow:tech News", "workflow:Tech  News", "workflow:tech_news", "Tech News"])
    def test_s48_a_workflow_is_found_only_by_its_exact_title(self, client: FunctionToolClient, name: str) -> None:
        publish_workflows(client, news=workflow(title="Tech News"))
        assert client.is_unknown(name)
        assert client.call("workflow:Tech News")["isError"] is False

    def test_s301_calls_with_the_same_token_start_one_instance(self, client: FunctionToolClient) -> None:
        publish_workflows(client, review=REVIEW)
        told = [client.call("workflow:Review", token=day) for day in ("monday", "monday", "tuesday")]
        first, again, other = (one["structuredContent"]["workflowId"] for one in told)
        assert (first == again, first == other) == (True, False)

    def test_an_instance_with_a_start_in_doubt_is_named_in_the_answer(self, client: FunctionToolClient) -> None:
        instances = OverloadedInstanceStore()
        client.gateway.replace_adapters(instances=lambda: instances)
        publish_workflows(client, review=REVIEW)
        instances.unheard = 10**6
        told = client.call("workflow:Review")
        run = told["structuredContent"]["links"][0]["args"]["workflowId"]
        said = read_text(told)
        assert said.startswith(f"The run {run} of Review may not have been started: ")
        assert (told["isError"], said.endswith("Follow its links in 1 s.")) == (True, True)
        assert client.call("workflow.get", {"workflowId": run})["structuredContent"]["state"] == "open"

    def test_s43_a_workflow_that_was_just_disabled_is_not_started(self, client: FunctionToolClient) -> None:
        publish_workflows(client, news=workflow(title="News"))
        assert "workflow:News" in client.list_tool_names()
        adapters = client.gateway.adapters
        manifest = {"version": 1, "workflows": {"news": workflow(title="News", enabled=False)}}
        publish(adapters.content, adapters.values, adapters.definitions, TENANT, manifest)
        refused = client.call("workflow:News")
        assert (refused["isError"], "There is no workflow news" in read_text(refused)) == (True, True)
        assert "workflowId" not in refused["structuredContent"]
        client.advance_clock(REVALIDATION_INTERVAL)
        assert client.is_unknown("workflow:News")

    def test_s52_a_published_workflow_is_seen_within_two_seconds(self, client: FunctionToolClient) -> None:
        publish_workflows(client, news=workflow(title="News"))
        publish_workflows(client, news=workflow(title="Digest"), more=workflow(title="More"))
        assert client.list_tool_names() == ["skill__fetch", *RUN_NAMES, "workflow:Digest", "workflow:More"]
        publish_workflows(client, more=workflow(title="More"))
        assert client.list_tool_names() == ["skill__fetch", *RUN_NAMES, "workflow:More"]

    def test_workflows_excluded_from_discovery_can_be_started_and_are_not_listed(
        self, client: FunctionToolClient
    ) -> None:
        publish_workflows(client, news=workflow(title="News"))
        adapters = client.gateway.adapters
        items = client.gateway.composition.catalogue.load(TENANT).snapshot.items
        hiding = CatalogueSnapshot(discovery={"include": ["proxy"]})
        store_catalogue(adapters.content, adapters.values, TENANT, items, hiding)
        client.advance_clock(REVALIDATION_INTERVAL)
        assert client.list_tool_names() == ["skill__fetch"]
        assert client.call("workflow:News")["isError"] is False

    def test_capabilities_and_connections_are_no_workflows(self, client: FunctionToolClient) -> None:
        client.gateway.store_catalogue(TENANT, CatalogueItem("github.list_issues", "capability", "List issues"))
        assert client.list_tool_names() == ["skill__fetch"]


def test_a_gateway_imports_the_tools_of_other_endpoints_at_their_first_request() -> None:
    names = {
        "signpost.surfaces.flat.catalog_tool",
        "signpost.surfaces.flat.function_tools",
        "signpost.surfaces.functions.bridge_tools",
        "signpost.surfaces.function_calls",
    }
    assert imported_by("import signpost.wiring.gateway", names) == set()
