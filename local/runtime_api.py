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
class ReadyReport:
    """The process asks for its next call."""


@dataclass(frozen=True, slots=True)
class ResponseReport:
    """The process answers the call that it has."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """The process reports an error: of the call it has, or of its init if it has no call yet."""

    error: bytes


@dataclass(frozen=True, slots=True)
class ExitReport:
    """The process has ended. As in subprocess, a negative status is the signal that ended it."""

    status: int


@dataclass(frozen=True, slots=True)
class TimeoutReport:
    """The process reported nothing for this time."""

    seconds: float


type Report = ReadyReport | ResponseReport | ErrorReport | ExitReport | TimeoutReport


class Exchange:
    """The two queues between a sandbox and its process: calls to the process, and reports from it."""

    def __init__(self) -> None:
        self.calls: SimpleQueue[Call | None] = SimpleQueue()
        self.reports: SimpleQueue[Report] = SimpleQueue()

    def wait_for_report(self, seconds: float) -> Report:
        try:
            return self.reports.get(timeout=seconds)
        except Empty:
            return TimeoutReport(seconds)


class RuntimeApi:
    """The HTTP server of one exchange, on a port of its own, on loopback only."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._server = _Server(("127.0.0.1", 0), partial(_Handler, exchange))
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
        # A process that was killed leaves broken connections; the sandbox reports its exit.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Each answer is one write and is sent at once: two small segments would cost 40 ms a call (delayed ACK).
    wbufsize = 1 << 16
    disable_nagle_algorithm = True

    def __init__(self, exchange: Exchange, request: Any, client_address: Any, server: BaseServer) -> None:
        self._exchange = exchange
        super().__init__(request, client_address, server)

    def do_GET(self) -> None:
        if self.path != f"{_PREFIX}/invocation/next":
            self._answer(HTTPStatus.NOT_FOUND)
            return
        self._exchange.reports.put(ReadyReport())
        call = self._exchange.calls.get()
        if call is None:
            self.close_connection = True
            return
        self._answer(HTTPStatus.OK, call.event, call.headers())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        report = self._report(body)
        if report is not None:
            # Put before the answer: with the answer, the process may ask for its next call on another connection.
            self._exchange.reports.put(report)
        self._answer(HTTPStatus.NOT_FOUND if report is None else HTTPStatus.ACCEPTED)

    def _report(self, body: bytes) -> Report | None:
        match self.path.removeprefix(_PREFIX).split("/"):
            case ["", "invocation", _, "response"]:
                return ResponseReport(body)
            case ["", "invocation", _, "error"] | ["", "init", "error"]:
                return ErrorReport(body)
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

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the name in http.server
        """Log nothing: the reports tell how a call went."""
