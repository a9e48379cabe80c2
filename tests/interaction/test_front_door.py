"""The request pipeline, in the order in which a request meets it."""

import json
import time
from collections.abc import Mapping, Sequence
from math import inf

import pytest

from local.http_api import REMAPPED
from signpost.adapters.memory import FunctionTable, MemoryApiKeys, MemoryContentStore, MemoryRevisionRows
from signpost.adapters.memory.deployment_lists import MemoryDeploymentLists
from signpost.deployment_lists import DeploymentLists
from signpost.entrypoints.http.front_door import LARGEST_BODY
from signpost.entrypoints.http.request import parse_event
from signpost.errors import Unavailable
from signpost.identity.credentials import ApiKey
from signpost.mcp.revisions import CLIENT_INFO
from signpost.mcp.surface import Surface
from signpost.model import Call, CallToolResult, CatalogueItem, JsonObject, Tool
from signpost.settings import ENDPOINTS
from stage.samples import TENANT
from tests.support.fixture_provider import FixtureProvider
from tests.support.memory_gateway import META, MemoryGateway, build_modern_request
from tests.support.slowdown import shortest
from tests.support.tokens import ISSUER


@pytest.fixture
def gateway() -> MemoryGateway:
    return MemoryGateway()


def test_health_is_answered_without_configuration_or_credentials() -> None:
    answer = MemoryGateway(AUTH_MODE="none").send("GET", "/health", headers={"origin": "https://evil.test"})
    assert answer.status == 200
    assert answer.json == {"status": "ok", "version": "0.1.0", "configured": False}


@pytest.mark.invariant(2)
@pytest.mark.parametrize("path", ["/mcp", "/.well-known/oauth-protected-resource", "/.well-known/anything"])
def test_only_health_is_served_without_configured_authentication(path: str) -> None:
    answer = MemoryGateway(AUTH_MODE="none").send("POST", path)
    assert (answer.status, answer.json["error"]["data"]["reason"]) == (503, "not_configured")


@pytest.mark.parametrize(
    ("suffix", "endpoint"),
    [("", "/mcp"), ("/mcp", "/mcp"), ("/mcp/flat", "/mcp/flat"), ("/mcp/functions", "/mcp/functions")],
)
def test_the_resource_metadata_of_each_endpoint_names_the_endpoint(
    gateway: MemoryGateway, suffix: str, endpoint: str
) -> None:
    answer = gateway.send("GET", f"/.well-known/oauth-protected-resource{suffix}")
    assert answer.status == 200
    assert answer.json["resource"] == f"https://gateway.test{endpoint}"
    assert answer.json["authorization_servers"] == [ISSUER]


def test_without_an_issuer_there_is_no_resource_metadata() -> None:
    answer = MemoryGateway(AUTH_MODE="api-key").send("GET", "/.well-known/oauth-protected-resource")
    assert answer.status == 404


@pytest.mark.parametrize(
    "path", ["/.well-known/openid-configuration", "/.well-known/oauth-protected-resource/x", "/.well-known/mcp"]
)
def test_other_well_known_documents_are_not_found(gateway: MemoryGateway, path: str) -> None:
    assert gateway.send("GET", path).status == 404


