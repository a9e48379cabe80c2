"""HTTP to hosts that a tenant has named, only to the very addresses that the egress rules have allowed."""

import socket
import ssl
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from http.client import HTTPConnection, HTTPException, IncompleteRead
from queue import Empty, SimpleQueue
from threading import BoundedSemaphore, Thread, Timer
from time import monotonic

from signpost.policy.egress import DEFAULT_PORTS, Destination, EgressRules, parse_destination
from signpost.web import WebAnswer, WebFailure, WebRequest

CONNECT_TIMEOUT = 3.0
MOST_RESOLUTIONS = 16
"""Names that are resolved at the same time. A resolver cannot be stopped: an abandoned one ends by its own limits."""
MOST_ADDRESSES = 4

type Resolve = Callable[[str, int], Sequence[str]]
"""Returns the addresses of a host and port. Raises OSError."""
type Dial = Callable[[str, int, float], socket.socket]
"""Connects to an address and a port within some seconds. Raises OSError."""


def resolve_host(host: str, port: int) -> Sequence[str]:
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in infos))


def own_addresses(environment: Mapping[str, str]) -> Sequence[str]:
    """Return the addresses of Lambda's runtime API and of an AWS emulator; both accept requests without credentials."""
    return [environment.get(name, "") for name in ("AWS_LAMBDA_RUNTIME_API", "AWS_ENDPOINT_URL")]


def open_connection(address: str, port: int, seconds: float) -> socket.socket:
    return socket.create_connection((address, port), seconds)


class GuardedWeb:
    """Sends requests to addresses that the egress rules allow, without proxies and without redirects."""

    def __init__(self, rules: EgressRules, *, resolve: Resolve, dial: Dial, tls: Callable[[], ssl.SSLContext]) -> None:
        self._rules = rules
        self._resolve = resolve
        self._dial = dial
        self._make_tls = tls
        self._resolutions = BoundedSemaphore(MOST_RESOLUTIONS)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """The TLS context, made at first use: it reads the certificates, which would slow a cold start."""
        return self._make_tls()

    def send(self, request: WebRequest) -> WebAnswer | WebFailure:
        destination = parse_destination(request.url)
        if isinstance(destination, str):
            return WebFailure("malformed", destination)
        ends_at = monotonic() + request.seconds
        addresses = self._resolve_addresses(destination, ends_at)
        if isinstance(addresses, WebFailure):
            return addresses
        try:
            return self._exchange(destination, addresses, request, ends_at)
        except (OSError, HTTPException, ValueError) as fault:
            return _describe_failure(destination.host, fault, late=monotonic() >= ends_at)

    def _resolve_addresses(self, destination: Destination, ends_at: float) -> Sequence[str] | WebFailure:
        """Resolve the host once and check the addresses, so that no second resolution can lead elsewhere."""
        addresses = self._resolve_within(destination, ends_at)
        if addresses is None:
            return WebFailure("timed_out", f"The name {destination.host} took too long to resolve.")
        if refusal := self._rules.refusal(destination, addresses):
            return WebFailure("forbidden", refusal)
        if not addresses:
            return WebFailure("unresolvable", f"{destination.host} has no address.")
        return addresses[:MOST_ADDRESSES]

    def _resolve_within(self, destination: Destination, ends_at: float) -> Sequence[str] | None:
        """Resolve the host on a thread of its own, since a slow name server blocks it; None if the time has passed."""
        if not self._resolutions.acquire(timeout=max(ends_at - monotonic(), 0)):
            return None
        answers = SimpleQueue[Sequence[str]]()

        def resolve() -> None:
            try:
                answers.put(_addresses_of(self._resolve, destination))
            finally:
                self._resolutions.release()

        Thread(target=resolve, name=f"resolve {destination.host}", daemon=True).start()
        try:
            return answers.get(timeout=max(ends_at - monotonic(), 0))
        except Empty:
            return None

    def _exchange(
        self, destination: Destination, addresses: Sequence[str], request: WebRequest, ends_at: float
    ) -> WebAnswer:
        with self._connect(destination, addresses, ends_at) as connection:
            connection.request(request.method, destination.target, request.body, dict(request.headers))
            response = connection.getresponse()
            body = response.read(request.most_bytes + 1)
            if monotonic() >= ends_at:
                raise TimeoutError
            if response.length and len(body) <= request.most_bytes:
                raise IncompleteRead(body)
            headers = {name.lower(): value for name, value in response.getheaders()}
        return WebAnswer(response.status, headers, body[: request.most_bytes], len(body) > request.most_bytes)

    @contextmanager
    def _connect(self, destination: Destination, addresses: Sequence[str], ends_at: float) -> Generator[HTTPConnection]:
        """Connect to one of the addresses; the host's name goes into the certificate check and the Host header."""
        plain = self._connect_first(addresses, destination.port, ends_at)
        with plain, _shut_down_after(plain, ends_at - monotonic()):
            connection = HTTPConnection(destination.host, destination.port)
            connection.default_port = DEFAULT_PORTS[destination.scheme]
            if destination.scheme == "https":
                connection.sock = self._tls.wrap_socket(plain, server_hostname=destination.host)
            else:
                connection.sock = plain
            try:
                yield connection
            finally:
                connection.close()

    def _connect_first(self, addresses: Sequence[str], port: int, ends_at: float) -> socket.socket:
        last: OSError = TimeoutError()
        for address in addresses:
            seconds = min(CONNECT_TIMEOUT, ends_at - monotonic())
            if seconds <= 0:
                break
            try:
                connection = self._dial(address, port, seconds)
            except OSError as fault:
                last = fault
            else:
                connection.settimeout(max(ends_at - monotonic(), 0.001))
                return connection
        raise last


def _addresses_of(resolve: Resolve, destination: Destination) -> Sequence[str]:
    try:
        return resolve(destination.host, destination.port)
    except (OSError, UnicodeError):
        return ()


@contextmanager
def _shut_down_after(plain: socket.socket, seconds: float) -> Generator[None]:
    """Shut the socket down after some seconds.

    The socket's own time-out restarts with every byte, so a server that sends one byte at a time would never time out.
    """
    descriptor = plain.dup()  # wrapping for TLS detaches the original one

    def end() -> None:
        with suppress(OSError):  # the server has closed the connection already
            descriptor.shutdown(socket.SHUT_RDWR)

    watch = Timer(max(seconds, 0), end)
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()
        watch.join()
        descriptor.close()


def _describe_failure(host: str, fault: Exception, *, late: bool) -> WebFailure:
    if late or isinstance(fault, TimeoutError):
        return WebFailure("timed_out", f"{host} took too long.")
    if isinstance(fault, ssl.SSLCertVerificationError):
        return WebFailure("untrusted", f"The certificate of {host} is not valid.")
    if isinstance(fault, IncompleteRead):
        return WebFailure("broken_off", f"{host} closed the connection before the end of its answer.")
    if isinstance(fault, OSError):
        return WebFailure("unreachable", f"{host} cannot be reached.")
    return WebFailure("no_http", f"{host} did not answer with valid HTTP.")
