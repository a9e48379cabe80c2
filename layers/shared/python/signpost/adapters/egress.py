"""HTTP to places that somebody else has named: the addresses that were judged are the ones that are connected to."""

import socket
import ssl
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from http.client import HTTPConnection, HTTPException, IncompleteRead
from threading import Timer
from time import monotonic

from signpost.policy.egress import DEFAULT_PORTS, Destination, EgressRules, destination_of
from signpost.web import NotReached, WebAnswer, WebRequest

CONNECTS_WITHIN = 3.0
MOST_ADDRESSES = 4

type Resolve = Callable[[str, int], Sequence[str]]
"""The addresses of a host. Raises OSError."""
type Dial = Callable[[str, int, float], socket.socket]
"""A connection to an address and a port, within some seconds. Raises OSError."""


def resolved(host: str, port: int) -> Sequence[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(place[0]) for *_, place in found))


def own_places(environment: Mapping[str, str]) -> Sequence[str]:
    """Where Lambda hands calls out and takes answers, and where a laptop cloud is: both ask nobody who they are."""
    return [environment.get(name, "") for name in ("AWS_LAMBDA_RUNTIME_API", "AWS_ENDPOINT_URL")]


def dialled(address: str, port: int, seconds: float) -> socket.socket:
    return socket.create_connection((address, port), seconds)


class GuardedWeb:
    """No proxies and no redirects: nothing but what was judged is ever connected to."""

    def __init__(self, rules: EgressRules, *, resolve: Resolve, dial: Dial, tls: Callable[[], ssl.SSLContext]) -> None:
        self._rules = rules
        self._resolve = resolve
        self._dial = dial
        self._make_tls = tls

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """Made when it is needed: it reads the certificates, which a cold start would feel."""
        return self._make_tls()

    def send(self, request: WebRequest) -> WebAnswer | NotReached:
        destination = destination_of(request.url)
        if isinstance(destination, str):
            return NotReached("malformed", destination)
        ends_at = monotonic() + request.seconds
        addresses = self._addresses(destination)
        if isinstance(addresses, NotReached):
            return addresses
        try:
            return self._exchange(destination, addresses, request, ends_at)
        except (OSError, HTTPException, ValueError) as fault:
            return _not_reached(destination.host, fault, late=monotonic() >= ends_at)

    def _addresses(self, destination: Destination) -> Sequence[str] | NotReached:
        """Resolved once: a name that leads elsewhere the next time is not asked a next time."""
        try:
            addresses = self._resolve(destination.host, destination.port)
        except (OSError, UnicodeError):
            addresses = ()
        if refusal := self._rules.refusal(destination, addresses):
            return NotReached("forbidden", refusal)
        if not addresses:
            return NotReached("unresolvable", f"{destination.host} has no address.")
        return addresses[:MOST_ADDRESSES]

    def _exchange(
        self, destination: Destination, addresses: Sequence[str], request: WebRequest, ends_at: float
    ) -> WebAnswer:
        with self._connected(destination, addresses, ends_at) as connection:
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
    def _connected(
        self, destination: Destination, addresses: Sequence[str], ends_at: float
    ) -> Generator[HTTPConnection]:
        """The name goes into the certificate's check and the Host header; the connection goes to the address."""
        plain = self._reached(addresses, destination.port, ends_at)
        with plain, _ended_after(plain, ends_at - monotonic()):
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

    def _reached(self, addresses: Sequence[str], port: int, ends_at: float) -> socket.socket:
        last: OSError = TimeoutError()
        for address in addresses:
            seconds = min(CONNECTS_WITHIN, ends_at - monotonic())
            if seconds <= 0:
                break
            try:
                found = self._dial(address, port, seconds)
            except OSError as fault:
                last = fault
            else:
                found.settimeout(max(ends_at - monotonic(), 0.001))
                return found
        raise last


@contextmanager
def _ended_after(plain: socket.socket, seconds: float) -> Generator[None]:
    """A time-out of a socket begins anew with every byte; whoever sends one at a time must not last for ever."""
    descriptor = plain.dup()  # wrapping for TLS takes the other one away

    def end() -> None:
        with suppress(OSError):  # the other side was faster
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


def _not_reached(host: str, fault: Exception, *, late: bool) -> NotReached:
    if late or isinstance(fault, TimeoutError):
        return NotReached("timed_out", f"{host} took too long.")
    if isinstance(fault, ssl.SSLCertVerificationError):
        return NotReached("untrusted", f"The certificate of {host} is not valid.")
    if isinstance(fault, IncompleteRead):
        return NotReached("broken_off", f"{host} broke its answer off.")
    if isinstance(fault, OSError):
        return NotReached("unreachable", f"{host} cannot be reached.")
    return NotReached("no_http", f"{host} answered something that is no HTTP.")
