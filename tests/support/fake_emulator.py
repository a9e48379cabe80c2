"""An emulator with one API, whose function does what a test tells it, and a door in front of it."""

import contextlib
import http.client
import itertools
import json
import socket
import threading
from collections.abc import Callable, Generator, Sequence
from typing import Any, BinaryIO

from local.api_gateway import ApiAddress, ApiGateway
from local.door import Door

API_ID = "api1"
FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:gateway"
OK: dict[str, Any] = {"statusCode": 200, "headers": {"x-theirs": "yes"}, "body": "ok"}


class FakeEmulator:
    """Answers each invocation with the bytes that `answer` returns; None closes the connection instead."""

    def __init__(self, *route_keys: str) -> None:
        self.route_keys: Sequence[str] = route_keys or ("$default",)
        self.requests: list[bytes] = []
        self.connections: list[socket.socket] = []
        self.answer: Callable[[Any], bytes | None] = lambda _: respond(OK)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    @property
    def api(self) -> ApiAddress:
        return ApiAddress(f"127.0.0.1:{self._listener.getsockname()[1]}", API_ID)

    @property
    def invocations(self) -> list[bytes]:
        """The requests that invoke the function."""
        return [request for request in self.requests if request.startswith(b"POST ")]

    @property
    def events(self) -> list[Any]:
        """The events with which the function was invoked."""
        return [json.loads(request.partition(b"\r\n\r\n")[2]) for request in self.invocations]

    def hang_up(self) -> None:
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads[1:]:
            thread.join()

    def stop(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        self.hang_up()
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections.append(connection)
                thread = threading.Thread(target=self._serve, args=(connection,))
                self._threads.append(thread)
                thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream, contextlib.suppress(OSError):
            while request := read_request(stream):
                self.requests.append(request)
                answer = self._answer(request)
                if answer is None:
                    return
                connection.sendall(answer)

    def _answer(self, request: bytes) -> bytes | None:
        path = request.split(b" ", 2)[1].decode()
        if path.startswith("/v2/apis/") and not self.route_keys:
            return respond({"message": "Invalid API identifier specified"}, "404 Not Found")
        if path == f"/v2/apis/{API_ID}/routes":
            return respond({"items": [{"routeKey": key, "target": "integrations/i1"} for key in self.route_keys]})
        if path == f"/v2/apis/{API_ID}/integrations":
            return respond({"items": [{"integrationId": "i1", "integrationUri": FUNCTION}]})
        return self.answer(json.loads(request.partition(b"\r\n\r\n")[2]))


@contextlib.contextmanager
def open_door(emulator: FakeEmulator, timeout: float = 5) -> Generator[Door]:
    gateway = ApiGateway(lambda: emulator.api, timeout)
    door = Door(0, gateway.answer)
    door.start()
    yield door
    door.stop()
    gateway.close()


@contextlib.contextmanager
def connect(door: Door, host: str = "127.0.0.1") -> Generator[http.client.HTTPConnection]:
    with contextlib.closing(http.client.HTTPConnection(host, door.port, timeout=10)) as connection:
        yield connection


def respond(document: object, status: str = "200 OK", fields: str = "") -> bytes:
    body = json.dumps(document).encode()
    return f"HTTP/1.1 {status}\r\n{fields}Content-Length: {len(body)}\r\n\r\n".encode() + body


def read_request(stream: BinaryIO) -> bytes:
    lines = list(itertools.takewhile(lambda line: line not in (b"\r\n", b""), iter(stream.readline, None)))
    fields = dict(line.strip().lower().split(b": ", 1) for line in lines[1:])
    head = b"".join(lines)
    return head + b"\r\n" + stream.read(int(fields.get(b"content-length", b"0"))) if head else b""
