"""Requests to named places over real connections: which address is reached, under which name, and for how long."""

import socket
import ssl
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import inf
from pathlib import Path
from threading import Thread

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from signpost.adapters.egress import GuardedWeb, open_connection, resolve_host
from signpost.policy.egress import build_egress_rules
from signpost.web import WebAnswer, WebFailure, WebRequest
from tests.support.network import PUBLIC_ADDRESS, Network
from tests.support.receiver import ReceivedRequest, ReceiverReply, start_receiver
from tests.support.slowdown import shortest

HOST = "hooks.test"


def post(url: str, seconds: float = 5, most_bytes: int = 1_000) -> WebRequest:
    return WebRequest("POST", url, seconds, {"content-type": "text/plain"}, b"hello", most_bytes)


def answer_of(answer: WebAnswer | WebFailure) -> WebAnswer:
    assert isinstance(answer, WebAnswer), answer
    return answer


def failure_code_of(answer: WebAnswer | WebFailure) -> str:
    assert isinstance(answer, WebFailure), answer
    return answer.code


def test_a_request_arrives_unchanged() -> None:
    with start_receiver(lambda _: ReceiverReply(201, b"done", {"X-Kind": "test"})) as server:
        network = Network(server.server_port)
        answer = answer_of(network.build_web(HOST).send(post(f"http://{HOST}:8080/a?b=c")))
        received = server.received_requests.get(timeout=5)
    assert (answer.status, answer.body, answer.headers["x-kind"], answer.is_cut) == (201, b"done", "test", False)
    assert (received.method, received.path, received.body) == ("POST", "/a?b=c", b"hello")
    assert (received.headers["host"], received.headers["content-type"]) == (f"{HOST}:8080", "text/plain")


@pytest.mark.invariant(39)
def test_a_name_is_resolved_once_and_the_checked_address_is_connected_to() -> None:
    """A name whose owner answers with a public address while it is judged, and with ours afterwards."""
    answers = iter([[PUBLIC_ADDRESS], ["127.0.0.1"], ["127.0.0.1"]])
    with start_receiver() as server:
        network = Network(server.server_port, lookup=lambda _: next(answers))
        network.build_web().send(post(f"https://{HOST}/"))
    assert (network.resolved_names, network.dialled_addresses) == ([HOST], [PUBLIC_ADDRESS])


@pytest.mark.invariant(39)
@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["169.254.169.254"],
        ["10.0.0.7"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        [PUBLIC_ADDRESS, "10.0.0.7"],
        ["fe80::1%2"],
    ],
)
def test_a_name_with_an_internal_address_is_not_connected_to(addresses: list[str]) -> None:
    network = Network(0, lookup=lambda _: addresses)
    answer = network.build_web("other.test").send(post(f"https://{HOST}/"))
    assert answer == WebFailure("forbidden", f"{HOST} is not a public address.")
    assert network.dialled_addresses == []


OURS = ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "localhost", "169.254.169.254"]  # noqa: S104 - no bind


@pytest.mark.parametrize("host", OURS)
def test_the_real_resolver_does_not_reach_local_addresses(host: str) -> None:
    web = GuardedWeb(build_egress_rules(()), resolve=resolve_host, dial=open_connection, tls=ssl.create_default_context)
    assert failure_code_of(web.send(post(f"https://{host}/"))) == "forbidden"


def test_the_real_resolver_reaches_a_host_allowed_by_name() -> None:
    web = GuardedWeb(
        build_egress_rules(("127.0.0.1",)), resolve=resolve_host, dial=open_connection, tls=ssl.create_default_context
    )
    with start_receiver() as server:
        assert answer_of(web.send(post(server.url))).status == 200
    assert failure_code_of(web.send(post(server.url))) == "unreachable"


def test_without_tls_only_hosts_allowed_by_name_are_reached() -> None:
    network = Network(0, lookup=lambda _: [PUBLIC_ADDRESS])
    assert failure_code_of(network.build_web().send(post(f"http://{HOST}/"))) == "forbidden"
    assert network.dialled_addresses == []


def test_a_proxy_in_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with start_receiver() as server:
        assert answer_of(Network(server.server_port).build_web(HOST).send(post(f"http://{HOST}/"))).status == 200


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_returned_and_not_followed(status: int) -> None:
    with start_receiver(
        lambda _: ReceiverReply(status, b"", {"location": "http://169.254.169.254/latest/meta-data"})
    ) as server:
        network = Network(server.server_port)
        answer = answer_of(network.build_web(HOST).send(post(f"http://{HOST}/")))
    assert (answer.status, len(network.dialled_addresses)) == (status, 1)


def test_the_next_address_is_tried_after_one_that_does_not_answer() -> None:
    with start_receiver() as server:
        network = Network(
            server.server_port, lambda _: [PUBLIC_ADDRESS, "8.8.8.8"], refusing_addresses=frozenset({PUBLIC_ADDRESS})
        )
        assert answer_of(network.build_web(HOST).send(post(f"http://{HOST}/"))).status == 200
    assert network.dialled_addresses == [PUBLIC_ADDRESS, "8.8.8.8"]


