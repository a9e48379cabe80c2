"""Fetching from the web: what of an answer arrives, and where nobody is led who names a URL."""

import gzip
import socket
import time
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from threading import Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_skills.hops import redirect_target
from core_skills.http_fetch import http_fetch
from core_skills.outside import build_guarded_web
from signpost.adapters.egress import MOST_RESOLUTIONS, open_connection, resolve_host
from signpost.adapters.memory import MemoryRuntimeSettings
from signpost.contract import Failure, Result
from signpost.errors import DeadlinePassed
from signpost.list_revisions import REVALIDATION_INTERVAL
from signpost.policy.egress import is_public
from signpost.web import WebAnswer, WebFailure, WebRequest
from tests.support.function_host import FunctionHost
from tests.support.network import PUBLIC_ADDRESS, Network
from tests.support.receiver import ReceivedRequest, ReceiverReply, start_receiver
from tests.support.toolkits import ServedToolkits
from tests.support.waiting import wait_for

FETCH = "core::http_fetch"
RUNTIME = "127.0.0.1:9001"
ALLOWED = "inside.test"
INSIDE = f"http://{ALLOWED}/"


def host_http_fetch(network: Network, allowed: str = ALLOWED, runtime: str = RUNTIME) -> FunctionHost:
    environment = {"ALLOWED_PRIVATE_HOSTS": allowed, "AWS_LAMBDA_RUNTIME_API": runtime}
    return FunctionHost(
        http_fetch(build_guarded_web(environment, resolve=network.resolve, dial=network.dial)).functions
    )


def fetch_page(hosted: FunctionHost, url: str, seconds: float = 10, **more: Any) -> Mapping[str, Any]:
    reply = hosted.call(FETCH, {"url": url, **more}, seconds)
    assert isinstance(reply, Result), reply
    assert isinstance(reply.value, dict)
    return reply.value


def fetch_failure(hosted: FunctionHost, url: str, seconds: float = 10, **more: Any) -> Failure:
    reply = hosted.call(FETCH, {"url": url, **more}, seconds)
    assert isinstance(reply, Failure), reply
    assert (reply.code, reply.outcome) == ("reported", "none")
    return reply


RELATIVE = ("//page.test/", "page.test")
LITERAL = [
    # private, loopback, link-local, metadata, the runtime
    "http://10.0.0.1/", "http://172.16.0.1/", "http://192.168.1.1/", "http://127.0.0.1/", "http://0.0.0.0/",
    "http://169.254.1.1/", "http://169.254.169.254/latest/meta-data/", "https://169.254.169.254/", "http://169.254.170.2/",
    "http://127.0.0.1:9001/2018-06-01/runtime/invocation/next", "http://169.254.100.1:9001/", "http://100.64.0.1/",
    "http://224.0.0.1/", "http://255.255.255.255/", "http://168.63.129.16/",
    # IPv6, and what carries an address of IPv4
    "http://[::1]/", "http://[::]/", "http://[fe80::1]/", "http://[fd00:ec2::254]/latest/meta-data/", "http://[fc00::1]/",
    "http://[::ffff:127.0.0.1]/", "http://[::ffff:a9fe:a9fe]/", "http://[::ffff:8.8.8.8]/", "http://[::127.0.0.1]/",
    "http://[2002:7f00:1::]/", "http://[64:ff9b::7f00:1]/", "http://[64:ff9b::a9fe:a9fe]/", "http://[64:ff9b:1::7f00:1]/",
    "http://[2001:0:7f00:1::]/",
    # octal, decimal, hexadecimal, short
    "http://0177.0.0.1/", "http://2130706433/", "http://0x7f.1/", "http://127.1/", "http://0x7f000001/", "http://0/",
    "http://017700000001/", "http://127.0.1/", "http://0251.0376.0251.0376/", "http://2852039166/", "http://0xa9fea9fe/",
    # a dot at the end, a user, and places that only seem to be the host
    "http://127.0.0.1./", "http://localhost./", "http://localhost/", "http://user@127.0.0.1/", "http://user:word@page.test/",
    "http://page.test@127.0.0.1/", "http://127.0.0.1#@page.test/", "http://page.test\\@127.0.0.1/", "http://127.0.0.1%2f@page.test/",
    "http://127。0。0。1/", "http://①②⑦.0.0.1/", "http://page.test%00.127.0.0.1/",
    # other schemes and ports
    "file:///etc/passwd", "ftp://page.test/", "gopher://127.0.0.1:6379/_x", "data:text/plain,x", *RELATIVE,
    "http://page.test:22/", "http://page.test:6379/", "https://page.test:9001/", "http://page.test:8080/", "http://page.test:0/",
]  # fmt: skip
LEADING_INSIDE = [
    ["127.0.0.1"], ["10.0.0.7"], ["192.168.0.1"], ["169.254.169.254"], ["169.254.100.1"], ["0.0.0.0"], ["100.64.3.2"],  # noqa: S104 - no bind
    ["::1"], ["fd00:ec2::254"], ["fe80::1%2"], ["fc00::7"], ["::ffff:127.0.0.1"], ["::ffff:169.254.169.254"],
    ["2002:a9fe:a9fe::"], ["64:ff9b::7f00:1"], ["2001:0:7f00:1::"], [PUBLIC_ADDRESS, "10.0.0.7"],
]  # fmt: skip


