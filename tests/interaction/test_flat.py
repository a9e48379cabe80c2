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
from signpost.calling.lookup import REVALIDATION_INTERVAL
from signpost.catalogue.snapshot import CatalogueSnapshot
from signpost.content.callers import Caller
from signpost.content.names import INTERNAL_NAMESPACES
from signpost.contract import BreakerState, CallReply, Executor, Failure, HostedFunction, Result
from signpost.mcp.tools import VALIDATION_TIME_LIMIT
from signpost.model import CatalogueItem, JsonObject, Principal
from signpost.schema.validation import check_schema
from signpost.surfaces.flat.function_tools import merge_config, skill_schema
from signpost.surfaces.gateway.tool_specs import GATEWAY_TOOLS
from signpost.toolkit import Toolkit
from tests.interaction.test_unread_workflows import Overloaded
from tests.support.catalogues import put_in_place
from tests.support.function_tools import LEGACY, SHELF, TENANT, YARD, Client, text_of
from tests.support.manifests import publish
from tests.support.memory_gateway import MODERN, MemoryGateway, modern
from tests.support.toolkits import Served

FLAT = "/mcp/flat"
QUERY: JsonObject = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "max_results": {"type": "integer"}},
    "required": ["query"],
}


@pytest.fixture(params=[MODERN, LEGACY])
def client(request: pytest.FixtureRequest) -> Client:
    return Client(request.param, FLAT)


def ship(client: Client, *hosted: HostedFunction) -> None:
    assert client.directory.place(None, SHELF, hosted) == []


def by_name(client: Client) -> Mapping[str, Any]:
    return {tool["name"]: tool for tool in client.tools()}


class TestNames:
    def test_s1_s3_s55_skills_and_fetch_are_listed_by_name_and_by_a_gateway_that_starts_later_alike(
        self, client: Client
    ) -> None:
        ship(client, HostedFunction("core::web_search"), HostedFunction("core::wait"))
        client.host(HostedFunction("files::read_file", name="files.read"), "yard::echo", "plain")
        names = ["skill:echo", "skill:files.read", "skill:plain", "skill:wait", "skill:web_search", "skill__fetch"]
        assert client.names() == names == sorted(names)
        client.gateway.exchange()
        assert client.names() == names

    def test_s5_the_functions_that_every_deployment_has_are_skills(self, client: Client) -> None:
        ship(client, *(function.hosted for kit in core_toolkits({}) for function in kit.functions))
        names = ["http_fetch", "json_transform", "template_render", "wait", "web_search"]
        assert client.names() == [*(f"skill:{name}" for name in names), "skill__fetch"]
        search = by_name(client)["skill:web_search"]["inputSchema"]["properties"]
        assert {name: search[name]["type"] for name in ("input", "config", "query", "max_results")} == {
            "input": "string",
            "config": "object",
            "query": "string",
            "max_results": "integer",
        }

    def test_a_name_that_was_given_goes_before_one_that_an_id_ends_with(self, client: Client) -> None:
        client.host("a::send", HostedFunction("b::post", name="send"))
        client.replies |= {"a::send": Result("a"), "b::post": Result("b")}
        assert client.names() == ["skill:a::send", "skill:send", "skill__fetch"]
        assert [text_of(client.call(name)) for name in ("skill:send", "skill:a::send")] == ["b", "a"]

    def test_a_name_of_a_tenants_own_goes_before_a_shipped_one(self, client: Client) -> None:
        ship(client, HostedFunction("core::wait", name="wait"))
        client.host("yard::wait")
        assert client.names() == ["skill:core::wait", "skill:wait", "skill__fetch"]
        client.call("skill:wait")
        assert [call["function"] for call in client.calls] == ["yard::wait"]

    def test_of_two_functions_that_end_alike_the_first_by_id_has_the_name(self, client: Client) -> None:
        client.host("c::send", "b::send", "a::send")
        assert client.names() == ["skill:b::send", "skill:c::send", "skill:send", "skill__fetch"]
        client.call("skill:send")
        assert [call["function"] for call in client.calls] == ["a::send"]

    def test_s18_s19_portable_names_are_listed_on_demand_and_always_callable(self) -> None:
        client = Client(MODERN, FLAT)
        hosted = [
            HostedFunction("a::x", name="files.read"),
            HostedFunction("b::x", name="files_read"),
            HostedFunction("c::x", name="Ärger"),
        ]
        client.host(*hosted, HostedFunction("d::x", name="un.listed", hidden=True))
        message, headers = modern("tools/list", {})
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


