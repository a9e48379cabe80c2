"""Sockets in the network namespace of another process, and a port relay from there to a port of this machine."""

import contextlib
import os
import selectors
import socket
import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

from local.ports import LOOPBACK

_CHUNK = 65536
_SECONDS_TO_CONNECT = 5.0
_IP_FREEBIND = 15
"""Linux's option for binding to an address that no interface has yet; `socket` has no name for it."""


def call_in_network[Result](process: int | None, function: Callable[[], Result]) -> Result:
    """Call a function in the network namespace of a process, or in this one's. Its sockets stay in that namespace."""
    if process is None:
        return function()

    def enter_and_call() -> Result:
        with Path(f"/proc/{process}/ns/net").open("rb") as namespace:
            os.setns(namespace.fileno(), os.CLONE_NEWNET)
        return function()

    with ThreadPoolExecutor(1) as thread:  # only this thread enters the namespace, and it ends here
        return thread.submit(enter_and_call).result()


def listen(address: str, *, process: int | None, is_made_later: bool = False) -> socket.socket:
    """Listen on a free port of one address only. The address of a bridge that is made later need not exist yet."""

    def make_socket() -> socket.socket:
        listener = socket.socket()
        if is_made_later:
            listener.setsockopt(socket.IPPROTO_IP, _IP_FREEBIND, 1)
        listener.bind((address, 0))
        listener.listen()
        return listener

    return call_in_network(process, make_socket)


class PortRelay:
    """Connects every client of a listening socket with a port of this machine's loopback."""

    def __init__(self, listener: socket.socket, port: int) -> None:
        self._listener = listener
        self._port = port
        self._closing, self._waker = socket.socketpair()
        self._acceptor = threading.Thread(target=self._accept_until_closed, name="port relay", daemon=True)

    def __enter__(self) -> Self:
        self._acceptor.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._waker.close()
        self._acceptor.join()
        self._listener.close()
        self._closing.close()

    def _accept_until_closed(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._closing, selectors.EVENT_READ)
            while self._closing not in {key.fileobj for key, _ in selector.select()}:
                client, _ = self._listener.accept()
                threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        with (
            client,
            contextlib.suppress(OSError),
            socket.create_connection((LOOPBACK, self._port), _SECONDS_TO_CONNECT) as target,
        ):
            target.settimeout(None)
            with _copying(target, client):
                _copy(client, target)


@contextlib.contextmanager
def _copying(source: socket.socket, target: socket.socket) -> Generator[None]:
    """Copy bytes in a thread of its own during the block, and wait for their end after it."""
    thread = threading.Thread(target=_copy, args=(source, target), daemon=True)
    thread.start()
    yield
    thread.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