def resolve_like_a_network(host: str) -> Sequence[str]:
    """Addresses lead to themselves, also in the forms that some resolvers take for them; every name to a public one."""
    try:
        return [str(socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)[0][4][0])]
    except OSError:
        return ["127.0.0.1"] if host == "localhost" else [PUBLIC_ADDRESS]


@pytest.mark.invariant(58)
@pytest.mark.parametrize("url", LITERAL)
def test_an_internal_or_invalid_url_is_not_fetched(url: str) -> None:
    network = Network(0, lookup=resolve_like_a_network)
    assert fetch_failure(host_http_fetch(network), url).kind == "permanent_error"
    assert network.dialled_addresses == []


@pytest.mark.invariant(58)
@pytest.mark.parametrize("url", LITERAL)
def test_a_redirect_to_an_internal_or_invalid_url_is_not_followed(url: str) -> None:
    with start_receiver(lambda _: ReceiverReply(302, b"", {"location": url.encode().decode("latin-1")})) as server:
        network = Network(server.server_port, lookup=resolve_like_a_network)
        hosted = host_http_fetch(network)
        if url in RELATIVE:  # which a redirect may be
            assert "more than 5 times" in fetch_failure(hosted, INSIDE).message
            return
        assert fetch_failure(hosted, INSIDE).kind == "permanent_error"
    assert network.dialled_addresses == [PUBLIC_ADDRESS]


@pytest.mark.invariant(58)
@pytest.mark.parametrize("addresses", LEADING_INSIDE, ids=str)
def test_a_name_with_an_internal_address_is_not_fetched_from(addresses: list[str]) -> None:
    network = Network(0, lookup=lambda _: addresses)
    for scheme in ("http", "https"):
        message = fetch_failure(host_http_fetch(network), f"{scheme}://page.test/").message
        assert message.startswith("page.test is not a public address.")
        assert not any(address in message for address in addresses)
    assert network.dialled_addresses == []


@pytest.mark.invariant(58)
@pytest.mark.parametrize("addresses", LEADING_INSIDE, ids=str)
def test_a_name_is_resolved_and_checked_once_for_each_redirect(
    addresses: list[str],
) -> None:
    answers = iter([[PUBLIC_ADDRESS], addresses])
    with start_receiver(lambda _: ReceiverReply(302, b"", {"location": "/again"})) as server:
        network = Network(server.server_port, lookup=lambda _: next(answers))
        fetch_failure(host_http_fetch(network), "http://page.test/")
    assert (network.resolved_names, network.dialled_addresses) == (["page.test", "page.test"], [PUBLIC_ADDRESS])