def test_a_name_without_an_address_is_unresolvable() -> None:
    def nobody(_: str) -> Sequence[str]:
        raise socket.gaierror

    assert failure_code_of(Network(0, lookup=nobody).build_web().send(post(f"https://{HOST}/"))) == "unresolvable"


def test_a_long_answer_is_cut() -> None:
    with start_receiver(lambda _: ReceiverReply(200, b"x" * 5_000)) as server:
        answer = answer_of(Network(server.server_port).build_web(HOST).send(post(f"http://{HOST}/")))
    assert (len(answer.body), answer.is_cut) == (1_000, True)


@contextmanager
def serve_pieces(*pieces: bytes, pause: float = 0.0) -> Generator[int]:
    """Says these pieces to whoever connects, whatever they say."""
    listening = socket.create_server(("127.0.0.1", 0))

    def speak() -> None:
        try:
            connection, _ = listening.accept()
            with connection:
                for piece in pieces:
                    connection.sendall(piece)
                    time.sleep(pause)
        except OSError:
            pass  # the other side hung up

    thread = Thread(target=speak, daemon=True)
    thread.start()
    yield listening.getsockname()[1]
    listening.close()
    thread.join()


ENDS_BY_ITSELF_AFTER = 2.0
HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n"


@pytest.mark.parametrize(
    "pieces", [[bytes([letter]) for letter in HEAD], [HEAD, *[b"x"] * 50]], ids=["in its head", "in its body"]
)
def test_a_server_that_answers_byte_by_byte_times_out(pieces: list[bytes]) -> None:
    def seconds_to_answer() -> float:
        with serve_pieces(*pieces, pause=0.05) as port:
            started = time.monotonic()
            answer = Network(port).build_web(HOST).send(post(f"http://{HOST}/", seconds=0.4))
            took = time.monotonic() - started
            assert failure_code_of(answer) == "timed_out"
        return took if took < ENDS_BY_ITSELF_AFTER else inf

    assert shortest(seconds_to_answer, 1.5) < 1.5


def test_a_server_that_sends_no_answer_times_out() -> None:
    with serve_pieces(b"", pause=0.6) as port:
        assert failure_code_of(Network(port).build_web(HOST).send(post(f"http://{HOST}/", seconds=0.2))) == "timed_out"


@pytest.mark.parametrize("said", [b"SSH-2.0-OpenSSH_9.2\r\n", b"\x00" * 100, b"HTTP/1.1 abc\r\n\r\n"])
def test_an_answer_that_is_not_http_is_a_failure(said: bytes) -> None:
    with serve_pieces(said) as port:
        assert failure_code_of(Network(port).build_web(HOST).send(post(f"http://{HOST}/"))) in (
            "no_http",
            "unreachable",
        )


def test_an_answer_that_ends_too_early_is_a_failure() -> None:
    with start_receiver(lambda _: ReceiverReply(200, b"short", {"content-length": "100"})) as server:
        assert (
            failure_code_of(Network(server.server_port).build_web(HOST).send(post(f"http://{HOST}/"))) == "broken_off"
        )


@dataclass(frozen=True, slots=True)
class CertifiedServer:
    server: ssl.SSLContext
    names: list[str | None]
    """That clients asked for."""
    authority: Path

    def trusting(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.authority)


@pytest.fixture
def certified(tmp_path: Path) -> CertifiedServer:
    """A server with a certificate for HOST, and those who trust it."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, private = tmp_path / "certificate.pem", tmp_path / "key.pem"
    pem.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    encoding = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    private.write_bytes(key.private_bytes(*encoding))
    context, names = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), list[str | None]()
    context.load_cert_chain(pem, private)
    context.sni_callback = lambda _socket, name, _context: names.append(name)
    return CertifiedServer(context, names, pem)


def test_tls_checks_the_name_while_the_address_is_connected_to(certified: CertifiedServer) -> None:
    with start_receiver(tls=certified.server) as server:
        network = Network(server.server_port, lookup=lambda _: [PUBLIC_ADDRESS])
        answer = answer_of(network.build_web(tls=certified.trusting).send(post(f"https://{HOST}/a")))
        received: ReceivedRequest = server.received_requests.get(timeout=5)
    assert answer.status == 200
    assert (received.headers["host"], certified.names, network.dialled_addresses) == (HOST, [HOST], [PUBLIC_ADDRESS])


def test_a_certificate_of_another_name_or_an_unknown_issuer_is_refused(certified: CertifiedServer) -> None:
    with start_receiver(tls=certified.server) as server:
        network = Network(server.server_port, lookup=lambda _: [PUBLIC_ADDRESS])
        other = network.build_web(tls=certified.trusting).send(post("https://other.test/"))
        unknown = network.build_web().send(post(f"https://{HOST}/"))
        assert server.received_requests.empty()
    assert (failure_code_of(other), failure_code_of(unknown)) == ("untrusted", "untrusted")
