"""What both eras of clients are answered. Every result is also held against the official models."""

import json
from typing import Any

import pytest

from signpost.mcp.revisions import CLIENT_CAPABILITIES, LEGACY_VERSIONS, PROTOCOL_VERSION
from signpost.mcp.surface import Surface
from signpost.model import JsonObject, as_object
from signpost.surfaces.gateway.tool_specs import GATEWAY_TOOLS
from signpost.wiring.endpoints import build_gateway_surface
from stage.samples import STATIC_TEXT, TENANT
from tests.support.fixture_provider import add_fixtures
from tests.support.fixture_tools import BEHAVIOURS
from tests.support.memory_gateway import META, MODERN, GatewayAnswer, MemoryGateway, build_modern_request
from tests.support.oracle import check_answer, parse_messages

NAMES = [tool.name for tool in GATEWAY_TOOLS]


class RevisionClient:
    """Speaks one revision of the protocol to a gateway in memory."""

    def __init__(self, version: str, tenant: str = "default") -> None:
        self.gateway = MemoryGateway()
        self.gateway.serve_surface(add_fixtures(build_gateway_surface(self.gateway.composition)))
        self.version = version
        self._authorization = {"authorization": f"Bearer {self.gateway.make_key(tenant)}"}

    def ask(self, method: str, params: JsonObject | None = None) -> Any:
        answer = self.send(method, params)
        assert answer.status == 200, answer.text
        return answer.json["result"]

    def send(self, method: str, params: JsonObject | None = None) -> GatewayAnswer:
        if self.version == MODERN:
            message, headers = build_modern_request(method, params or {})
        else:
            message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
            headers = {"mcp-protocol-version": self.version, "content-type": "application/json"}
        answer = self.post(json.dumps(message), headers)
        check_answer(
            method, self.version, as_object(message["params"]), parse_messages(answer.headers, answer.text)[-1]
        )
        return answer

    def post(self, body: str | bytes, headers: dict[str, str]) -> GatewayAnswer:
        return self.gateway.send(body=body, headers={**headers, **self._authorization})


@pytest.fixture(params=[MODERN, *LEGACY_VERSIONS])
def client(request: pytest.FixtureRequest) -> RevisionClient:
    return RevisionClient(request.param)


@pytest.fixture(params=[MODERN, *LEGACY_VERSIONS])
def fixtures_client(request: pytest.FixtureRequest) -> RevisionClient:
    return RevisionClient(request.param, TENANT)


@pytest.fixture
def modern_client() -> RevisionClient:
    return RevisionClient(MODERN)


@pytest.fixture(params=LEGACY_VERSIONS)
def legacy_client(request: pytest.FixtureRequest) -> RevisionClient:
    return RevisionClient(request.param)


def test_the_tools_are_listed_to_every_client(client: RevisionClient) -> None:
    assert [tool["name"] for tool in client.ask("tools/list")["tools"]] == NAMES


def test_every_client_can_call_home(client: RevisionClient) -> None:
    result = client.ask("tools/call", {"name": "gateway.home", "arguments": {}})
    assert json.loads(result["content"][0]["text"])["items"] == []


def test_structured_results_are_sent_from_revision_2025_06_18_on(client: RevisionClient) -> None:
    result = client.ask("tools/call", {"name": "gateway.home", "arguments": {}})
    assert ("structuredContent" in result) == (client.version >= "2025-06-18")


def test_the_fixtures_are_seen_by_their_tenant_only(fixtures_client: RevisionClient) -> None:
    names = [tool["name"] for tool in fixtures_client.ask("tools/list")["tools"]]
    assert names == [*NAMES, *BEHAVIOURS]
    ours = RevisionClient(fixtures_client.version)
    assert "test_simple_text" not in ours.send("tools/list").text


def test_resources_are_listed_read_and_described_by_template(fixtures_client: RevisionClient) -> None:
    assert STATIC_TEXT in [resource["uri"] for resource in fixtures_client.ask("resources/list")["resources"]]
    assert "static text" in fixtures_client.ask("resources/read", {"uri": STATIC_TEXT})["contents"][0]["text"]
    templates = fixtures_client.ask("resources/templates/list")["resourceTemplates"]
    assert "test://template/{id}/data" in [template["uriTemplate"] for template in templates]


