"""Searching the web by whoever the deployment names, on a server of the test's own."""

import json
from collections.abc import Mapping
from typing import Any

import boto3
import pytest
from botocore.config import Config

from core_skills.outside import build_guarded_web
from core_skills.search_key import CACHE_SECONDS, SearchKey
from core_skills.web_search import Search, web_search
from signpost.contract import Failure, Result
from tests.support.function_host import FunctionHost
from tests.support.memory_gateway import ManualClock
from tests.support.network import PUBLIC_ADDRESS, Network
from tests.support.receiver import ReceivedRequest, Receiver, ReceiverReply, start_receiver

SEARCH = "core::web_search"
ENDPOINT = "http://find.test/search?q={query}&n={max_results}"
TEA = {"title": "Tea", "url": "https://tea.test/", "snippet": "about tea"}
ANSWER = json.dumps({"results": [TEA, {**TEA, "title": "More tea"}]}).encode()


class OneKey:
    def __init__(self, key: str = "") -> None:
        self.key, self.forgotten = key, 0

    def read(self) -> str:
        return self.key

    def forget(self) -> None:
        self.forgotten += 1


def host_web_search(
    network: Network,
    provider: str = "json",
    endpoint: str = ENDPOINT,
    key: OneKey | None = None,
    allowed: str = "find.test",
) -> FunctionHost:
    web = build_guarded_web({"ALLOWED_PRIVATE_HOSTS": allowed}, resolve=network.resolve, dial=network.dial)
    return FunctionHost(web_search(Search(provider, endpoint, key or OneKey()), web).functions)


def search_results(hosted: FunctionHost, **arguments: Any) -> Any:
    reply = hosted.call(SEARCH, arguments)
    assert isinstance(reply, Result), reply
    return reply.value


def search_failure(hosted: FunctionHost, **arguments: Any) -> Failure:
    reply = hosted.call(SEARCH, arguments)
    assert isinstance(reply, Failure), reply
    assert (reply.code, reply.outcome) == ("reported", "none")
    return reply


def test_results_have_a_title_a_url_and_a_snippet() -> None:
    with start_receiver(lambda _: ReceiverReply(200, ANSWER)) as server:
        answer = search_results(
            host_web_search(Network(server.server_port), key=OneKey("secret")), query="tea  & milk", max_results=1
        )
        received = server.received_requests.get(timeout=5)
    assert answer == {"query": "tea & milk", "results": [TEA]}
    assert (received.method, received.path) == ("GET", "/search?q=tea%20%26%20milk&n=1")
    assert received.headers["authorization"] == "Bearer secret"


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"query": "a", "input": "b", "config": {"query": "c", "max_results": 7}}, "/search?q=a&n=7"),
        ({"input": "b", "config": {"query": "c"}}, "/search?q=c&n=5"),
        ({"input": " b "}, "/search?q=b&n=5"),
        ({"query": "", "input": "b", "max_results": 2, "config": {"max_results": 7}}, "/search?q=b&n=2"),
        ({"query": "a", "config": {"endpoint": "http://evil.test/", "provider": "tavily"}}, "/search?q=a&n=5"),
        ({"query": "x" * 500}, f"/search?q={'x' * 400}&n=5"),
    ],
)  # fmt: skip
def test_the_query_is_taken_from_query_config_or_input_in_this_order(arguments: Mapping[str, Any], path: str) -> None:
    with start_receiver(lambda _: ReceiverReply(200, ANSWER)) as server:
        search_results(host_web_search(Network(server.server_port)), **arguments)
        assert server.received_requests.get(timeout=5).path == path


@pytest.mark.parametrize("arguments", [{}, {"query": " "}, {"config": {"query": 7}}])
def test_an_empty_query_is_refused(arguments: Mapping[str, Any]) -> None:
    assert search_failure(host_web_search(Network(0)), **arguments).message == "The query is missing: set `query`."


@pytest.mark.parametrize("most", [0, 21, 1.5, True, "3"])
def test_an_invalid_number_of_results_in_config_is_refused(most: object) -> None:
    assert (
        "from 1 to 20" in search_failure(host_web_search(Network(0)), query="tea", config={"max_results": most}).message
    )


@pytest.mark.parametrize(
    ("provider", "endpoint", "names"),
    [("none", "", "SearchProvider"), ("brave", "", "SearchKeySecretArn"), ("json", "", "SearchEndpoint")],
)
def test_a_missing_setting_of_the_deployment_is_named(provider: str, endpoint: str, names: str) -> None:
    failure = search_failure(host_web_search(Network(0), provider, endpoint), query="tea")
    assert names in failure.message
    assert failure.kind == "permanent_error"


