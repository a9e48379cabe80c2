"""The HTTP/1.1 server of the issuer on 127.0.0.1. It sends each answer in one write."""

import logging
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler
from socketserver import BaseServer, ThreadingTCPServer
from threading import Thread
from typing import Any, override

from local.issuer.exchange import Answer, OAuthError, Request, as_json, error_answer

type Respond = Callable[[Request], Answer]

LARGEST_BODY = 64 * 1024
log = logging.getLogger(__name__)


class Server(ThreadingTCPServer):
    """A server that is bound when it is made, so its port is known before it serves."""

    # Not http.server.HTTPServer: its bind asks DNS for the name of the machine, which takes seconds on some machines.
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, port: int, respond: Respond) -> None:
        super().__init__(("127.0.0.1", port), partial(_Handler, respond))
        self._connections: set[socket.socket] = set()
        self._thread: Thread | None = None

    @property
    def port(self) -> int:
        return int(self.socket.getsockname()[1])

    def start(self) -> None:
        self._thread = Thread(target=self.serve_forever, args=(0.1,), name="issuer", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        if self._thread:
            self.shutdown()
            self._thread.join()
        for connection in tuple(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.server_close()

    @override
    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    @override
    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        # The handler logs failures of the issuer; the other errors are of clients that closed the connection.
        log.debug("A connection ended early: %r", sys.exception())


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "signpost-issuer"
    sys_version = ""
    wbufsize = 1 << 20  # head and body are sent together
    disable_nagle_algorithm = True
    timeout = 30

    def __init__(self, respond: Respond, request: Any, client_address: Any, server: BaseServer) -> None:
        self._respond = respond
        super().__init__(request, client_address, server)

    def do_GET(self) -> None:
        self._send(self._answer(b""))

    def do_OPTIONS(self) -> None:
        self._send(self._answer(b""))

    def do_POST(self) -> None:
        try:
            body = self._body()
        except OAuthError as error:
            self.close_connection = True
            self._send(error_answer(error))
        else:
            self._send(self._answer(body))

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: requests contain codes and verifiers, which must not be logged."""

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            raise OAuthError("invalid_request", "Send the body with a Content-Length.", status=411)
        if int(length) > LARGEST_BODY:
            raise OAuthError("invalid_request", "The body is too large.", status=413)
        return self.rfile.read(int(length))

    def _answer(self, body: bytes) -> Answer:
        path, _, query = self.path.partition("?")
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            return self._respond(Request(self.command, path, query, headers, body))
        except Exception:
            log.exception("The issuer failed to answer %s %s.", self.command, path)
            return as_json({"error": "server_error"}, 500)

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)
