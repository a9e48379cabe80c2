"""The front door: an HTTP server in front of the emulator's API, in the place of API Gateway on AWS."""

import contextlib
import errno
import json
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from typing import BinaryIO, cast
from urllib.parse import urlsplit

from local.errors import CloudError
from local.ports import port_in_use_error
from local.wire import (
    Answer,
    Fields,
    Head,
    RefusedError,
    body_size,
    end_to_end,
    message_answer,
    read_body,
    read_head,
    render,
)

UPSTREAM_TIMEOUT = 30.0
"""API Gateway's integration timeout, in seconds."""
IDLE_LIMIT = 600.0
"""Seconds after which API Gateway closes an idle connection."""

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_KEPT_CONNECTIONS = 32
_SECONDS_TO_FINISH = 5.0
_SECONDS_TO_READ_REFUSAL = 2.0


class Door:
    """An HTTP server on one port of 127.0.0.1 and ::1.

    `target` is called for every request and returns the URL of the API to which the request is forwarded.
    """

    def __init__(self, port: int, target: Callable[[], str], upstream_timeout: float = UPSTREAM_TIMEOUT) -> None:
        self.port = port
        self.notes: tuple[str, ...] = ()
        self._target = target
        self._upstream = Upstream(upstream_timeout)
        self._listeners: list[socket.socket] = []
        self._connections: dict[socket.socket, threading.Thread] = {}
        self._closing = threading.Event()
        self._waker: tuple[socket.socket, ...] = ()  # a byte sent at one end wakes the accepting thread at the other
        self._acceptor = threading.Thread(target=self._accept_until_closed, name="door", daemon=True)

    @property
    def url(self) -> str:
        """The address for clients."""
        return f"http://localhost:{self.port}"

    def start(self) -> None:
        """Listen; port 0 takes a free one."""
        self._listeners = [_listen(socket.AF_INET, "127.0.0.1", self.port)]
        self.port = cast("int", self._listeners[0].getsockname()[1])
        try:
            self._listeners.append(_listen(socket.AF_INET6, "::1", self.port))
        except (OSError, CloudError) as error:
            self.notes = (f"The front door does not listen on [::1]:{self.port} ({error}). Use 127.0.0.1 instead.",)
        self._waker = socket.socketpair()
        self._acceptor.start()

    def stop(self) -> None:
        """Let requests in progress finish, then close everything. May be called at any time, and repeatedly."""
        self._closing.set()
        if self._acceptor.is_alive():
            self._waker[0].send(b"!")
            self._acceptor.join()
        self._finish_connections()
        for open_socket in (*self._listeners, *self._waker):
            open_socket.close()
        self._upstream.close()

    def _finish_connections(self) -> None:
        deadline = time.monotonic() + _SECONDS_TO_FINISH
        connections = list(self._connections.items())
        for client, _ in connections:
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RD)  # ends the wait for a next request, not the current answer
        for _, thread in connections:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _accept_until_closed(self) -> None:
        with selectors.DefaultSelector() as selector:
            for readable in (*self._listeners, self._waker[1]):
                selector.register(readable, selectors.EVENT_READ)
            while not self._closing.is_set():
                for key, _ in selector.select():
                    if key.fileobj is not self._waker[1]:
                        self._accept(cast("socket.socket", key.fileobj))

    def _accept(self, listener: socket.socket) -> None:
        try:
            client, address = listener.accept()
        except OSError:  # the client has left already
            return
        thread = threading.Thread(target=self._serve_connection, args=(client, str(address[0])), daemon=True)
        self._connections[client] = thread
        thread.start()

    def _serve_connection(self, client: socket.socket, peer: str) -> None:
        client.settimeout(IDLE_LIMIT)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with client, client.makefile("rb") as stream, contextlib.suppress(OSError):
            while not self._closing.is_set() and self._serve_request(client, stream, peer):
                pass
        self._connections.pop(client, None)

    def _serve_request(self, client: socket.socket, stream: BinaryIO, peer: str) -> bool:
        try:
            request = _receive(client, stream)
        except RefusedError as refusal:
            client.sendall(render(refusal.answer, "", keep_alive=False))
            _linger(client)
            return False
        if request is None:
            return False
        head, body = request
        answer = self._forward(head, body, peer)
        keep_alive = head.keeps_alive and not self._closing.is_set()
        client.sendall(render(answer, head.method, keep_alive=keep_alive))
        return keep_alive

    def _forward(self, head: Head, body: bytes, peer: str) -> Answer:
        try:
            return hide_crash(self._upstream.exchange(self._target(), head, body, peer))
        except TimeoutError:
            return message_answer(503, "Service Unavailable")
        except (OSError, HTTPException):
            return message_answer(503, "The emulator does not answer; it may be restarting. Try again in a moment.")