def test_prompts_are_listed_and_rendered(fixtures_client: RevisionClient) -> None:
    assert fixtures_client.ask("prompts/list")["prompts"][-1]["name"] == "test_prompt"
    rendered = fixtures_client.ask("prompts/get", {"name": "test_prompt", "arguments": {"name": "author"}})
    assert rendered["messages"][0]["content"]["text"] == "Greet author."


def test_arguments_are_completed(fixtures_client: RevisionClient) -> None:
    asked = {"ref": {"type": "ref/prompt", "name": "test_prompt"}, "argument": {"name": "name", "value": "a"}}
    found = fixtures_client.ask("completion/complete", asked)
    assert found["completion"]["values"] == ["author", "approver"]


@pytest.mark.invariant(14)
def test_discovery_lists_exactly_the_served_capabilities(modern_client: RevisionClient) -> None:
    result = modern_client.ask("server/discover")
    assert result["supportedVersions"] == [MODERN]
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "signpost"
    plain = MemoryGateway().request("server/discover").json["result"]
    assert plain["capabilities"] == {
        "tools": {},
        "resources": {},
        "prompts": {},
        "completions": {},
        "extensions": {"io.modelcontextprotocol/skills": {"directoryRead": True}},
    }


def test_lists_are_private_and_fresh_for_two_seconds(modern_client: RevisionClient) -> None:
    result = modern_client.ask("tools/list")
    assert (result["ttlMs"], result["cacheScope"], result["resultType"]) == (2000, "private", "complete")


@pytest.mark.parametrize("requested", LEGACY_VERSIONS)
def test_initialize_agrees_to_a_supported_revision(requested: str) -> None:
    result = RevisionClient(requested).ask("initialize", initialization(requested))
    assert result["protocolVersion"] == requested


@pytest.mark.parametrize("requested", ["2026-07-28", "1999-01-01"])
def test_initialize_offers_the_newest_revision_with_initialize(requested: str) -> None:
    result = RevisionClient(LEGACY_VERSIONS[0]).ask("initialize", initialization(requested))
    assert result["protocolVersion"] == LEGACY_VERSIONS[0]