@pytest.mark.invariant(58)
@pytest.mark.parametrize("runtime", ["127.0.0.1:9001", "169.254.100.1:9001", "sandbox.localdomain:9001"])
def test_the_lambda_runtime_is_not_reached_even_if_allowed_by_name(runtime: str) -> None:
    hosts = {"127.0.0.1", "localhost", "[::1]", "0.0.0.0", "[::ffff:127.0.0.1]"} if "127" in runtime else set[str]()  # noqa: S104 - no bind
    hosts |= {runtime.partition(":")[0], "169.254.100.1", "169.254.169.254", "[fd00:ec2::254]"}
    leads = {"sandbox.localdomain": ["169.254.100.1"], "localhost": ["::1", "127.0.0.1"]}
    network = Network(0, lookup=lambda host: leads.get(host) or resolve_like_a_network(host))
    hosted = host_http_fetch(network, allowed=",".join(hosts), runtime=runtime)
    for host in hosts:
        fetch_failure(hosted, f"http://{host}:9001/2018-06-01/runtime/invocation/next")
    assert network.dialled_addresses == []


PIECES = [
    "http://", "https://", "//", "/", "@", "#", "?", "\\", ":", ".", "[", "]", "%2e", "127", "1", "0x7f", "0177",
    "localhost", "page.test", "169.254.169.254", "2130706433", "::ffff:", "::1", "a9fe", "80", "9001", "é", "。", "①",
    "\t", " ",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=8).map("".join) | st.text(max_size=20)


@pytest.mark.invariant(58)
@given(TEXTS)
def test_no_redirect_connects_to_an_internal_address(location: str) -> None:
    answer = WebAnswer(302, {"location": location.encode(errors="replace").decode("latin-1")}, b"")
    network = Network(0, lookup=resolve_like_a_network)
    web = build_guarded_web({"AWS_LAMBDA_RUNTIME_API": RUNTIME}, resolve=network.resolve, dial=network.dial)
    for url in filter(None, (location, redirect_target("http://page.test/a", answer))):
        web.send(WebRequest("GET", url, 1.0))
    assert all(map(is_public, network.dialled_addresses))


@pytest.mark.parametrize("environment", [{}, {"AWS_ENDPOINT_URL": "http://127.0.0.1:4566"}])
def test_the_real_resolver_reaches_no_internal_address(environment: Mapping[str, str]) -> None:
    web = build_guarded_web({**environment, "ALLOWED_PRIVATE_HOSTS": ""}, resolve=resolve_host, dial=open_connection)
    for host in ("localhost", "127.0.0.1", "[::1]", "169.254.169.254", "127.1", "0x7f.1"):
        fetch_failure(FunctionHost(http_fetch(web).functions), f"http://{host}/")


def test_the_emulator_of_aws_is_not_reached_even_if_its_host_is_allowed() -> None:
    with start_receiver() as cloud, start_receiver() as server:
        web = build_guarded_web(
            {"ALLOWED_PRIVATE_HOSTS": "127.0.0.1", "AWS_ENDPOINT_URL": cloud.url},
            resolve=resolve_host,
            dial=open_connection,
        )
        fetch_failure(FunctionHost(http_fetch(web).functions), cloud.url)
        assert fetch_page(FunctionHost(http_fetch(web).functions), server.url)["status"] == 200