@pytest.mark.parametrize(
    ("reply", "kind", "retry_after_ms", "says"),
    [
        (ReceiverReply(429, b"", {"retry-after": "7"}), "rate_limited", 7_000, "received too many requests"),
        (ReceiverReply(429), "rate_limited", None, "received too many requests"),
        (
            ReceiverReply(503, b"", {"retry-after": "Thu, 01 Jan 2099 00:00:00 GMT"}),
            "transient_error",
            None,
            "fails (503)",
        ),
        (ReceiverReply(500), "transient_error", None, "fails (500)"),
        (ReceiverReply(401), "permanent_error", None, "SearchKeySecretArn"),
        (ReceiverReply(404), "permanent_error", None, "SearchEndpoint"),
        (ReceiverReply(302, b"", {"location": "http://169.254.169.254/"}), "permanent_error", None, "SearchEndpoint"),
        (ReceiverReply(200, b"<html>"), "permanent_error", None, "has no results"),
        (ReceiverReply(200, b"[" * 100_000), "permanent_error", None, "has no results"),
        (ReceiverReply(200, b'{"results": 7}'), "permanent_error", None, "has no results"),
        (ReceiverReply(200, b"[" + b" " * 1_000_001 + b"]"), "permanent_error", None, "too large"),
        (ReceiverReply(200, b"[", {"content-length": "100"}), "connection_error", None, "not reached"),
    ],
)
def test_a_failed_search_is_reported_with_a_next_step(
    reply: ReceiverReply, kind: str, retry_after_ms: int | None, says: str
) -> None:
    with start_receiver(lambda _: reply) as server:
        failure = search_failure(host_web_search(Network(server.server_port)), query="tea")
    assert (failure.kind, failure.retry_after_ms) == (kind, retry_after_ms)
    assert failure.counts is (kind != "rate_limited")
    assert says in failure.message


def test_a_refused_key_is_read_again_for_the_next_search() -> None:
    key = OneKey("old")
    with start_receiver(lambda _: ReceiverReply(403)) as server:
        search_failure(host_web_search(Network(server.server_port), key=key), query="tea")
    assert key.forgotten == 1


def test_the_key_is_never_in_an_answer() -> None:
    with start_receiver(lambda received: ReceiverReply(500, json.dumps(dict(received.headers)).encode())) as server:
        assert (
            "secret"
            not in search_failure(
                host_web_search(Network(server.server_port), key=OneKey("secret")), query="tea"
            ).message
        )


@pytest.mark.invariant(58)
@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "fd00:ec2::254", "::ffff:127.0.0.1"])
@pytest.mark.parametrize("provider", ["brave", "tavily", "json"])
def test_an_endpoint_with_an_internal_address_is_not_connected_to(provider: str, address: str) -> None:
    network = Network(0, lookup=lambda _: [address])
    failure = search_failure(host_web_search(network, provider, key=OneKey("secret"), allowed=""), query="tea")
    assert "not a public address" in failure.message
    assert network.dialled_addresses == []


def test_the_endpoint_of_the_provider_is_the_default() -> None:
    network = Network(0, lookup=lambda _: [PUBLIC_ADDRESS], refusing_addresses=frozenset({PUBLIC_ADDRESS}))
    search_failure(host_web_search(network, "brave", "", OneKey("secret")), query="tea")
    assert network.resolved_names == ["api.search.brave.com"]


def key_of(server: Receiver, clock: ManualClock) -> SearchKey:
    config = Config(retries={"total_max_attempts": 1})
    client = boto3.client(
        "secretsmanager",
        region_name="us-east-1",
        endpoint_url=server.url,
        aws_access_key_id="a",
        aws_secret_access_key="b",
        config=config,
    )
    return SearchKey(lambda: client, "arn:secret", clock)


def test_the_key_is_cached_until_it_expires_or_is_refused() -> None:
    def numbered(received: ReceivedRequest) -> ReceiverReply:
        assert json.loads(received.body) == {"SecretId": "arn:secret"}
        return ReceiverReply(200, json.dumps({"SecretString": f" key-{server.received_requests.qsize()}\n"}).encode())

    clock = ManualClock()
    with start_receiver(numbered) as server:
        key = key_of(server, clock)
        assert [key.read(), key.read()] == ["key-1", "key-1"]
        clock.advance(CACHE_SECONDS)
        assert [key.read(), key.read()] == ["key-2", "key-2"]
        key.forget()
        assert key.read() == "key-3"


@pytest.mark.parametrize(
    ("code", "kind", "says"),
    [
        ("AccessDeniedException", "permanent_error", "SearchKeySecretArn"),
        ("ResourceNotFoundException", "permanent_error", "SearchKeySecretArn"),
        ("ThrottlingException", "transient_error", "Try again"),
    ],
)
def test_an_unreadable_key_is_a_failure_with_a_next_step(code: str, kind: str, says: str) -> None:
    with start_receiver(lambda _: ReceiverReply(400, json.dumps({"__type": code}).encode())) as server:
        key = key_of(server, ManualClock())
        web = build_guarded_web({}, resolve=Network(0).resolve, dial=Network(0).dial)
        failure = search_failure(FunctionHost(web_search(Search("brave", "", key), web).functions), query="tea")
    assert failure.kind == kind
    assert says in failure.message


def test_without_a_secret_the_key_is_empty_and_no_request_is_sent() -> None:
    def nobody() -> Any:
        raise AssertionError

    assert SearchKey(nobody, "", ManualClock()).read() == ""