class TestWhatIsShown:
    def test_s2_s9_s10_descriptions_say_what_it_is_and_whether_it_was_loaded(self, client: Client) -> None:
        ship(client, HostedFunction("core::wait", description="Waits."), HostedFunction("core::bare"))
        client.host(HostedFunction("yard::info", description="Says how it is."), "yard::plain")
        said = {name: tool["description"] for name, tool in by_name(client).items() if name != "skill__fetch"}
        assert said == {
            "skill:bare": "bare skill",
            "skill:info": "Says how it is. [dynamic]",
            "skill:plain": "plain skill [dynamic]",
            "skill:wait": "Waits.",
        }

    def test_n017_n048_what_lists_show_of_a_function_is_shown_as_at_the_bridge(self, client: Client) -> None:
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
        echo = by_name(client)["skill:echo"]
        bridge = client.ask("tools/list", path="/mcp/functions")["result"]["tools"][0]
        assert echo["_meta"] == {"team": "a", "category": "Yard", "doc": "iii://yard/echo"}
        differing = ("name", "description", "inputSchema")
        assert {**echo, **dict.fromkeys(differing)} == {**bridge, **dict.fromkeys(differing)}
        assert (echo["title"], echo["annotations"]) == ("Echo", {"readOnlyHint": True})

    def test_n006_n011_n031_hidden_skills_are_not_listed_and_are_called_as_any_other(self, client: Client) -> None:
        client.host(HostedFunction("yard::lookup", hidden=True), "yard::echo")
        assert client.names() == ["skill:echo", "skill__fetch"]
        assert client.call("skill:lookup")["isError"] is False
        assert [call["function"] for call in client.calls] == ["yard::lookup"]

    def test_s6_every_schema_is_one_and_input_and_config_are_what_they_are(self, client: Client) -> None:
        client.host(HostedFunction("yard::search", input_schema=QUERY), "yard::echo")
        for name, tool in by_name(client).items():
            check_schema(tool["inputSchema"])
            if name != "skill__fetch":
                properties = tool["inputSchema"]["properties"]
                assert (properties["input"]["type"], properties["config"]["type"]) == ("string", "object")

    def test_s13_declared_fields_stand_beside_input_and_config(self, client: Client) -> None:
        client.host(HostedFunction("yard::search", input_schema=QUERY))
        schema = by_name(client)["skill:search"]["inputSchema"]
        assert list(schema["properties"]) == ["input", "config", "query", "max_results"]
        assert schema["required"] == ["query"]

    @pytest.mark.parametrize("name", ["input", "config"])
    def test_what_the_author_declares_goes_before_what_is_generic(self, name: str) -> None:
        properties = skill_schema({"type": "object", "properties": {name: {"type": "integer"}}})["properties"]
        assert isinstance(properties, dict)
        assert properties[name] == {"type": "integer"}
        assert set(properties) == {"input", "config"}