def test_a_page_is_returned_with_status_and_selected_headers() -> None:
    headers = {"content-type": "text/html; charset=iso-8859-1", "set-cookie": "a=b", "etag": '"1"'}
    with start_receiver(lambda _: ReceiverReply(404, "<p>Bücher".encode("latin-1"), headers)) as server:
        network = Network(server.server_port)
        page = fetch_page(host_http_fetch(network), f"{INSIDE}a?b=c#part", headers={"Accept": "text/html"})
        received = server.received_requests.get(timeout=5)
    assert (page["status"], page["text"], page["truncated"], page["redirects"]) == (404, "<p>Bücher", False, [])
    assert page["url"] == f"{INSIDE}a?b=c"
    assert page["headers"]["etag"] == '"1"'
    assert "set-cookie" not in page["headers"]
    assert (received.method, received.path, received.headers["accept"]) == ("GET", "/a?b=c", "text/html")
    assert (received.headers["host"], received.headers["user-agent"]) == (ALLOWED, "signpost")


def test_head_returns_no_body() -> None:
    with start_receiver(lambda _: ReceiverReply(200, b"x" * 10, {"content-type": "text/plain"})) as server:
        page = fetch_page(host_http_fetch(Network(server.server_port)), INSIDE, method="HEAD")
        assert server.received_requests.get(timeout=5).method == "HEAD"
    assert page["headers"]["content-length"] == "10"
    assert "text" not in page


def test_a_binary_page_is_returned_as_base64() -> None:
    with start_receiver(lambda _: ReceiverReply(200, b"\x89PNG\x00", {"content-type": "image/png"})) as server:
        page = fetch_page(host_http_fetch(Network(server.server_port)), INSIDE)
    assert b64decode(page["base64"]) == b"\x89PNG\x00"
    assert "text" not in page


def reply_with_redirects(received: ReceivedRequest) -> ReceiverReply:
    match received.path:
        case "/":
            return ReceiverReply(301, b"", {"location": "/b\xc3\xbc?x=1#part"})  # as bytes, which are UTF-8
        case "/b%C3%BC?x=1":
            return ReceiverReply(307, b"", {"location": "http://other.test/c"})
        case _:
            return ReceiverReply(200, b"here", {"content-type": "text/plain"})


def test_redirects_are_listed_and_credentials_stay_with_their_host() -> None:
    with start_receiver(reply_with_redirects) as server:
        network = Network(server.server_port)
        hosted = host_http_fetch(network, allowed="inside.test,other.test")
        headers = {"Authorization": "Bearer secret", "X-Api-Key": "secret", "Cookie": "a=b", "Accept-Language": "de"}
        page = fetch_page(hosted, INSIDE, headers=headers)
        first, second, third = (server.received_requests.get(timeout=5) for _ in range(3))
    assert (page["url"], page["text"]) == ("http://other.test/c", "here")
    assert page["redirects"] == [INSIDE, f"{INSIDE}b%C3%BC?x=1"]
    assert first.headers["authorization"] == second.headers["authorization"] == "Bearer secret"
    assert not {"authorization", "x-api-key", "cookie"} & set(third.headers)
    assert (third.headers["accept-language"], third.headers["host"]) == ("de", "other.test")


def test_endless_redirects_fail_and_with_zero_allowed_the_redirect_is_returned() -> None:
    with start_receiver(lambda _: ReceiverReply(302, b"", {"location": "/"})) as server:
        network = Network(server.server_port)
        assert (
            fetch_failure(host_http_fetch(network), INSIDE).message
            == f"{INSIDE} redirects more than 5 times, at last to {INSIDE}."
        )
        page = fetch_page(host_http_fetch(network), INSIDE, max_redirects=0)
    assert (page["status"], page["headers"]["location"], len(network.dialled_addresses)) == (302, "/", 7)


@pytest.mark.parametrize("location", ["http://[", "", " "])
def test_a_malformed_redirect_fails_and_an_empty_one_is_returned(location: str) -> None:
    with start_receiver(lambda _: ReceiverReply(302, b"", {"location": location})) as server:
        hosted = host_http_fetch(Network(server.server_port))
        if location.strip():
            assert fetch_failure(hosted, INSIDE).message.startswith(f"{INSIDE} redirects to http://[.")
        else:
            assert fetch_page(hosted, INSIDE)["status"] == 302


