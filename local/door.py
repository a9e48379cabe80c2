"""The front door of the laptop: an HTTP server on loopback, which passes requests to `local/api_gateway.py`."""

import contextlib
import errno
import selectors
import socket
import threading
import time
from collections.abc import Callable
from typing import BinaryIO, cast

from local.errors import CloudError
from local.ports import port_in_use_error
from local.wire import Answer, Head, RefusedError, body_size, read_body, read_head, render

IDLE_LIMIT = 600.0
"""Seconds after which API Gateway closes an idle connection."""

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_SECONDS_TO_FINISH = 5.0
_SECONDS_TO_READ_REFUSAL = 2.0


class Door:
    """An HTTP server on one port of 127.0.0.1 and ::1.

    `answer` returns the answer to a request: its head, its body and the address of the client.
    """

    def __init__(self, port: int, answer: Callable[[Head, bytes, str], Answer]) -> None:
        self.port = port
        self.notes: tuple[str, ...] = ()
        self._answer = answer
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
        answer = self._answer(head, body, peer)
        keep_alive = head.keeps_alive and not self._closing.is_set()
        client.sendall(render(answer, head.method, keep_alive=keep_alive))
        return keep_alive


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