class TestArguments:
    def test_s14_typed_arguments_arrive(self, client: Client) -> None:
        client.host(HostedFunction("yard::search", input_schema=QUERY))
        assert client.call("skill:search", {"query": "rain", "max_results": 2})["isError"] is False
        assert client.calls[0]["arguments"] == {"query": "rain", "max_results": 2}

    def test_s15_generic_arguments_arrive(self, client: Client) -> None:
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
    def test_s15_what_is_in_config_counts_as_if_it_stood_beside_unless_there_is_one(
        self, declared: JsonObject | None, given: JsonObject, taken: JsonObject
    ) -> None:
        assert merge_config(declared, given) == taken

    @pytest.mark.parametrize(("name", "wrong"), [("input", {"a": 1}), ("config", "x"), ("max_results", "2")])
    def test_s16_an_argument_of_a_wrong_type_is_refused_by_name_and_nothing_runs(
        self, client: Client, name: str, wrong: Any
    ) -> None:
        client.host(HostedFunction("yard::search", input_schema=QUERY))
        refused = client.call("skill:search", {"query": "rain", name: wrong})
        assert (refused["isError"], f"`{name}`" in text_of(refused)) == (True, True)
        assert client.calls == []

    def test_s17_an_argument_that_nobody_declared_is_refused_by_name(self, client: Client) -> None:
        client.host("yard::echo")
        refused = client.call("skill:echo", {"inptu": "x"})
        assert (refused["isError"], "inptu" in text_of(refused)) == (True, True)
        assert client.calls == []


def kit_of_two() -> Toolkit:
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
    def test_s14_s15_a_toolkit_is_given_its_fields_whichever_way_they_are_sent(self) -> None:
        served = Served(kit_of_two(), endpoint=FLAT)
        say = served.tools()["skill:yard.say"]
        assert (list(say["inputSchema"]["properties"]), say["_meta"]) == (
            ["input", "config", "word", "times"],
            {"category": "Yard"},
        )
        told = served.call("skill:yard.say", word="ahoy", config={"word": "no", "times": 2}, input="left out")
        assert told["structuredContent"] == {"word": "ahoy", "times": 2}

    def test_s16_what_is_in_config_is_held_against_the_schema_too(self) -> None:
        refused = Served(kit_of_two(), endpoint=FLAT).call("skill:yard.say", word="ahoy", config={"times": "two"})
        assert (refused["isError"], "`times`" in text_of(refused)) == (True, True)

    def test_s17_what_is_closed_refuses_by_name_what_it_does_not_declare(self) -> None:
        served = Served(kit_of_two(), endpoint=FLAT)
        assert text_of(served.call("skill:spell", config={"word": "ab"})) == "a b"
        for arguments, name in (({"input": "ab"}, "input"), ({"wrod": "ab"}, "wrod"), ({"config": {"x": 1}}, "x")):
            refused = served.call("skill:spell", **arguments)
            assert (refused["isError"], f"'{name}' was unexpected" in text_of(refused)) == (True, True)