def initialization(version: str) -> JsonObject:
    return {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@pytest.mark.invariant(15)
def test_no_session_is_ever_opened(legacy_client: RevisionClient) -> None:
    answer = legacy_client.send("initialize", initialization(legacy_client.version))
    assert "mcp-session-id" not in answer.headers


def test_a_legacy_client_can_ping(legacy_client: RevisionClient) -> None:
    assert legacy_client.ask("ping") == {}


@pytest.mark.parametrize("method", ["initialize", "ping", "logging/setLevel", "resources/subscribe", "nonsense"])
def test_a_method_missing_in_the_newest_revision_is_404(modern_client: RevisionClient, method: str) -> None:
    answer = modern_client.send(method)
    assert (answer.status, answer.json["error"]["code"]) == (404, -32601)


def test_a_log_level_of_a_legacy_client_is_accepted_and_not_kept(legacy_client: RevisionClient) -> None:
    assert "logging" not in legacy_client.ask("initialize", initialization(legacy_client.version))["capabilities"]
    assert legacy_client.ask("logging/setLevel", {"level": "debug"}) == {}
    assert legacy_client.send("logging/setLevel", {"level": "loud"}).json["error"]["code"] == -32602


@pytest.mark.parametrize("method", ["server/discover", "resources/subscribe", "nonsense"])
def test_a_method_missing_in_a_legacy_revision_is_a_200_with_an_error(
    legacy_client: RevisionClient, method: str
) -> None:
    answer = legacy_client.send(method)
    assert (answer.status, answer.json["error"]["code"]) == (200, -32601)


@pytest.mark.invariant(14)
def test_a_method_without_a_provider_does_not_exist() -> None:
    gateway = MemoryGateway(Surface(name="bare", instructions=""))
    for method in ("tools/list", "resources/list", "prompts/list", "completion/complete"):
        answer = gateway.request(method)
        assert (answer.status, answer.json["error"]["code"]) == (404, -32601)


def test_an_unknown_tool_is_an_invalid_parameter(client: RevisionClient) -> None:
    answer = client.send("tools/call", {"name": "gateway.hom", "arguments": {}})
    assert answer.json["error"]["code"] == -32602
    assert answer.status == (400 if client.version == MODERN else 200)


def test_an_unknown_resource_is_an_error_with_its_uri(client: RevisionClient) -> None:
    error = client.send("resources/read", {"uri": "test://nothing"}).json["error"]
    assert error["data"] == {"uri": "test://nothing"}
    assert error["code"] == (-32602 if client.version == MODERN else -32002)


def test_an_invented_cursor_is_an_invalid_parameter(client: RevisionClient) -> None:
    assert client.send("tools/list", {"cursor": ""}).json["error"]["code"] == -32602


def test_a_notification_is_answered_with_an_empty_202(client: RevisionClient) -> None:
    body = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
    answer = client.post(body, {"mcp-protocol-version": client.version})
    assert (answer.status, answer.text) == (202, "")
    assert "content-type" not in answer.headers


NO = {"code": -32603, "message": "No."}


@pytest.mark.parametrize(
    ("response", "status"),
    [
        ({"id": 1, "result": {}}, 202),
        ({"id": "a", "error": NO}, 202),
        ({"id": None, "error": NO}, 202),
        ({"result": {}}, 400),
        ({"id": None, "result": {}}, 400),
        ({"id": [], "result": {}}, 400),
        ({"error": NO}, 400),
        ({"id": True, "error": NO}, 400),
    ],
)
def test_a_posted_response_is_accepted_only_with_a_valid_id(
    modern_client: RevisionClient, response: dict[str, Any], status: int
) -> None:
    answer = modern_client.post(json.dumps({"jsonrpc": "2.0", **response}), {"mcp-protocol-version": "2025-06-18"})
    assert answer.status == status, answer.text


def test_a_request_without_a_version_is_served_as_the_oldest_http_revision(modern_client: RevisionClient) -> None:
    answer = modern_client.post('{"jsonrpc":"2.0","id":"a","method":"tools/list"}', {})
    assert (answer.status, answer.json["id"]) == (200, "a")
    assert "resultType" not in answer.json["result"]


def test_a_batch_is_answered_only_in_revisions_with_batches(modern_client: RevisionClient) -> None:
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    batch = [listing, {"jsonrpc": "2.0", "method": "notifications/x"}, {**listing, "id": 2, "method": "ping"}]
    answer = modern_client.post(json.dumps(batch), {})
    assert [part["id"] for part in answer.json] == [1, 2]
    refused = modern_client.post(json.dumps(batch), {"mcp-protocol-version": "2025-06-18"})
    assert (refused.status, refused.json["error"]["code"]) == (400, -32600)


@pytest.mark.invariant(20)
def test_a_failed_message_does_not_change_other_answers_of_its_batch() -> None:
    crash = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "test_crash"}}
    batch = [{"jsonrpc": "2.0", "id": 1, "method": "ping"}, crash, {"jsonrpc": "2.0", "id": 3, "method": "ping"}]
    first, failed, last = RevisionClient(MODERN, TENANT).post(json.dumps(batch), {}).json
    assert (first, last) == ({"jsonrpc": "2.0", "id": 1, "result": {}}, {"jsonrpc": "2.0", "id": 3, "result": {}})
    assert (failed["id"], failed["error"]["code"]) == (2, -32603)