@pytest.mark.invariant(110)
@pytest.mark.parametrize("path", ["/", "/other", "/sse", "/MCP", "/mcp//", "//mcp", "/mcp/other", "/mcp/flat/x"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_path_without_an_endpoint_is_not_found_and_names_the_endpoints(
    gateway: MemoryGateway, method: str, path: str
) -> None:
    answer = gateway.send(method, path)
    assert (answer.status, answer.json["error"]["data"]["reason"]) == (404, "not_found")
    for endpoint in ENDPOINTS:
        assert f"https://gateway.test{endpoint}" in answer.json["error"]["message"]


@pytest.mark.invariant(110)
@pytest.mark.parametrize("path", ["/mcp", "/mcp/flat", "/mcp/functions"])
def test_an_endpoint_with_a_slash_at_its_end_answers_as_without(gateway: MemoryGateway, path: str) -> None:
    message, headers = build_modern_request("tools/list", {})
    authorized = {**headers, "authorization": f"Bearer {gateway.make_key()}"}
    listed = gateway.send(path=f"{path}/", body=json.dumps(message), headers=authorized)
    assert listed.status == 200, listed.text
    assert listed.json == gateway.send(path=path, body=json.dumps(message), headers=authorized).json
    challenge = gateway.send("GET", f"{path}/").headers["www-authenticate"]
    assert challenge == gateway.send("GET", path).headers["www-authenticate"]


@pytest.mark.invariant(110)
@pytest.mark.parametrize(
    "path",
    [
        "/health",
        "/metrics",
        "/.well-known/oauth-protected-resource",
        *(f"/.well-known/oauth-protected-resource{endpoint}" for endpoint in ENDPOINTS),
    ],
)
def test_a_document_with_a_slash_at_the_end_of_its_path_is_the_same(gateway: MemoryGateway, path: str) -> None:
    headers = {"authorization": f"Bearer {gateway.make_key()}"}
    answer = gateway.send("GET", f"{path}/", headers=headers)
    assert answer.status == 200, answer.text
    assert answer.headers == gateway.send("GET", path, headers=headers).headers
    assert answer.text == gateway.send("GET", path, headers=headers).text


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD", "PATCH"])
def test_another_method_than_post_is_refused_to_a_caller(gateway: MemoryGateway, method: str) -> None:
    answer = gateway.send(method, headers={"authorization": f"Bearer {gateway.make_key()}"})
    assert (answer.status, answer.headers["allow"]) == (405, "POST, OPTIONS")


@pytest.mark.invariant(111)
@pytest.mark.parametrize(
    "authorization",
    [{}, *({"authorization": value} for value in ("Bearer sk_wrong", "Bearer", "Bearer a.b.c", "Basic dTpw", ""))],
    ids=["none", "wrong key", "no credential", "wrong token", "another scheme", "empty"],
)
@pytest.mark.parametrize("path", [*ENDPOINTS, *(f"{endpoint}/" for endpoint in ENDPOINTS), "/metrics", "/metrics/"])
@pytest.mark.parametrize(
    ("method", "headers", "body"),
    [
        *((method, {}, b"") for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")),
        ("POST", {"content-type": "text/plain"}, b"text"),
        ("POST", {}, b" " * (LARGEST_BODY + 1)),
    ],
)
def test_a_request_without_a_valid_credential_is_challenged_whatever_it_is(
    gateway: MemoryGateway,
    method: str,
    headers: Mapping[str, str],
    body: bytes,
    path: str,
    authorization: Mapping[str, str],
) -> None:
    """Clients that fall back to server-sent events, or that try paths, find the way to a token at the first answer."""
    answer = gateway.send(method, path, headers={**headers, **authorization}, body=body)
    assert answer.status == 401
    assert "resource_metadata=" in answer.headers["www-authenticate"]


def test_a_preflight_from_an_allowed_page_is_granted(gateway: MemoryGateway) -> None:
    answer = gateway.send("OPTIONS", headers={"origin": "https://page.test"})
    assert answer.status == 204
    assert answer.headers["access-control-allow-origin"] == "https://page.test"
    assert "Authorization" in answer.headers["access-control-allow-headers"]


def test_a_preflight_from_another_page_is_refused(gateway: MemoryGateway) -> None:
    answer = gateway.send("OPTIONS", headers={"origin": "https://evil.test"})
    assert answer.status == 403
    assert "access-control-allow-origin" not in answer.headers


def test_an_allowed_page_can_read_the_challenge(gateway: MemoryGateway) -> None:
    answer = gateway.send(headers={"origin": "https://page.test"})
    assert answer.status == 401
    assert answer.headers["access-control-expose-headers"] == "WWW-Authenticate"


def test_a_preflight_from_the_address_of_the_gateway_is_granted(gateway: MemoryGateway) -> None:
    assert gateway.send("OPTIONS", headers={"origin": "https://gateway.test"}).status == 204


@pytest.fixture
def gateway_with_list() -> MemoryGateway:
    """Return a gateway with a hundred origins in its table."""
    gateway = MemoryGateway(HAS_MORE_ORIGINS="1")
    gateway.deployment_lists.write(DeploymentLists(origins=[f"https://page-{number}.test/" for number in range(100)]))
    return gateway


@pytest.mark.invariant(107)
def test_pages_of_the_list_in_the_table_are_allowed_and_no_others(gateway_with_list: MemoryGateway) -> None:
    answer = gateway_with_list.send("OPTIONS", headers={"origin": "https://page-99.test"})
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (204, "https://page-99.test")
    assert gateway_with_list.send("OPTIONS", headers={"origin": "https://page.test"}).status == 204
    assert gateway_with_list.send("OPTIONS", headers={"origin": "https://page-100.test"}).status == 403


def test_a_changed_list_of_pages_takes_effect_within_ten_seconds(gateway_with_list: MemoryGateway) -> None:
    assert gateway_with_list.send("OPTIONS", headers={"origin": "https://new.test"}).status == 403
    gateway_with_list.deployment_lists.write(DeploymentLists(origins=["https://new.test"]))
    assert gateway_with_list.send("OPTIONS", headers={"origin": "https://new.test"}).status == 403
    gateway_with_list.clock.advance(10)
    assert gateway_with_list.send("OPTIONS", headers={"origin": "https://new.test"}).status == 204
    assert gateway_with_list.send("OPTIONS", headers={"origin": "https://page-99.test"}).status == 403


class UnreadableLists(MemoryDeploymentLists):
    def __init__(self, fault: Exception | None = None) -> None:
        super().__init__()
        self.reads = 0
        self._fault = fault or Unavailable("Overloaded.")

    def read(self) -> DeploymentLists:
        self.reads += 1
        raise self._fault


def test_while_the_list_cannot_be_read_only_requests_that_need_it_are_put_off() -> None:
    gateway = MemoryGateway(HAS_MORE_ORIGINS="1")
    gateway.deployment_lists = UnreadableLists()
    assert gateway.send("OPTIONS", headers={"origin": "https://page.test"}).status == 204
    assert gateway.send().status == 401
    answer = gateway.send("OPTIONS", headers={"origin": "https://page-99.test"})
    assert (answer.status, "access-control-allow-origin" in answer.headers) == (503, False)


@pytest.mark.parametrize(
    ("fault", "status"), [(Unavailable("Overloaded."), 503), (PermissionError("Denied."), 500)], ids=["busy", "broken"]
)
def test_a_list_that_cannot_be_read_is_read_once_for_a_request(fault: Exception, status: int) -> None:
    gateway = MemoryGateway(HAS_MORE_ORIGINS="1")
    gateway.deployment_lists = lists = UnreadableLists(fault)
    answer = gateway.send(headers={"origin": "https://page-99.test"})
    assert (answer.status, "access-control-allow-origin" in answer.headers, lists.reads) == (status, False, 1)


def test_a_stack_without_a_list_never_reads_it() -> None:
    gateway = MemoryGateway()
    gateway.deployment_lists = lists = UnreadableLists()
    assert gateway.send("OPTIONS", headers={"origin": "https://evil.test"}).status == 403
    assert lists.reads == 0


def test_a_body_one_byte_over_the_limit_is_refused(gateway: MemoryGateway) -> None:
    authorization = {"authorization": f"Bearer {gateway.make_key()}"}
    assert gateway.send(body=b" " * LARGEST_BODY, headers=authorization).status == 400
    answer = gateway.send(body=b" " * (LARGEST_BODY + 1), headers=authorization)
    assert (answer.status, answer.json["error"]["data"]["reason"]) == (413, "too_large")


@pytest.mark.invariant(13)
def test_a_fault_is_answered_without_details_and_logged_without_arguments(
    capsys: pytest.CaptureFixture[str],
) -> None:
    gateway = MemoryGateway(Surface("test", "", tools=(FixtureProvider(),)))
    key = gateway.make_key(TENANT)
    answer = gateway.request(
        "tools/call", {"name": "test_crash", "arguments": {"password": "hunter2"}}, credential=str(key)
    )
    assert answer.json["id"] == 1
    assert answer.json["error"]["code"] == -32603
    assert "request-1" in answer.json["error"]["message"]
    printed = capsys.readouterr().out
    failed = next(line for line in map(json.loads, printed.splitlines()) if line.get("message") == "failed")
    assert (failed["fault"], failed["request_id"]) == ("RuntimeError", "request-1")
    assert failed["frames"][-1].endswith(" _crash")
    assert "hunter2" not in printed + answer.text
    assert key.secret not in printed


def test_every_request_is_logged_with_id_caller_and_trace(capsys: pytest.CaptureFixture[str]) -> None:
    gateway = MemoryGateway()
    trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"
    traced: JsonObject = {**META, "traceparent": f"00-{trace_id}-00f067aa0ba902b7-01"}
    message, headers = build_modern_request("tools/list", {}, traced)
    authorization = {"authorization": f"Bearer {gateway.make_token(sub='somebody')}"}
    gateway.send(body=json.dumps(message), headers={**headers, **authorization})
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    answered = next(line for line in lines if line.get("message") == "answered")
    assert answered["request_id"] == "request-1"
    assert (answered["principal"], answered["tenant"]) == ("somebody", "default")
    assert (answered["trace_id"], answered["operation"], answered["status"]) == (trace_id, "tools/list", 200)


@pytest.mark.parametrize(
    ("info", "logged"),
    [
        ({"name": "a-host", "version": "1.2"}, "a-host 1.2"),
        ({"name": "n" * 1_000, "version": 7}, "n" * 64),
        ({"name": ["a"]}, None),
        ({}, None),
    ],
)
def test_every_request_is_logged_with_the_name_of_its_client(
    capsys: pytest.CaptureFixture[str], info: JsonObject, logged: str | None
) -> None:
    gateway = MemoryGateway()
    authorization = {"authorization": f"Bearer {gateway.make_token(sub='somebody')}"}
    modern, headers = build_modern_request("tools/list", {}, {**META, CLIENT_INFO: info})
    params: JsonObject = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    legacy: JsonObject = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    gateway.send(body=json.dumps(modern), headers={**headers, **authorization})
    gateway.send(body=json.dumps(legacy), headers=authorization)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    answered = [line for line in lines if line.get("message") == "answered"]
    assert [line.get("client") for line in answered] == [logged] * 2


def test_metrics_have_the_dimensions_service_operation_and_outcome(capsys: pytest.CaptureFixture[str]) -> None:
    MemoryGateway().request("tools/list")
    emf = next(line for line in map(json.loads, capsys.readouterr().out.splitlines()) if "_aws" in line)
    (metrics,) = emf["_aws"]["CloudWatchMetrics"]
    assert sorted(metrics["Dimensions"][0]) == ["operation", "outcome", "service"]
    assert (emf["operation"], emf["outcome"]) == ("tools/list", "answered")
    assert (metrics["Namespace"], emf["Calls"]) == ("Signpost", [1.0])


def test_log_fields_of_one_request_are_not_in_the_log_of_the_next(capsys: pytest.CaptureFixture[str]) -> None:
    gateway = MemoryGateway()
    gateway.request("tools/list")
    capsys.readouterr()
    gateway.send("GET", "/health")
    answered = json.loads(capsys.readouterr().out.splitlines()[0])
    assert "principal" not in answered or answered["principal"] is None
    assert answered["operation"] == "none"


LONG = 5.0
"""Seconds."""


class SlowProvider:
    """A provider whose every answer takes longer than anybody waits."""

    def tools(self, call: Call) -> Sequence[Tool]:
        del call
        time.sleep(LONG)
        return ()

    def tool(self, name: str, call: Call) -> Tool | None:
        del call
        return Tool(name, "Takes its time.", {"type": "object"})

    def call_tool(self, tool: Tool, arguments: JsonObject, call: Call) -> CallToolResult:
        del tool, arguments, call
        return CallToolResult([{"type": "text", "text": "half a pair: \ud800"}])


@pytest.mark.invariant(19)
def test_a_request_past_its_deadline_is_answered_with_503() -> None:
    gateway = MemoryGateway(Surface("test", "", tools=(SlowProvider(),)))
    message, headers = build_modern_request("tools/list", {})
    authorization = {"authorization": f"Bearer {gateway.make_key()}"}

    def seconds_to_answer() -> float:
        began = time.monotonic()
        answer = gateway.send(body=json.dumps(message), headers={**headers, **authorization}, remaining_ms=1_200)
        took = time.monotonic() - began
        assert (answer.status, answer.json["error"]["data"]["reason"]) == (503, "deadline")
        assert answer.headers["retry-after"] == "5"
        return took if took < LONG - 1 else inf

    assert shortest(seconds_to_answer, 1) < 1


def test_half_a_surrogate_pair_in_a_result_is_returned_unchanged() -> None:
    answer = MemoryGateway(Surface("test", "", tools=(SlowProvider(),))).request("tools/call", {"name": "any"})
    assert answer.json["result"]["content"][0]["text"] == "half a pair: \ud800"


class BrokenContentStore(MemoryContentStore):
    def versions(self, tenant: str) -> tuple[int, int, str | None, str | None]:
        del tenant
        raise Unavailable("An AWS service that this request needs cannot be reached.")


class BrokenKeys(MemoryApiKeys):
    def find(self, tenant: str, key_id: str) -> ApiKey | None:
        del tenant, key_id
        raise self.fault

    fault: Exception = Unavailable("An AWS service that this request needs cannot be reached.")


def test_an_unavailable_service_is_a_503_with_the_id_of_the_message() -> None:
    gateway = MemoryGateway()
    gateway.replace_adapters(revisions=MemoryRevisionRows(BrokenContentStore(FunctionTable())))
    answer = gateway.request("tools/call", {"name": "gateway.home", "arguments": {}})
    assert (answer.status, answer.json["id"], answer.json["error"]["code"]) == (503, 1, -32603)


@pytest.mark.parametrize(("fault", "status"), [(BrokenKeys.fault, 503), (RuntimeError("hunter2"), 500)])
def test_a_fault_before_authentication_is_answered_without_details(fault: Exception, status: int) -> None:
    gateway = MemoryGateway()
    keys = BrokenKeys()
    keys.fault = fault
    key = gateway.make_key()
    gateway.replace_adapters(api_keys=keys)
    answer = gateway.request("tools/list", credential=str(key))
    assert (answer.status, answer.json["id"]) == (status, None)
    assert "hunter2" not in answer.text


def offer_long_catalogue(gateway: MemoryGateway) -> None:
    items = [CatalogueItem(f"item.{number:03}", "capability", "Ünïcode " * 20) for number in range(200)]
    gateway.store_catalogue("default", *items)


def find_unprotected(headers: Mapping[str, str]) -> Sequence[str]:
    """The protective headers that an answer over https lacks."""
    expected = {"x-content-type-options": "nosniff", "strict-transport-security": "max-age=31536000"}
    missing = [name for name, value in expected.items() if headers.get(name) != value]
    return missing if headers.get("cache-control") in ("no-store", "max-age=300") else [*missing, "cache-control"]


@pytest.mark.invariant(76)
@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/health", {}, 200),
        ("GET", "/.well-known/oauth-protected-resource", {}, 200),
        ("GET", "/.well-known/anything", {}, 404),
        ("POST", "/other", {}, 404),
        ("GET", "/mcp", {}, 401),
        ("OPTIONS", "/mcp", {"origin": "https://page.test"}, 204),
        ("POST", "/mcp", {"origin": "https://evil.test"}, 403),
        ("POST", "/mcp", {}, 401),
        ("GET", "/metrics", {}, 401),
    ],
)
def test_every_answer_before_authentication_has_the_protective_headers(
    gateway: MemoryGateway, method: str, path: str, headers: Mapping[str, str], status: int
) -> None:
    answer = gateway.send(method, path, headers=headers)
    assert (answer.status, find_unprotected(answer.headers)) == (status, [])
    renamed = {"www-authenticate"} if status == 401 else set[str]()
    assert REMAPPED & answer.headers.keys() == renamed


@pytest.mark.invariant(76)
def test_every_answer_to_an_authenticated_caller_may_not_be_stored() -> None:
    gateway = MemoryGateway(Surface("test", "", tools=(FixtureProvider(),)))
    key = str(gateway.make_key(TENANT))
    authorization = {"authorization": f"Bearer {key}"}
    params: JsonObject = {"name": "test_tool_with_progress", "arguments": {}}
    message, headers = build_modern_request("tools/call", params, {**META, "progressToken": "p"})
    stream = gateway.send(body=json.dumps(message), headers={**headers, **authorization, "accept": "text/event-stream"})
    assert stream.headers["content-type"] == "text/event-stream"
    answers = [
        stream,
        gateway.request("tools/list", credential=key),
        gateway.request("tools/call", {"name": "test_crash", "arguments": {}}, credential=key),
        gateway.send(body="{", headers=authorization),
        gateway.send("GET", headers=authorization),
        gateway.send(headers={**authorization, "content-type": "text/plain"}),
        gateway.send("GET", "/metrics", headers=authorization),
        MemoryGateway(AUTH_MODE="none").send("POST", "/mcp"),
    ]
    for answer in answers:
        assert answer.headers["cache-control"] == "no-store", answer.text
        assert find_unprotected(answer.headers) == [], answer.text
        assert not REMAPPED & answer.headers.keys(), "API Gateway would rename it"
    broken = gateway.front_door.handle({}, remaining_ms=1_000)
    assert find_unprotected(broken["headers"]) == []


def test_an_answer_over_http_does_not_ask_for_https() -> None:
    answer = MemoryGateway(PUBLIC_URL="http://localhost:8765").send("GET", "/health")
    assert "strict-transport-security" not in answer.headers
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(("accepts", "encoding"), [("gzip, br", "gzip"), ("br", None), ("", None)])
def test_a_long_answer_is_compressed_for_a_client_that_accepts_it(
    gateway: MemoryGateway, accepts: str, encoding: str | None
) -> None:
    offer_long_catalogue(gateway)
    message, headers = build_modern_request("tools/call", {"name": "gateway.home", "arguments": {}})
    headers |= {"authorization": f"Bearer {gateway.make_key()}", "accept-encoding": accepts}
    answer = gateway.send(body=json.dumps(message), headers=headers)
    assert answer.headers.get("content-encoding") == encoding
    assert len(answer.json["result"]["structuredContent"]["items"]) == 200


def test_a_short_answer_is_not_compressed(gateway: MemoryGateway) -> None:
    assert "content-encoding" not in gateway.send("GET", "/health", headers={"accept-encoding": "gzip"}).headers


@pytest.mark.parametrize(
    "broken", [{}, {"requestContext": {}}, {"rawPath": "/", "requestContext": {"http": None}}, {"key1": "value1"}]
)
def test_an_event_that_is_not_of_an_http_api_is_refused(gateway: MemoryGateway, broken: dict[str, object]) -> None:
    assert gateway.front_door.handle(broken, remaining_ms=1_000)["statusCode"] == 400


def event(received_ms: float | None) -> dict[str, object]:
    context = {"requestId": "r", "timeEpoch": received_ms, "http": {"method": "GET", "sourceIp": "::1"}}
    return {"rawPath": "/", "requestContext": context}


@pytest.mark.parametrize(
    ("received_ms", "remaining_ms", "deadline"),
    [
        (1_000_000, 30_000, 1_028.0),  # nothing lost: API Gateway's patience counts
        (995_000, 30_000, 1_023.0),  # a cold start of five seconds is gone from it
        (1_000_000, 10_000, 1_009.0),  # the function ends before that
        (None, 30_000, 1_028.0),  # invoked by hand
        (970_000, 30_000, 998.0),  # API Gateway gives up at this moment
        (969_999, 30_000, 1_028.0),  # older than any request that still waits: an event from a file
        (1_000, 10_000, 1_009.0),  # as stale, and the function ends earlier
        (1_000_000_000, 30_000, 1_029.0),  # a clock that is ahead: the function's time counts
    ],
)
def test_the_deadline_is_the_earlier_one_of_api_gateway_and_lambda(
    received_ms: float | None, remaining_ms: int, deadline: float
) -> None:
    assert parse_event(event(received_ms), now=1_000.0, remaining_ms=remaining_ms).deadline == deadline


def test_a_request_with_a_stale_time_is_answered(gateway: MemoryGateway) -> None:
    message, headers = build_modern_request("tools/list", {})
    an_hour_ago = (gateway.clock.now() - 3_600) * 1000
    context = {"requestId": "r", "timeEpoch": an_hour_ago, "http": {"method": "POST", "sourceIp": "::1"}}
    authorization = {"authorization": f"Bearer {gateway.make_key()}"}
    stale = {"rawPath": "/mcp", "headers": {**headers, **authorization}, "body": json.dumps(message)}
    answer = gateway.front_door.handle({**stale, "requestContext": context}, remaining_ms=30_000)
    assert answer["statusCode"] == 200, answer


@pytest.mark.parametrize("written", [b"\xff", b"\xc3(", b"\xed\xa0\x80", b"\xf0\x9f", "\ufffd".encode() + b"\x80"])
def test_a_body_whose_bytes_were_replaced_on_the_way_is_refused(gateway: MemoryGateway, written: bytes) -> None:
    message, headers = build_modern_request("tools/call", {"name": "gateway.search", "arguments": {"query": "@"}})
    sent = json.dumps(message).encode().replace(b"@", written)
    headers |= {"authorization": f"Bearer {gateway.make_key()}", "content-length": str(len(sent))}
    answer = gateway.send(body=sent.decode(errors="replace"), headers=headers)
    assert (answer.status, answer.json["error"]["code"]) == (400, -32700), answer.text


@pytest.mark.parametrize("length", [None, "right", "²"])
def test_a_replacement_character_that_the_client_sent_is_text_like_any_other(
    gateway: MemoryGateway, length: str | None
) -> None:
    message, headers = build_modern_request("tools/call", {"name": "gateway.search", "arguments": {"query": "\ufffd"}})
    body = json.dumps(message, ensure_ascii=False)
    sent_length = str(len(body.encode())) if length == "right" else length
    declared = {} if sent_length is None else {"content-length": sent_length}
    answer = gateway.send(body=body, headers={**headers, "authorization": f"Bearer {gateway.make_key()}", **declared})
    assert answer.status == 200, answer.text


def test_a_body_that_is_not_valid_base64_is_refused(gateway: MemoryGateway) -> None:
    for body in ("%%%", "é"):
        broken = {**event(None), "body": body, "isBase64Encoded": True}
        assert gateway.front_door.handle(broken, remaining_ms=1_000)["statusCode"] == 400