class TestCalls:
    @pytest.mark.parametrize(
        "name", ["skill:nothing", "skill:", "skill:Echo", "workflow:nothing", "workflow:", "tool:echo", "echo", ""]
    )
    def test_s20_s21_s22_s48_an_unknown_name_is_refused_and_named(self, client: Client, name: str) -> None:
        client.host("yard::echo")
        assert client.is_unknown(name)
        assert client.calls == []

    def test_s25_s26_text_is_one_block_and_an_object_is_structured_too(self, client: Client) -> None:
        client.host("f")
        client.replies["f"] = Result("as it is\n")
        assert text_of(client.call("skill:f")) == "as it is\n"
        client.replies["f"] = Result({"a": [1]})
        result = client.call("skill:f")
        assert json.loads(text_of(result)) == result["structuredContent"] == {"a": [1]}

    def test_s27_nothing_is_null_and_no_word_of_a_language(self, client: Client) -> None:
        client.host("f")
        client.replies["f"] = Result(None)
        assert text_of(client.call("skill:f")) == "null"

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
    def test_s29_s30_s32_s33_a_failure_is_a_sentence_and_the_next_call_works(
        self, client: Client, reply: CallReply, says: str
    ) -> None:
        client.host("f")
        client.replies["f"] = reply
        result = client.call("skill:f")
        assert (result["isError"], text_of(result)) == (True, says)
        del client.replies["f"]
        assert client.call("skill:f")["isError"] is False

    def test_s31_a_timeout_that_an_operator_lowers_holds_for_the_next_call(self, client: Client) -> None:
        client.host("f")
        client.settings.set(TENANT, None, "tool_timeout_ms", 2_000)
        client.call("skill:f")
        assert client.calls[0]["deadline"] - client.gateway.clock.now() == pytest.approx(2)

    def test_s34_s35_a_call_is_at_depth_0_and_has_the_permissions_that_its_function_declares(
        self, client: Client
    ) -> None:
        client.host(HostedFunction("f", permissions=frozenset({"mail"})))
        client.call("skill:f")
        assert (client.calls[0]["depth"], client.calls[0]["permissions"]) == (0, ["mail"])
        assert client.calls[0]["principal"]["tenant"] == TENANT

    def test_s36_a_function_whose_breaker_is_open_is_left_alone(self, client: Client) -> None:
        client.host("f")
        until = client.gateway.clock.now() + 60
        MemoryBreakers(client.gateway.functions).open(TENANT, "f", BreakerState(until, 3, "crashed"))
        result = client.call("skill:f")
        assert (result["isError"], text_of(result).endswith("Try again in 60 s.")) == (True, True)
        assert client.calls == []

    def test_what_is_taken_away_between_finding_and_calling_is_refused_by_name(self, client: Client) -> None:
        @contextmanager
        def going(seconds: float) -> Generator[None]:
            if seconds == VALIDATION_TIME_LIMIT:  # while arguments are held against a schema, after the tool was found
                client.host()
                client.passes(REVALIDATION_INTERVAL)
            yield

        client.host(HostedFunction("f", name="gone"))
        client.gateway.exchange(alarm=going)
        refused = client.call("skill:gone")
        assert (refused["isError"], text_of(refused)) == (True, "There is no function skill:gone.")