class Upstream:
    """The door's HTTP client: sends requests to the emulator and keeps its connections open for the next ones."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._idle: deque[HTTPConnection] = deque()

    def exchange(self, target: str, head: Head, body: bytes, peer: str) -> Answer:
        """Send one request and return its answer."""
        parts = urlsplit(target)
        outgoing = Head(head.method, parts.path + head.path, 1, _for_emulator(head, parts.netloc, body, peer))
        connection = self._send(parts.netloc, outgoing, body)
        try:
            answer = _read_answer(connection)
        except BaseException:
            connection.close()
            raise
        self._keep(connection)
        return answer

    def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            self._idle.pop().close()

    def _send(self, netloc: str, head: Head, body: bytes) -> HTTPConnection:
        idle = self._take(netloc)
        if idle is not None:
            # The emulator may close an idle connection at the moment of its use. Then, and only if no byte
            # of an answer has arrived, the request is sent again.
            with contextlib.suppress(ConnectionError):
                return _send_and_await(idle, head, body)
        return _send_and_await(HTTPConnection(netloc, timeout=self._timeout), head, body)

    def _take(self, netloc: str) -> HTTPConnection | None:
        while self._idle:
            connection = self._idle.pop()
            if f"{connection.host}:{connection.port}" == netloc and not _is_readable(connection):
                return connection
            connection.close()
        return None

    def _keep(self, connection: HTTPConnection) -> None:
        if len(self._idle) < _KEPT_CONNECTIONS:
            self._idle.append(connection)
        else:
            connection.close()


def hide_crash(answer: Answer) -> Answer:
    """Replace an answer that describes the crash of a function by API Gateway's answer, which does not describe it."""
    if answer.status == 502 and _describes_crash(answer.body):
        return message_answer(500, "Internal Server Error")
    return answer


def _describes_crash(body: bytes) -> bool:
    try:
        document = cast("object", json.loads(body))
    except ValueError:
        return False
    return isinstance(document, dict) and "errorMessage" in document


def _for_emulator(head: Head, netloc: str, body: bytes, peer: str) -> Fields:
    replaced = {"host", "x-forwarded-for", "content-length"}
    forwarded = [(key, value) for key, value in end_to_end(head.fields) if key.lower() not in replaced]
    has_body = bool(body) or bool(head.values("content-length"))
    length = [("Content-Length", str(len(body)))] if has_body else []
    return (("Host", netloc), *forwarded, ("X-Forwarded-For", peer), *length)


def _send_and_await(connection: HTTPConnection, head: Head, body: bytes) -> HTTPConnection:
    """Send a request and return the connection when the first byte of an answer has arrived."""
    try:
        connection.putrequest(head.method, head.path, skip_host=True, skip_accept_encoding=True)
        for key, value in head.fields:
            connection.putheader(key, value)
        connection.endheaders(body or None)
        _await_first_byte(cast("socket.socket", connection.sock))
    except BaseException:
        connection.close()
        raise
    return connection


def _await_first_byte(upstream: socket.socket) -> None:
    if not upstream.recv(1, socket.MSG_PEEK):
        raise ConnectionResetError(errno.ECONNRESET, "closed before an answer")


def _read_answer(connection: HTTPConnection) -> Answer:
    with connection.getresponse() as response:
        return Answer(response.status, response.reason, tuple(response.getheaders()), response.read())


def _is_readable(connection: HTTPConnection) -> bool:
    # An idle connection is readable only when the other end has closed it.
    open_socket = cast("socket.socket | None", connection.sock)
    if open_socket is None:
        return True
    with selectors.DefaultSelector() as selector:
        selector.register(open_socket, selectors.EVENT_READ)
        return bool(selector.select(0))


def _receive(client: socket.socket, stream: BinaryIO) -> tuple[Head, bytes] | None:
    head = read_head(stream)
    if head is None:
        return None
    size = body_size(head)
    if size != 0 and head.waits_for_continue:
        client.sendall(_CONTINUE)
    return head, read_body(stream, size)


def _linger(client: socket.socket) -> None:
    # Closing while the client still sends would reset the connection before the client reads the refusal.
    client.shutdown(socket.SHUT_WR)
    client.settimeout(_SECONDS_TO_READ_REFUSAL)
    deadline = time.monotonic() + _SECONDS_TO_READ_REFUSAL
    while time.monotonic() < deadline and client.recv(1 << 16):
        pass


def _listen(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(128)
        listener.settimeout(0)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise port_in_use_error(port) from error
        raise
    return listener
