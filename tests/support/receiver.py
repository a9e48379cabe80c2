"""A web server on loopback that records the requests and answers them as a test says."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from ssl import SSLContext
from threading import Thread
from typing import Any


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    method: str
    path: str
    headers: Mapping[str, str]
    """The headers by their names in lowercase."""
    body: bytes


@dataclass(frozen=True, slots=True)
class ReceiverReply:
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


type MakeReply = Callable[[ReceivedRequest], ReceiverReply]


class Receiver(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, answer: MakeReply, tls: SSLContext | None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.make_reply = answer
        self.received_requests: SimpleQueue[ReceivedRequest] = SimpleQueue()
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors: some tests have clients that close the connection in the middle."""
        del request, client_address


class _Handler(BaseHTTPRequestHandler):
    server: Receiver  # pyright: ignore[reportIncompatibleVariableOverride] - the only server it has

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        headers = {name.lower(): value for name, value in self.headers.items()}
        received = ReceivedRequest(self.command, self.path, headers, body)
        self.server.received_requests.put(received)
        reply = self.server.make_reply(received)
        self.send_response(reply.status)
        for name, value in {"content-length": str(len(reply.body)), **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)

    do_GET = do_POST  # noqa: N815 - the base class looks for this name
    do_HEAD = do_POST  # noqa: N815 - likewise

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name is the base class's
        del format, args


@contextmanager
def start_receiver(answer: MakeReply = lambda _: ReceiverReply(), tls: SSLContext | None = None) -> Generator[Receiver]:
    server = Receiver(answer, tls)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