class TestRefresh:
    def test_s54_what_cannot_be_placed_changes_nothing(self, client: Client) -> None:
        client.host("a")
        other = Executor("arn:other", "secret:other", 1_000)
        assert client.directory.place(TENANT, other, [HostedFunction("a"), HostedFunction("b")]) == ["a"]
        client.passes(REVALIDATION_INTERVAL)
        assert client.names() == ["skill:a", "skill__fetch"]
        client.call("skill:a")
        assert [call["function"] for call in client.calls] == ["a"]

    def test_s53_no_list_is_said_to_announce_its_changes(self, client: Client) -> None:
        method, params = ("server/discover", {}) if client.version == MODERN else (
            "initialize",
            {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
        )  # fmt: skip
        said = client.ask(method, params)["result"]
        assert said["capabilities"]["tools"] == {}
        assert "skill:<name>" in said["instructions"]

    def test_a_tenant_has_its_own_skills_and_shipped_ones_until_it_wants_none(self, client: Client) -> None:
        client.host("both")
        ship(client, HostedFunction("both", description="shipped"), HostedFunction("shipped"))
        client.directory.place("acme", Executor("arn:acme", "secret:acme", 1_000), [HostedFunction("theirs")])
        assert {name: tool["description"] for name, tool in list(by_name(client).items())[:-1]} == {
            "skill:both": "both skill [dynamic]",
            "skill:shipped": "shipped skill",
        }
        assert client.is_unknown("skill:theirs")
        client.settings.set(TENANT, None, "shipped_content", 0)
        client.passes(REVALIDATION_INTERVAL)
        assert client.names() == ["skill:both", "skill__fetch"]


@pytest.mark.invariant(37)
@pytest.mark.parametrize("namespace", INTERNAL_NAMESPACES)
def test_nobody_is_led_to_the_registry(client: Client, namespace: str) -> None:
    client.host(HostedFunction(f"{namespace}x", name="x", exposed=True), HostedFunction("skill::fetch", name="fetch"))
    assert client.names() == ["skill__fetch"]
    assert client.is_unknown("skill:x")
    assert client.is_unknown("skill:fetch")


@pytest.mark.invariant(37)
def test_what_is_no_tool_at_the_bridge_is_none_here(client: Client) -> None:
    client.settings.set(TENANT, None, "hidden_prefixes", "private::")
    client.settings.set(TENANT, None, "require_expose", 1)
    client.host(
        HostedFunction("private::key", exposed=True),
        HostedFunction("yard::open", exposed=True),
        HostedFunction("yard::shut"),
    )
    assert client.names() == ["skill:open", "skill__fetch"]
    assert client.is_unknown("skill:key")
    assert client.is_unknown("skill:shut")


@pytest.mark.invariant(38)
def test_s49_s50_s51_a_placement_is_seen_two_seconds_later_at_the_latest(client: Client) -> None:
    client.host(HostedFunction("a", description="Old."))
    assert by_name(client)["skill:a"]["description"] == "Old. [dynamic]"
    client.host(HostedFunction("a", description="New."), "b")
    client.passes(REVALIDATION_INTERVAL)
    assert by_name(client)["skill:a"]["description"] == "New. [dynamic]"
    assert client.call("skill:b")["isError"] is False
    client.host("b")
    client.passes(REVALIDATION_INTERVAL)
    assert client.names() == ["skill:b", "skill__fetch"]
    assert client.is_unknown("skill:a")


def test_documents_prompts_and_agent_skills_are_there_as_on_the_default_endpoint(client: Client) -> None:
    functions = client.gateway.composition.documents.functions
    operator = Principal("operator", TENANT, "signpost:operator")
    caller = Caller(TENANT, operator, client.gateway.clock.now() + 20)
    functions.call("skills::register", {"id": "span", "skill": "# Span\n\nbody\n"}, caller)
    methods = ["resources/list", "resources/templates/list", "prompts/list"]
    methods += ["skills/list"] if client.version == MODERN else []
    for method in methods:
        assert client.ask(method)["result"] == client.ask(method, path="/mcp")["result"]
    assert text_of(client.call("skill__fetch", {"uri": "iii://span"})).endswith("# Span\n\nbody")


def test_a_token_for_any_endpoint_is_good_here_and_who_has_none_learns_of_the_metadata() -> None:
    gateway = MemoryGateway()
    for endpoint in ("/mcp", FLAT, "/mcp/functions"):
        token = gateway.token(aud=f"https://gateway.test{endpoint}")
        assert gateway.ask("tools/list", credential=token, path=FLAT).status == 200
    refused = gateway.send(path=FLAT, body="{}", headers={"content-type": "application/json"})
    metadata = "https://gateway.test/.well-known/oauth-protected-resource/mcp/flat"
    assert (refused.status, metadata in refused.headers["www-authenticate"]) == (401, True)


ONE_STEP: JsonObject = {"initialState": "open", "states": {"open": {"terminal": True}}}


def workflow(**said: Any) -> Mapping[str, Any]:
    return {**ONE_STEP, **said}


def offer(client: Client, **workflows: Mapping[str, Any]) -> None:
    adapters = client.gateway.adapters
    manifest = {"version": 1, "workflows": workflows}
    publish(adapters.content, adapters.values, adapters.definitions, TENANT, manifest)
    client.passes(REVALIDATION_INTERVAL)


BAKE: JsonObject = {"actor": "deterministic", "executor": {"kind": "function", "function": "yard::bake"}}
BAKING: JsonObject = {
    "title": "Bake bread",
    "initialState": "mixing",
    "states": {"mixing": {"transitions": {"bake": {**BAKE, "target": "done"}}}, "done": {"terminal": True}},
}
REVIEW: JsonObject = {
    "title": "Review",
    "initialState": "open",
    "states": {"open": {"transitions": {"close": {"target": "shut"}}}, "shut": {"terminal": True}},
}


class TestWorkflows:
    def test_s4_s7_workflows_that_can_be_started_are_tools_after_the_skills(self, client: Client) -> None:
        offer(client, news=workflow(title="Tech News Digest"), off=workflow(title="Off", enabled=False))
        client.host("yard::echo")
        assert client.names() == ["skill:echo", "skill__fetch", "workflow:Tech News Digest"]
        assert client.is_unknown("workflow:Off")

    def test_s11_who_says_nothing_of_a_workflow_is_said_to_run_it(self, client: Client) -> None:
        offer(client, a=workflow(title="A", description="Does it all."), b=workflow(title="B"))
        said = {name: tool["description"] for name, tool in by_name(client).items() if name.startswith("workflow:")}
        assert said == {"workflow:A": "Does it all.", "workflow:B": "Run the B workflow"}

    def test_a_title_that_several_have_names_none_of_them(self, client: Client) -> None:
        titled = {"one": "Same", "two": "Same", "three": "one", "four": "Own", "five": "five"}
        offer(client, **{name: workflow(title=title) for name, title in titled.items()})
        names = [name.removeprefix("workflow:") for name in client.names() if name.startswith("workflow:")]
        assert names == ["Own", "five", "one", "three", "two"]
        for name, started in {"one": "one", "three": "three", "Own": "four"}.items():
            assert client.call(f"workflow:{name}")["structuredContent"]["definitionId"] == started

    def test_a_title_is_free_again_when_who_shared_it_is_disabled(self, client: Client) -> None:
        offer(client, one=workflow(title="Same"), two=workflow(title="Same", enabled=False))
        assert "workflow:Same" in client.names()

    def test_s8_a_workflow_takes_what_it_declares_else_an_input(self, client: Client) -> None:
        declared: JsonObject = {
            "type": "object",
            "properties": {"service": {"type": "string"}},
            "required": ["service"],
        }
        offer(client, a=workflow(title="A", inputSchema=declared), b=workflow(title="B"))
        tools = by_name(client)
        assert tools["workflow:A"]["inputSchema"] == declared
        assert list(tools["workflow:B"]["inputSchema"]["properties"]) == ["input"]
        refused = client.call("workflow:A", {"service": 1})
        assert (refused["isError"], "`service`" in text_of(refused)) == (True, True)
        assert client.call("workflow:B", {"service": "x"})["isError"] is True

    def test_what_has_a_default_need_not_be_sent(self, client: Client) -> None:
        properties: JsonObject = {"city": {"type": "string", "default": "Rome"}, "day": {"type": "string"}}
        declared: JsonObject = {"type": "object", "properties": properties, "required": ["city", "day"]}
        offer(client, a=workflow(title="A", inputSchema=declared))
        assert by_name(client)["workflow:A"]["inputSchema"] == {**declared, "required": ["day"]}
        assert client.call("workflow:A", {"day": "Monday"})["isError"] is False

    def test_what_a_catalogue_of_before_does_not_say_is_read_from_its_definitions(self, client: Client) -> None:
        declared: JsonObject = {"type": "object", "properties": {"service": {"type": "string"}}}
        offer(client, a=workflow(title="A", inputSchema=declared), b=workflow(title="B"))
        adapters = client.gateway.adapters
        items = client.gateway.composition.catalogue.load(TENANT).snapshot.items
        put_in_place(adapters.content, adapters.values, TENANT, [replace(item, input_schema=None) for item in items])
        client.passes(REVALIDATION_INTERVAL)
        tools = by_name(client)
        assert tools["workflow:A"]["inputSchema"] == declared
        assert list(tools["workflow:B"]["inputSchema"]["properties"]) == ["input"]

    def test_s40_a_run_is_started_and_the_answer_is_that_of_workflow_start(self, client: Client) -> None:
        offer(client, review=REVIEW)
        told = client.call("workflow:Review", {"input": "a text"})
        stand = told["structuredContent"]
        assert told["isError"] is False
        assert json.loads(text_of(told)) == stand
        at_mcp = client.ask(
            "tools/call",
            {"name": "workflow.start", "arguments": {"definitionId": "review", "input": {"input": "a text"}}},
            path="/mcp",
        )["result"]["structuredContent"]
        run, other = stand["workflowId"], at_mcp["workflowId"]
        assert json.loads(json.dumps(at_mcp).replace(other, run)) == stand
        assert [link["method"] for link in stand["links"]] == ["workflow.submit"]

    def test_s40_s45_what_an_answer_links_can_be_called_where_it_was_given(self, client: Client) -> None:
        offer(client, review=REVIEW)
        link = client.call("workflow:Review")["structuredContent"]["links"][0]
        assert client.call(link["method"], link["args"])["structuredContent"]["terminal"] is True
        assert not {tool.name for tool in GATEWAY_TOOLS} & {*client.names()}

    def test_s41_the_input_is_what_the_first_step_may_read(self, client: Client) -> None:
        baking = json.loads(json.dumps(BAKING))
        baking["states"]["mixing"]["transitions"]["bake"]["executor"]["arguments"] = {"what": "$.workflow.input.input"}
        client.host("yard::bake")
        offer(client, bread=baking)
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
    def test_s44_a_run_that_failed_is_an_error_that_says_which_run_where_and_why(
        self, client: Client, reply: CallReply, why: str
    ) -> None:
        client.host("yard::bake")
        client.replies["yard::bake"] = reply
        offer(client, bread=BAKING)
        told = client.call("workflow:Bake bread")
        stand = told["structuredContent"]
        run = f"The run {stand['workflowId']} of Bake bread failed at bake and is in the state mixing"
        assert (told["isError"], text_of(told)) == (True, f"{run}: {why}")
        assert stand["links"]
        looked = client.call("workflow.get", {"workflowId": stand["workflowId"]})["structuredContent"]
        assert looked["state"] == "mixing"

    def test_s42_a_workflow_without_what_it_needs_is_not_started(self, client: Client) -> None:
        declared: JsonObject = {"type": "object", "properties": {"topic": {"type": "string"}}, "required": ["topic"]}
        offer(client, news=workflow(title="News", inputSchema=declared))
        refused = client.call("workflow:News")
        assert (refused["isError"], "`topic`" in text_of(refused)) == (True, True)
        assert "structuredContent" not in refused

    def test_s45_a_run_that_takes_longer_than_a_call_answers_at_once_how_to_look_at_it(self, client: Client) -> None:
        def slow(message: JsonObject) -> JsonObject:
            del message
            client.passes(24)
            return wire.reply_message(Result({}))

        client.host("yard::bake")
        client.gateway.executors[YARD.arn] = slow
        then: JsonObject = {"initialState": "mixing", "title": "Bake bread", "states": {
            "mixing": {"transitions": {"mix": {**BAKE, "target": "baking"}}},
            "baking": {"transitions": {"bake": {**BAKE, "target": "done"}}},
            "done": {"terminal": True},
        }}  # fmt: skip
        offer(client, bread=then)
        told = client.call("workflow:Bake bread")
        stand = told["structuredContent"]
        assert (told["isError"], stand["state"], stand["pending"]["transition"]) == (False, "baking", "bake")
        assert stand["links"][0] == {
            "rel": "self",
            "method": "workflow.get",
            "args": {"workflowId": stand["workflowId"]},
        }

    def test_s46_who_started_a_run_can_end_it_here(self, client: Client) -> None:
        offer(client, review=REVIEW)
        stand = client.call("workflow:Review")["structuredContent"]
        arguments = {"workflowId": stand["workflowId"], "expectedVersion": stand["version"], "transition": "$cancel"}
        ended = client.call("workflow.submit", arguments)["structuredContent"]
        assert (ended["terminal"], ended["cancelled"]["by"] != "", ended["links"]) == (True, True, [])

    def test_s47_what_is_for_a_person_is_not_done_by_an_agent(self, client: Client) -> None:
        asked: JsonObject = {"pay": {"actor": "human", "target": "paid"}}
        offer(client, pay=workflow(title="Pay", initialState="asked", states={"asked": {"transitions": asked},
                                                                              "paid": {"terminal": True}}))  # fmt: skip
        stand = client.call("workflow:Pay")["structuredContent"]
        assert (stand["state"], stand["waitingFor"]) == ("asked", "human")
        arguments = {"workflowId": stand["workflowId"], "expectedVersion": stand["version"], "transition": "pay"}
        refused = client.call("workflow.submit", arguments)["structuredContent"]
        assert (refused["state"], refused["error"]["code"]) == ("asked", "ACTOR_MISMATCH")

    @pytest.mark.parametrize("name", ["workflow:tech News", "workflow:Tech  News", "workflow:tech_news", "Tech News"])
    def test_s48_a_workflow_is_found_by_its_title_to_the_letter(self, client: Client, name: str) -> None:
        offer(client, news=workflow(title="Tech News"))
        assert client.is_unknown(name)
        assert client.call("workflow:Tech News")["isError"] is False

    def test_s301_whoever_calls_a_workflow_twice_for_the_same_occasion_starts_it_once(self, client: Client) -> None:
        offer(client, review=REVIEW)
        told = [client.call("workflow:Review", token=day) for day in ("monday", "monday", "tuesday")]
        first, again, other = (one["structuredContent"]["workflowId"] for one in told)
        assert (first == again, first == other) == (True, False)

    def test_a_run_of_which_nobody_knows_whether_it_was_started_is_named_all_the_same(self, client: Client) -> None:
        instances = Overloaded()
        client.gateway.exchange(instances=lambda: instances)
        offer(client, review=REVIEW)
        instances.unheard = 10**6
        told = client.call("workflow:Review")
        run = told["structuredContent"]["links"][0]["args"]["workflowId"]
        said = text_of(told)
        assert said.startswith(f"The run {run} of Review may not have been started: ")
        assert (told["isError"], said.endswith("Follow its links in 1 s.")) == (True, True)
        assert client.call("workflow.get", {"workflowId": run})["structuredContent"]["state"] == "open"

    def test_s43_a_workflow_that_was_just_disabled_is_refused_and_nothing_is_started(self, client: Client) -> None:
        offer(client, news=workflow(title="News"))
        assert "workflow:News" in client.names()
        adapters = client.gateway.adapters
        manifest = {"version": 1, "workflows": {"news": workflow(title="News", enabled=False)}}
        publish(adapters.content, adapters.values, adapters.definitions, TENANT, manifest)
        refused = client.call("workflow:News")
        assert (refused["isError"], "There is no workflow news" in text_of(refused)) == (True, True)
        assert "workflowId" not in refused["structuredContent"]
        client.passes(REVALIDATION_INTERVAL)
        assert client.is_unknown("workflow:News")

    def test_s52_what_is_published_is_seen_two_seconds_later_at_the_latest(self, client: Client) -> None:
        offer(client, news=workflow(title="News"))
        offer(client, news=workflow(title="Digest"), more=workflow(title="More"))
        assert client.names() == ["skill__fetch", "workflow:Digest", "workflow:More"]
        offer(client, more=workflow(title="More"))
        assert client.names() == ["skill__fetch", "workflow:More"]

    def test_workflows_that_a_tenant_does_not_show_are_not_listed_and_can_be_started(self, client: Client) -> None:
        offer(client, news=workflow(title="News"))
        adapters = client.gateway.adapters
        items = client.gateway.composition.catalogue.load(TENANT).snapshot.items
        hiding = CatalogueSnapshot(discovery={"include": ["proxy"]})
        put_in_place(adapters.content, adapters.values, TENANT, items, hiding)
        client.passes(REVALIDATION_INTERVAL)
        assert client.names() == ["skill__fetch"]
        assert client.call("workflow:News")["isError"] is False

    def test_capabilities_and_connections_are_no_workflows(self, client: Client) -> None:
        client.gateway.offer(TENANT, CatalogueItem("github.list_issues", "capability", "List issues"))
        assert client.names() == ["skill__fetch"]