def test_a_long_page_is_cut_and_marked_as_truncated() -> None:
    with start_receiver(lambda _: ReceiverReply(200, "ü".encode() * 500, {"content-type": "text/plain"})) as server:
        page = fetch_page(host_http_fetch(Network(server.server_port)), INSIDE, max_bytes=101)
    assert (page["text"], page["truncated"]) == ("ü" * 50, True)


def test_a_compressed_page_is_unpacked_up_to_the_limit() -> None:
    packed = gzip.compress(b"x" * 1_000_000)
    headers = {"content-type": "text/plain", "content-encoding": "gzip"}
    with start_receiver(lambda _: ReceiverReply(200, packed, headers)) as server:
        page = fetch_page(host_http_fetch(Network(server.server_port)), INSIDE, max_bytes=2_000)
        assert server.received_requests.get(timeout=5).headers["accept-encoding"] == "identity"
    assert (page["text"], page["truncated"]) == ("x" * 2_000, True)


def reply_in_part(_: ReceivedRequest) -> ReceiverReply:
    return ReceiverReply(200, b"short", {"content-length": "1000"})


def reply_slowly(_: ReceivedRequest) -> ReceiverReply:
    time.sleep(2)
    return ReceiverReply()


@pytest.mark.parametrize(
    ("answer", "kind", "seconds"),
    [
        (reply_slowly, "timeout", 0.8),
        (reply_in_part, "connection_error", 5.0),
    ],
    ids=["slow", "broken off"],
)
def test_a_slow_or_broken_answer_is_a_failure_that_can_be_retried(
    answer: Callable[[ReceivedRequest], ReceiverReply], kind: str, seconds: float
) -> None:
    with start_receiver(answer) as server:
        failed = fetch_failure(host_http_fetch(Network(server.server_port)), INSIDE, seconds)
    assert failed.kind == kind
    assert "ry again" in failed.message


@pytest.mark.invariant(62)
def test_unreachable_hosts_do_not_open_the_breaker_of_http_fetch() -> None:
    with start_receiver(lambda _: ReceiverReply(200, b"here")) as server:
        names = {"dead.test": ["93.184.216.35"], "living.test": [PUBLIC_ADDRESS]}
        network = Network(server.server_port, names.__getitem__, refusing_addresses=frozenset({"93.184.216.35"}))
        served = ServedToolkits(http_fetch(build_guarded_web({}, resolve=network.resolve, dial=network.dial)))
        for _ in range(5):
            failed = served.call("core__http_fetch", url="http://dead.test/")
            assert (failed["isError"], "cannot be reached" in failed["content"][0]["text"]) == (True, True)
        assert served.call("core__http_fetch", url="http://living.test/")["structuredContent"]["text"] == "here"


class SlowNames:
    """A name server that answers for one name at once, and for the others after three seconds or after the test. As in
    the C library, no signal interrupts it."""

    def __init__(self) -> None:
        self.over = Event()

    def lookup(self, host: str) -> Sequence[str]:
        until = time.monotonic() + (3 if host != "living.test" else 0)
        while time.monotonic() < until and not self.over.is_set():
            with suppress(DeadlinePassed):
                self.over.wait(0.02)
        return [PUBLIC_ADDRESS]


@pytest.fixture
def slow_names() -> Iterator[SlowNames]:
    names = SlowNames()
    yield names
    names.over.set()


def redirect_to_slow_name(request: ReceivedRequest) -> ReceiverReply:
    if request.path == "/away":
        return ReceiverReply(302, b"", {"location": f"http://slow-{time.monotonic_ns()}.test/"})
    return ReceiverReply(200, b"here")


