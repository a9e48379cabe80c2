"""The functions of a tenant as tools at /mcp/functions, as a client sees them in both eras."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost.adapters.memory import MemoryBreakers
from signpost.calling.failures import failure, reported_failure
from signpost.calling.function_schemas import client_schema
from signpost.calling.lookup import REVALIDATION_INTERVAL
from signpost.content.callers import Caller
from signpost.content.names import INTERNAL_NAMESPACES
from signpost.contract import BreakerState, CallReply, Executor, Failure, HostedFunction, KeptResult, Result
from signpost.mcp.revisions import CLIENT_CAPABILITIES
from signpost.model import InputRequired, Json, JsonObject, Principal
from signpost.schema.validation import check_schema
from signpost.surfaces.functions.bridge_tools import function_of, has_tool_name, tool_name_of
from signpost.surfaces.reply_results import LONGEST_STRUCTURED
from tests.support.function_tools import LEGACY, SHELF, TENANT, YARD, FunctionToolClient, read_text
from tests.support.memory_gateway import META, MODERN, MemoryGateway, build_modern_request

BRIDGE = "/mcp/functions"
OPERATOR = Principal("operator", TENANT, "signpost:operator")


@pytest.fixture(params=[MODERN, LEGACY])
def client(request: pytest.FixtureRequest) -> FunctionToolClient:
    return FunctionToolClient(request.param, BRIDGE)


def test_every_function_and_fetch_are_tools(client: FunctionToolClient) -> None:
    client.host("yard::echo", "a::b::c::d", "plain")
    assert client.list_tool_names() == ["a__b__c__d", "plain", "yard__echo", "skill__fetch"]


def test_a_tool_has_the_description_and_the_schema_of_its_function(client: FunctionToolClient) -> None:
    schema = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
    client.host(HostedFunction("email::send", description="Sends a mail.", input_schema=schema), "plain")
    mail, plain, _ = client.list_tools()
    assert mail == {"name": "email__send", "description": "Sends a mail.", "inputSchema": schema}
    assert plain == {"name": "plain", "description": "", "inputSchema": {"type": "object", "properties": {}}}


@pytest.mark.parametrize(
    ("declared", "shown"),
    [
        (None, {"type": "object", "properties": {}}),
        ({}, {"type": "object"}),
        ({"required": ["a"]}, {"type": "object", "required": ["a"]}),
        ({"properties": {"a": True, "b": False}}, {"type": "object", "properties": {"a": {}, "b": {}}}),
        (
            {"type": "object", "properties": {"a": {"properties": {"b": True}}, "properties": {"type": "string"}}},
            {"type": "object", "properties": {"a": {"properties": {"b": {}}}, "properties": {"type": "string"}}},
        ),
        (
            {"type": ["object", "null"], "additionalProperties": False},
            {"type": "object", "additionalProperties": False},
        ),
    ],
)
def test_a_schema_is_listed_in_the_form_that_clients_accept(declared: JsonObject | None, shown: JsonObject) -> None:
    assert client_schema(declared) == shown
    check_schema(client_schema(declared))


def test_a_call_reaches_its_function_with_its_principal(client: FunctionToolClient) -> None:
    client.host(HostedFunction("yard::echo", permissions=frozenset({"mail"})))
    result = client.call("yard__echo", {"msg": "ahoy"})
    assert result["isError"] is False
    assert json.loads(read_text(result)) == result["structuredContent"] == {"msg": "ahoy"}
    (call,) = client.calls
    assert (call["function"], call["arguments"], call["permissions"]) == ("yard::echo", {"msg": "ahoy"}, ["mail"])
    assert call["principal"]["tenant"] == TENANT
    assert round(call["deadline"] - client.gateway.clock.now()) == 25


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is\n", "as it is\n"),
        ("", ""),
        (None, "null"),
        (5, "5"),
        ([1, "ß"], '[\n  1,\n  "ß"\n]'),
        ({"a": {"b": 1}}, '{\n  "a": {\n    "b": 1\n  }\n}'),
    ],
)
def test_a_result_is_sent_as_one_text(client: FunctionToolClient, value: Json, text: str) -> None:
    client.host("f")
    client.replies["f"] = Result(value)
    result = client.call("f")
    assert read_text(result) == text
    assert ("structuredContent" in result) == isinstance(value, dict)


def test_a_long_object_is_sent_as_text_only(client: FunctionToolClient) -> None:
    client.host("f")
    client.replies["f"] = Result({"a": "x" * LONGEST_STRUCTURED})
    result = client.call("f")
    assert len(read_text(result)) > LONGEST_STRUCTURED
    assert "structuredContent" not in result


def test_an_object_that_is_too_long_to_be_sent_becomes_a_link(client: FunctionToolClient) -> None:
    client.host("f")
    client.replies["f"] = Result({"a": "x" * 4_200_000})
    result = client.call("f")
    assert result["isError"] is False
    assert [content["type"] for content in result["content"]] == ["text", "resource_link"]


def test_a_kept_result_is_sent_as_a_link_to_its_object(client: FunctionToolClient) -> None:
    client.host("f")
    client.replies["f"] = KeptResult("", 6_000_000, "0" * 64)
    result = client.call("f")
    words, link = result["content"]
    assert result["isError"] is False
    assert link["uri"] == f"memory://{client.calls[0]['keepAt']}"
    assert link["uri"] in words["text"]


def test_an_answer_that_is_nested_too_deep_is_an_error_that_names_the_nesting(client: FunctionToolClient) -> None:
    client.host("f")
    value: Json = "end"
    for _ in range(70):
        value = [value]
    client.replies["f"] = Result(value)
    result = client.call("f")
    assert (result["isError"], "nested" in read_text(result)) == (True, True)


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (reported_failure("rate_limited", "The mailbox is full."), "The mailbox is full."),
        (failure("exception", "f"), "f failed unexpectedly."),
        (failure("timed_out", "f"), "f took too long and was stopped."),
        (Failure("reported", "rate_limited", "none", "It is full.", 1_200), "It is full. Try again in 2 s."),
    ],
)
def test_a_failure_is_an_error_result_with_its_message(client: FunctionToolClient, reply: CallReply, says: str) -> None:
    client.host("f")
    client.replies["f"] = reply
    result = client.call("f")
    assert (result["isError"], read_text(result)) == (True, says)
    assert "structuredContent" not in result


def test_a_call_refused_by_an_open_breaker_names_the_pause(client: FunctionToolClient) -> None:
    client.host("f")
    until = client.gateway.clock.now() + 60
    MemoryBreakers(client.gateway.functions).open(TENANT, "f", BreakerState(until, 3, "crashed"))
    result = client.call("f")
    assert (result["isError"], read_text(result).endswith("Try again in 60 s.")) == (True, True)
    assert client.calls == []


def test_a_deleted_executor_is_a_failure_of_the_call(client: FunctionToolClient) -> None:
    client.host("f")
    del client.gateway.executors[YARD.arn]
    assert read_text(client.call("f")) == "The executor of f does not exist any more."


def test_invalid_arguments_are_refused_by_name_before_the_function_is_called(client: FunctionToolClient) -> None:
    client.host(HostedFunction("f", input_schema={"properties": {"n": {"type": "integer"}}, "required": ["n"]}))
    for arguments in ({}, {"n": "1"}):
        result = client.call("f", arguments)
        assert (result["isError"], "`n`" in read_text(result)) == (True, True)
    assert client.calls == []
    assert client.call("f", {"n": 1})["isError"] is False


def test_missing_arguments_are_sent_as_an_empty_object(client: FunctionToolClient) -> None:
    client.host("f")
    for params in ({"name": "f"}, {"name": "f", "arguments": None}):
        assert client.request("tools/call", params)["result"]["isError"] is False
    assert [call["arguments"] for call in client.calls] == [{}, {}]


def test_required_input_is_requested_and_its_answer_returns_to_the_function() -> None:
    client = FunctionToolClient(MODERN, BRIDGE)
    client.host("f")
    form: JsonObject = {"method": "elicitation/create", "params": {"message": "Whom?", "requestedSchema": {
        "type": "object", "properties": {"who": {"type": "string"}},
    }}}  # fmt: skip
    client.replies["f"] = InputRequired({"who": form}, state={"step": 1})
    capabilities: JsonObject = {"elicitation": {}}
    meta: JsonObject = {**META, CLIENT_CAPABILITIES: capabilities}

    def send(params: JsonObject) -> Any:
        message, headers = build_modern_request("tools/call", {"name": "f", "arguments": {}, **params}, meta)
        authorization = {"authorization": f"Bearer {client.key}"}
        body = json.dumps(message)
        return client.gateway.send(path=BRIDGE, body=body, headers={**headers, **authorization}).json["result"]

    asked = send({})
    assert asked["inputRequests"] == {"who": form}
    client.replies["f"] = Result("done")
    answer = {"action": "accept", "content": {"who": "Ana"}}
    done = send({"inputResponses": {"who": answer}, "requestState": asked["requestState"]})
    assert read_text(done) == "done"
    assert (client.calls[-1]["answers"], client.calls[-1]["state"]) == ({"who": answer}, {"step": 1})


AMBIGUOUS = ("w_v2__u::go", "a_::b", "a__b", "a_::_b")


@pytest.mark.parametrize("function", AMBIGUOUS)
def test_a_function_id_with_an_ambiguous_tool_name_is_no_tool(client: FunctionToolClient, function: str) -> None:
    client.host(function, "plain")
    assert client.list_tool_names() == ["plain", "skill__fetch"]
    assert client.is_unknown(tool_name_of(function))
    assert client.calls == []


def test_a_function_id_is_no_tool_name(client: FunctionToolClient) -> None:
    client.host("yard::echo")
    assert client.is_unknown("yard::echo")


IDS = st.lists(st.text("ab_-:.Z", min_size=1, max_size=6), min_size=1, max_size=8).map(
    lambda parts: ["::".join(parts[:size]) for size in range(1, len(parts) + 1)]
)


@given(IDS)
def test_tool_names_are_unique_and_resolve_to_their_functions(ids: Sequence[str]) -> None:
    named = {function for function in ids if has_tool_name(function)}
    assert len({tool_name_of(function) for function in named}) == len(named)
    assert all(function_of(tool_name_of(function)) == function for function in named)
    assert all(function_of(function) in (None, function) for function in named)


@given(st.text("ab_:", max_size=12))
def test_a_name_that_resolves_to_a_function_is_its_tool_name(name: str) -> None:
    function = function_of(name)
    assert function is None or tool_name_of(function) == name


@pytest.mark.invariant(37)
@pytest.mark.parametrize("namespace", INTERNAL_NAMESPACES)
def test_functions_of_internal_namespaces_are_no_tools(client: FunctionToolClient, namespace: str) -> None:
    client.settings.set(TENANT, None, "hidden_prefixes", "other::")  # adds to them and takes nothing away
    client.host(
        HostedFunction(f"{namespace}x", exposed=True), HostedFunction("statement::x"), HostedFunction("skill::x")
    )
    assert client.list_tool_names() == ["skill__x", "statement__x", "skill__fetch"]
    assert client.is_unknown(tool_name_of(f"{namespace}x"))
    assert client.calls == []


@pytest.mark.parametrize("name", ["skills__register", "skills__fetch_skill", "prompts__mcp-get", "manifest__publish"])
def test_functions_of_the_registry_are_no_tools(client: FunctionToolClient, name: str) -> None:
    assert client.is_unknown(name)


def test_fetch_is_served_by_the_registry_even_if_an_executor_hosts_it(client: FunctionToolClient) -> None:
    client.host("skill::fetch")
    assert client.list_tool_names() == ["skill__fetch"]
    assert read_text(client.call("skill__fetch", {"uri": "iii://skills"})).startswith("# iii://skills")
    assert client.calls == []


def test_hidden_prefixes_remove_functions_from_lists_and_refuse_calls(client: FunctionToolClient) -> None:
    client.settings.set(TENANT, None, "hidden_prefixes", "private::, public::draft")
    client.host("private::key", "public::key", "public::draft::x", "public::drafts", "privateer")
    assert client.list_tool_names() == ["privateer", "public__key", "skill__fetch"]
    for name in ("private__key", "public__draft__x", "public__drafts"):
        assert client.is_unknown(name)
    assert client.calls == []


@pytest.mark.invariant(37)
def test_require_expose_limits_lists_and_calls_to_exposed_functions(client: FunctionToolClient) -> None:
    client.settings.set(TENANT, None, "require_expose", 1)
    client.host(HostedFunction("yard::open", exposed=True), HostedFunction("yard::shut"))
    assert client.list_tool_names() == ["yard__open", "skill__fetch"]
    assert client.is_unknown("yard__shut")
    assert client.call("yard__open")["isError"] is False
    assert [call["function"] for call in client.calls] == ["yard::open"]


def test_settings_of_the_deployment_apply_to_tenants_without_their_own() -> None:
    client = FunctionToolClient(MODERN, BRIDGE, REQUIRE_EXPOSE="1", HIDDEN_PREFIXES="private::")
    client.host(
        HostedFunction("private::open", exposed=True),
        HostedFunction("yard::open", exposed=True),
        HostedFunction("yard::shut"),
    )
    assert client.list_tool_names() == ["yard__open", "skill__fetch"]
    assert client.is_unknown("private__open")
    client.settings.set(TENANT, None, "require_expose", 0)
    client.settings.set(TENANT, None, "hidden_prefixes", "")
    client.advance_clock(REVALIDATION_INTERVAL)
    assert client.list_tool_names() == ["private__open", "yard__open", "yard__shut", "skill__fetch"]
    assert client.call("private__open")["isError"] is False


def test_a_hidden_function_still_renders_prompts(client: FunctionToolClient) -> None:
    client.settings.set(TENANT, None, "hidden_prefixes", "yard::")
    client.host("yard::greet")
    client.replies["yard::greet"] = Result("Ahoy!")
    payload: JsonObject = {"name": "greet", "description": "Greet", "function_id": "yard::greet"}
    functions = client.gateway.composition.documents.functions
    functions.call("prompts::register", payload, Caller(TENANT, OPERATOR, client.gateway.clock.now() + 20))
    assert client.request("prompts/get", {"name": "greet"})["result"]["messages"][0]["content"]["text"] == "Ahoy!"


@pytest.mark.invariant(38)
def test_a_placement_is_seen_within_two_seconds(client: FunctionToolClient) -> None:
    client.host("a", "b")
    assert client.list_tool_names() == ["a", "b", "skill__fetch"]
    client.host("b", "c")
    client.advance_clock(REVALIDATION_INTERVAL)
    assert client.list_tool_names() == ["b", "c", "skill__fetch"]
    assert client.is_unknown("a")
    assert client.call("c")["isError"] is False


def test_a_tenant_has_its_own_functions_and_shipped_ones_unless_switched_off(client: FunctionToolClient) -> None:
    client.host(HostedFunction("both", description="own"))
    client.directory.place(None, SHELF, [HostedFunction("both", description="shipped"), HostedFunction("shipped")])
    client.directory.place("acme", Executor("arn:acme", "secret:acme", 1_000), [HostedFunction("theirs")])
    assert [(tool["name"], tool["description"]) for tool in client.list_tools()[:-1]] == [
        ("both", "own"),
        ("shipped", ""),
    ]
    assert client.is_unknown("theirs")
    client.settings.set(TENANT, None, "shipped_content", 0)
    client.advance_clock(REVALIDATION_INTERVAL)
    assert client.list_tool_names() == ["both", "skill__fetch"]
    assert client.is_unknown("shipped")


def test_portable_names_are_listed_on_demand_and_always_callable() -> None:
    client = FunctionToolClient(MODERN, BRIDGE)
    long = f"yard::{'x' * 60}"
    client.host("Yard.v2::Echo", long, "yard::echo")
    message, headers = build_modern_request("tools/list", {})
    answer = client.gateway.send(
        path=BRIDGE,
        body=json.dumps(message),
        headers={**headers, "authorization": f"Bearer {client.key}"},
        query={"names": "portable"},
    )
    names = [tool["name"] for tool in answer.json["result"]["tools"]]
    assert [*names[:2], *names[3:]] == ["yard_v2__echo", "yard__echo", "skill__fetch"]
    assert (names[2].startswith("yard__xxx"), len(names[2])) == (True, 48)
    for name in (*names[:3], tool_name_of(long)):
        assert client.call(name)["isError"] is False
    assert [call["function"] for call in client.calls] == ["Yard.v2::Echo", "yard::echo", long, long]


def test_documents_and_agent_skills_are_served_as_on_the_default_endpoint(client: FunctionToolClient) -> None:
    functions = client.gateway.composition.documents.functions
    caller = Caller(TENANT, OPERATOR, client.gateway.clock.now() + 20)
    functions.call("skills::register", {"id": "span", "skill": "# Span\n\nbody\n"}, caller)
    methods = ["resources/list", "resources/templates/list", "prompts/list"]
    methods += ["skills/list"] if client.version == MODERN else []
    for method in methods:
        assert client.request(method)["result"] == client.request(method, path="/mcp")["result"]
    assert "gateway.home" not in client.list_tool_names()


@pytest.mark.parametrize("endpoint", ["/mcp", BRIDGE])
def test_a_token_for_either_endpoint_is_accepted_at_both(endpoint: str) -> None:
    gateway = MemoryGateway()
    token = gateway.make_token(aud=f"https://gateway.test{endpoint}")
    for path in ("/mcp", BRIDGE):
        assert gateway.request("tools/list", credential=token, path=path).status == 200
    assert (
        gateway.request("tools/list", credential=gateway.make_token(aud="https://gateway.test/"), path=BRIDGE).status
        == 401
    )


def test_a_caller_without_credentials_gets_the_metadata_url_of_the_endpoint() -> None:
    refused = MemoryGateway().send(path=BRIDGE, body="{}", headers={"content-type": "application/json"})
    metadata = "https://gateway.test/.well-known/oauth-protected-resource/mcp/functions"
    assert (refused.status, metadata in refused.headers["www-authenticate"]) == (401, True)
