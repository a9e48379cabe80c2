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
from tests.support.hosted import Hosted
from tests.support.memory_gateway import SetClock
from tests.support.network import PUBLIC, Network
from tests.support.receiver import Received, Receiver, Reply, receiving

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


def searching(
    network: Network,
    provider: str = "json",
    endpoint: str = ENDPOINT,
    key: OneKey | None = None,
    allowed: str = "find.test",
) -> Hosted:
    web = build_guarded_web({"ALLOWED_PRIVATE_HOSTS": allowed}, resolve=network.resolve, dial=network.dial)
    return Hosted(web_search(Search(provider, endpoint, key or OneKey()), web).functions)


def found(hosted: Hosted, **arguments: Any) -> Any:
    reply = hosted.call(SEARCH, arguments)
    assert isinstance(reply, Result), reply
    return reply.value


def failed(hosted: Hosted, **arguments: Any) -> Failure:
    reply = hosted.call(SEARCH, arguments)
    assert isinstance(reply, Failure), reply
    assert (reply.code, reply.outcome) == ("reported", "none")
    return reply


def test_results_have_a_title_a_url_and_a_snippet() -> None:
    with receiving(lambda _: Reply(200, ANSWER)) as server:
        answer = found(searching(Network(server.server_port), key=OneKey("secret")), query="tea  & milk", max_results=1)
        received = server.received.get(timeout=5)
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
def test_what_is_searched_for_is_the_query_else_the_configs_else_the_input(
    arguments: Mapping[str, Any], path: str
) -> None:
    with receiving(lambda _: Reply(200, ANSWER)) as server:
        found(searching(Network(server.server_port)), **arguments)
        assert server.received.get(timeout=5).path == path


@pytest.mark.parametrize("arguments", [{}, {"query": " "}, {"config": {"query": 7}}])
def test_nothing_to_search_for_is_said(arguments: Mapping[str, Any]) -> None:
    assert failed(searching(Network(0)), **arguments).message == "The query is missing: set `query`."


@pytest.mark.parametrize("most", [0, 21, 1.5, True, "3"])
def test_how_many_results_is_a_whole_number_also_in_the_config(most: object) -> None:
    assert "from 1 to 20" in failed(searching(Network(0)), query="tea", config={"max_results": most}).message


@pytest.mark.parametrize(
    ("provider", "endpoint", "names"),
    [("none", "", "SearchProvider"), ("brave", "", "SearchKeySecretArn"), ("json", "", "SearchEndpoint")],
)
def test_what_the_deployment_has_not_set_is_named(provider: str, endpoint: str, names: str) -> None:
    failure = failed(searching(Network(0), provider, endpoint), query="tea")
    assert names in failure.message
    assert failure.kind == "permanent_error"


@pytest.mark.parametrize(
    ("reply", "kind", "retry_after_ms", "says"),
    [
        (Reply(429, b"", {"retry-after": "7"}), "rate_limited", 7_000, "received too many requests"),
        (Reply(429), "rate_limited", None, "received too many requests"),
        (Reply(503, b"", {"retry-after": "Thu, 01 Jan 2099 00:00:00 GMT"}), "transient_error", None, "fails (503)"),
        (Reply(500), "transient_error", None, "fails (500)"),
        (Reply(401), "permanent_error", None, "SearchKeySecretArn"),
        (Reply(404), "permanent_error", None, "SearchEndpoint"),
        (Reply(302, b"", {"location": "http://169.254.169.254/"}), "permanent_error", None, "SearchEndpoint"),
        (Reply(200, b"<html>"), "permanent_error", None, "has no results"),
        (Reply(200, b"[" * 100_000), "permanent_error", None, "has no results"),
        (Reply(200, b'{"results": 7}'), "permanent_error", None, "has no results"),
        (Reply(200, b"[" + b" " * 1_000_001 + b"]"), "permanent_error", None, "too large"),
        (Reply(200, b"[", {"content-length": "100"}), "connection_error", None, "not reached"),
    ],
)
def test_what_a_provider_does_not_do_is_said_with_what_to_do(
    reply: Reply, kind: str, retry_after_ms: int | None, says: str
) -> None:
    with receiving(lambda _: reply) as server:
        failure = failed(searching(Network(server.server_port)), query="tea")
    assert (failure.kind, failure.retry_after_ms) == (kind, retry_after_ms)
    assert failure.counts is (kind != "rate_limited")
    assert says in failure.message


def test_a_key_that_is_refused_is_read_anew_the_next_time() -> None:
    key = OneKey("old")
    with receiving(lambda _: Reply(403)) as server:
        failed(searching(Network(server.server_port), key=key), query="tea")
    assert key.forgotten == 1


def test_the_key_is_in_no_answer() -> None:
    with receiving(lambda received: Reply(500, json.dumps(dict(received.headers)).encode())) as server:
        assert "secret" not in failed(searching(Network(server.server_port), key=OneKey("secret")), query="tea").message


@pytest.mark.invariant(58)
@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "fd00:ec2::254", "::ffff:127.0.0.1"])
@pytest.mark.parametrize("provider", ["brave", "tavily", "json"])
def test_an_endpoint_that_leads_inside_is_not_asked(provider: str, address: str) -> None:
    network = Network(0, names=lambda _: [address])
    failure = failed(searching(network, provider, key=OneKey("secret"), allowed=""), query="tea")
    assert "not a public address" in failure.message
    assert network.dialled == []


def test_the_providers_own_endpoint_is_taken_where_none_is_set() -> None:
    network = Network(0, names=lambda _: [PUBLIC], deaf=frozenset({PUBLIC}))
    failed(searching(network, "brave", "", OneKey("secret")), query="tea")
    assert network.resolved == ["api.search.brave.com"]


def key_of(server: Receiver, clock: SetClock) -> SearchKey:
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


def test_the_key_is_read_when_it_is_needed_and_again_after_a_while_or_when_it_is_refused() -> None:
    def numbered(received: Received) -> Reply:
        assert json.loads(received.body) == {"SecretId": "arn:secret"}
        return Reply(200, json.dumps({"SecretString": f" key-{server.received.qsize()}\n"}).encode())

    clock = SetClock()
    with receiving(numbered) as server:
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
def test_a_key_that_cannot_be_read_is_said(code: str, kind: str, says: str) -> None:
    with receiving(lambda _: Reply(400, json.dumps({"__type": code}).encode())) as server:
        key = key_of(server, SetClock())
        web = build_guarded_web({}, resolve=Network(0).resolve, dial=Network(0).dial)
        failure = failed(Hosted(web_search(Search("brave", "", key), web).functions), query="tea")
    assert failure.kind == kind
    assert says in failure.message


def test_without_a_secret_there_is_no_key_and_nobody_is_asked() -> None:
    def nobody() -> Any:
        raise AssertionError

    assert SearchKey(nobody, "", SetClock()).read() == ""