@pytest.mark.invariant(62)
@pytest.mark.parametrize("url", ["http://slow.test/", "http://living.test/away"])
def test_names_that_resolve_slowly_do_not_open_the_breaker_of_http_fetch(slow_names: SlowNames, url: str) -> None:
    with start_receiver(redirect_to_slow_name) as server:
        network = Network(server.server_port, slow_names.lookup)
        served = ServedToolkits(http_fetch(build_guarded_web({}, resolve=network.resolve, dial=network.dial)))
        settings = MemoryRuntimeSettings(served.gateway.functions)
        settings.set("default", FETCH, "tool_timeout_ms", 1_500)
        for _ in range(4):
            failed = served.call("core__http_fetch", url=url)
            assert (failed["isError"], "took too long" in failed["content"][0]["text"]) == (True, True), failed
        settings.set("default", FETCH, "tool_timeout_ms", 20_000)
        served.gateway.clock.advance(REVALIDATION_INTERVAL)
        assert served.call("core__http_fetch", url="http://living.test/")["structuredContent"]["text"] == "here"


def test_redirects_share_the_time_of_the_call() -> None:
    def redirect_slowly(_: ReceivedRequest) -> ReceiverReply:
        time.sleep(0.4)
        return ReceiverReply(302, b"", {"location": "/again"})

    with start_receiver(redirect_slowly) as server:
        hosted = host_http_fetch(Network(server.server_port))
        before = time.monotonic()
        assert fetch_failure(hosted, INSIDE, seconds=1.5).kind == "timeout"
    assert time.monotonic() - before >= 0.9, "several redirects were followed"


def test_a_bounded_number_of_names_is_resolved_at_the_same_time(slow_names: SlowNames) -> None:
    network = Network(0, slow_names.lookup)
    web = build_guarded_web({}, resolve=network.resolve, dial=network.dial)
    for number in range(MOST_RESOLUTIONS + 4):
        answer = web.send(WebRequest("GET", f"http://slow-{number}.test/", 0.01))
        assert isinstance(answer, WebFailure)
        assert answer.code == "timed_out"
    assert len(network.resolved_names) <= MOST_RESOLUTIONS
    slow_names.over.set()
    assert wait_for(
        "a free place for another name",
        lambda: web.send(WebRequest("GET", "http://living.test/", 5)),
        lambda answer: isinstance(answer, WebFailure) and answer.code == "unreachable",
    )


def test_an_unreachable_host_and_an_unknown_name_are_failures() -> None:
    with start_receiver() as server:
        port = server.server_port
    assert fetch_failure(host_http_fetch(Network(port)), INSIDE).kind == "connection_error"

    def nobody(_: str) -> Sequence[str]:
        raise socket.gaierror

    missing = fetch_failure(host_http_fetch(Network(0, lookup=nobody)), "https://page.test/")
    assert (missing.kind, missing.message) == (
        "permanent_error",
        "page.test has no address. Check the spelling of the host.",
    )


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "127.0.0.1"}, {"host": "x"}, {"Content-Length": "5"}, {"Transfer-Encoding": "chunked"},
        {"Connection": "close"}, {"Proxy-Authorization": "x"}, {"X": "a\r\nHost: b"}, {"X\r\nY": "a"}, {"X Y": "a"},
        {"": "a"}, {"X": "ü"}, {"X": "\x00"}, {"Accept-Encoding": "br"},
    ],
)  # fmt: skip
def test_a_header_that_controls_the_request_is_refused(headers: Mapping[str, str]) -> None:
    network = Network(0)
    assert "header" in fetch_failure(host_http_fetch(network), INSIDE, headers=headers).message
    assert network.resolved_names == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"method": "POST"},
        {"method": "DELETE"},
        {"max_bytes": 0},
        {"max_bytes": 10_000_000},
        {"max_redirects": 50},
        {"x": 1},
    ],
)
def test_invalid_arguments_are_refused_by_the_schema(arguments: Mapping[str, Any]) -> None:
    reply = host_http_fetch(Network(0)).call(FETCH, {"url": INSIDE, **arguments})
    assert isinstance(reply, Failure)
    assert reply.code == "invalid_arguments"
