"""The HTTP interface between Lambda and the one process of a sandbox: Lambda's Runtime API, 2018-06-01."""

import sys
import threading
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, SimpleQueue
from socketserver import BaseServer
from typing import Any

_PREFIX = "/2018-06-01/runtime"


@dataclass(frozen=True, slots=True)
class Call:
    request_id: str
    trace_id: str
    function_arn: str
    deadline_ms: int
    event: bytes

    def headers(self) -> dict[str, str]:
        return {
            "Lambda-Runtime-Aws-Request-Id": self.request_id,
            "Lambda-Runtime-Trace-Id": self.trace_id,
            "Lambda-Runtime-Invoked-Function-Arn": self.function_arn,
            "Lambda-Runtime-Deadline-Ms": str(self.deadline_ms),
        }


@dataclass(frozen=True, slots=True)
class Ready:
    """The process asks for its next call."""


@dataclass(frozen=True, slots=True)
class Answered:
    payload: bytes


@dataclass(frozen=True, slots=True)
class Failed:
    """The process reports an error: of the call it has, or of its init if it has none yet."""

    error: bytes


@dataclass(frozen=True, slots=True)
class Exited:
    """The process is gone. Negative is the signal that ended it, as in subprocess."""

    status: int


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The process said nothing for this long."""

    seconds: float


type Report = Ready | Answered | Failed | Exited | TimedOut


class Exchange:
    """Where the two sides of a sandbox meet: calls go in, reports come out, each in its order."""

    def __init__(self) -> None:
        self.calls: SimpleQueue[Call | None] = SimpleQueue()
        self.reports: SimpleQueue[Report] = SimpleQueue()

    def report_within(self, seconds: float) -> Report:
        try:
            return self.reports.get(timeout=seconds)
        except Empty:
            return TimedOut(seconds)


class RuntimeApi:
    """Serves an exchange on a port of its own, on loopback only."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._server = _Server(("127.0.0.1", 0), partial(_Conversation, exchange))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._exchange.calls.put(None)
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        # A process that was killed leaves broken connections behind; its exit is reported on another way.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Conversation(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # One write an answer, sent at once: two small segments would cost 40 ms each call (delayed ACK).
    wbufsize = 1 << 16
    disable_nagle_algorithm = True

    def __init__(self, exchange: Exchange, request: Any, client_address: Any, server: BaseServer) -> None:
        self._exchange = exchange
        super().__init__(request, client_address, server)

    def do_GET(self) -> None:
        if self.path != f"{_PREFIX}/invocation/next":
            self._answer(HTTPStatus.NOT_FOUND)
            return
        self._exchange.reports.put(Ready())
        call = self._exchange.calls.get()
        if call is None:
            self.close_connection = True
            return
        self._answer(HTTPStatus.OK, call.event, call.headers())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        report = self._report(body)
        if report is not None:
            # Before the answer: with it in hand, the process may ask for the next call on another connection.
            self._exchange.reports.put(report)
        self._answer(HTTPStatus.NOT_FOUND if report is None else HTTPStatus.ACCEPTED)

    def _report(self, body: bytes) -> Report | None:
        match self.path.removeprefix(_PREFIX).split("/"):
            case ["", "invocation", _, "response"]:
                return Answered(body)
            case ["", "invocation", _, "error"] | ["", "init", "error"]:
                return Failed(body)
            case _:
                return None

    def _answer(self, status: HTTPStatus, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the name http.server gave it
        """Says nothing: what counts is reported."""