@pytest.mark.parametrize("size", [0, 51])
def test_an_empty_or_too_long_batch_is_refused(modern_client: RevisionClient, size: int) -> None:
    batch = [{"jsonrpc": "2.0", "id": number, "method": "ping"} for number in range(size)]
    assert modern_client.post(json.dumps(batch), {}).json["error"]["code"] == -32600


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"mcp-protocol-version": "2025-11-25"}, -32020),
        ({"mcp-method": "tools/list"}, -32020),
        ({"mcp-method": None}, -32020),
        ({"mcp-protocol-version": None}, -32020),
        ({"mcp-name": "gateway.search"}, -32020),
        ({"mcp-name": "=?base64?%%%?="}, -32020),
        ({"mcp-name": "=?base64?é?="}, -32020),
        ({"mcp-name": "=?base64?gA==?="}, -32020),
        ({"mcp-name": "=?base64?Z2F0ZXdheS5ob21l?="}, None),
        ({"mcp-name": "  gateway.home\t"}, None),
        ({"Mcp-Method": "tools/call", "mcp-method": None}, None),
    ],
)
def test_headers_and_body_must_agree(
    modern_client: RevisionClient, change: dict[str, str | None], code: int | None
) -> None:
    message, headers = build_modern_request("tools/call", {"name": "gateway.home", "arguments": {}})
    merged = {name: value for name, value in {**headers, **change}.items() if value is not None}
    answer = modern_client.post(json.dumps(message), merged)
    assert answer.json.get("error", {}).get("code") == code
    assert answer.status == (200 if code is None else 400)


def test_an_unsupported_revision_is_refused_with_the_supported_ones(modern_client: RevisionClient) -> None:
    message, headers = build_modern_request("tools/list", {})
    body = json.dumps(message).replace(MODERN, "2099-01-01")
    answer = modern_client.post(body, {**headers, "mcp-protocol-version": "2099-01-01"})
    assert (answer.status, answer.json["error"]["code"]) == (400, -32022)
    assert answer.json["error"]["data"] == {"supported": [MODERN], "requested": "2099-01-01"}


@pytest.mark.parametrize("missing", [PROTOCOL_VERSION, CLIENT_CAPABILITIES])
def test_an_incomplete_envelope_is_refused(modern_client: RevisionClient, missing: str) -> None:
    meta = {name: value for name, value in META.items() if name != missing}
    message, headers = build_modern_request("tools/list", {}, meta)
    answer = modern_client.post(json.dumps(message), headers)
    assert (answer.status, answer.json["error"]["code"]) == (400, -32602)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": 7}),
        ("tools/call", {"name": "gateway.home", "arguments": []}),
        ("resources/read", {}),
        ("prompts/get", {"name": "test_prompt", "arguments": {"name": 7}}),
        ("prompts/get", {"name": "test_prompt", "arguments": []}),
        ("prompts/get", {"name": "nothing"}),
        ("completion/complete", {}),
        ("completion/complete", {"ref": {}, "argument": {"name": "name"}}),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "nothing"}, "argument": {"name": "a", "value": ""}},
        ),
    ],
)
def test_invalid_parameters_are_refused(legacy_client: RevisionClient, method: str, params: JsonObject) -> None:
    assert legacy_client.send(method, params).json["error"]["code"] == -32602


@pytest.mark.parametrize("trace", [7, "", "00-xyz-abc-01", "00-" + "0" * 32])
def test_an_invalid_trace_is_ignored(modern_client: RevisionClient, trace: object) -> None:
    message, headers = build_modern_request("tools/list", {}, {**META, "traceparent": trace})  # pyright: ignore[reportArgumentType] - that it is no text is the point
    assert modern_client.post(json.dumps(message), headers).status == 200


@pytest.mark.invariant(12)
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"\xef\xbb\xbf{}", -32700),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700),
        (b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', -32700),
        (b'{"jsonrpc":"2.0","id":"\\uDFFF\\uD800","method":"ping"}', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"\\udc00":1}}', -32700),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', -32700),
        (b"[" * 100_000, -32700),
        (b"null", -32600),
        (b'"text"', -32600),
        (b"{}", -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
    ],
)
def test_a_malformed_message_gets_a_defined_answer(modern_client: RevisionClient, body: bytes, code: int) -> None:
    answer = modern_client.post(body, {})
    assert (answer.status, answer.json["error"]["code"]) == (400, code)


def test_a_whole_surrogate_pair_is_accepted(modern_client: RevisionClient) -> None:
    answer = modern_client.post(b'{"jsonrpc":"2.0","id":"\\ud83d\\ude80","method":"ping"}', {})
    assert (answer.status, answer.json["id"]) == (200, "\N{ROCKET}")


def test_a_response_without_a_request_is_accepted_and_dropped(modern_client: RevisionClient) -> None:
    assert modern_client.post('{"jsonrpc":"2.0","id":1,"result":{}}', {}).status == 202
