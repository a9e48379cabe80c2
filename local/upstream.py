"""The HTTP client of the front door: connections to another server of this machine, kept for the next requests."""

import contextlib
import errno
import selectors
import socket
from collections import deque
from http.client import HTTPConnection
from typing import cast

from local.wire import Answer, Head

_KEPT_CONNECTIONS = 32


class Upstream:
    """Sends requests, and keeps the connections open for the next ones."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._idle: deque[HTTPConnection] = deque()

    def exchange(self, netloc: str, head: Head, body: bytes) -> Answer:
        """Send one request, whose head is complete, and return its answer."""
        connection = self._send(netloc, head, body)
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
            # The other end may close an idle connection at the moment of its use. Then, and only if no byte
            # of an answer has arrived, the request is sent again.
            with contextlib.suppress(ConnectionError):
                return _send_and_await(idle, head, body)
        return _send_and_await(HTTPConnection(netloc, timeout=self._timeout), head, body)

    def _take(self, netloc: str) -> HTTPConnection | None:
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:  # other threads take connections too
                return None
            if f"{connection.host}:{connection.port}" == netloc and not _is_readable(connection):
                return connection
            connection.close()

    def _keep(self, connection: HTTPConnection) -> None:
        if len(self._idle) < _KEPT_CONNECTIONS:
            self._idle.append(connection)
        else:
            connection.close()


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
