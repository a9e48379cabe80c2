"""A stub of AWS on loopback, so that a bench measures the code and not a service."""

import json
import threading
from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseServer
from typing import Any, Self

from local.json_values import Json, JsonObject

type Rows = Mapping[tuple[str, str], JsonObject]
"""Items in DynamoDB's JSON, by partition key and sort key."""


def answer_operation(target: str, request: JsonObject, rows: Rows) -> JsonObject | None:
    """Answer an operation as AWS would for a table with these rows, or return None if the stub does not know it."""
    match target.rpartition(".")[2]:
        case "GetItem":
            item = rows.get(_key(request))
            return {} if item is None else {"Item": item}
        case "Query":
            return {"Items": [], "Count": 0, "ScannedCount": 0}
        case "GetSecretValue":
            return {"Name": "bench", "SecretString": json.dumps({"current": "0" * 64})}
        case _:
            return None


def _key(request: JsonObject) -> tuple[str, str]:
    match request.get("Key"):
        case {"pk": {"S": str(pk)}, "sk": {"S": str(sk)}}:
            return pk, sk
        case _:
            return "", ""


class AwsStub:
    """An HTTP server in a thread, which runs while the context is open."""

    def __init__(self, rows: Rows) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_StubRequestHandler, rows))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _StubRequestHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Each answer is one write that is sent at once. Otherwise the bench would measure delayed acknowledgements.
    wbufsize = 1 << 16
    disable_nagle_algorithm = True

    def __init__(self, rows: Rows, request: Any, client_address: Any, server: BaseServer) -> None:
        self._rows = rows
        super().__init__(request, client_address, server)

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        target = self.headers.get("X-Amz-Target", "")
        result = answer_operation(target, request, self._rows)
        if result is None:
            error: JsonObject = {"__type": "UnknownOperationException", "message": target}
            self._send(HTTPStatus.BAD_REQUEST, error)
        else:
            self._send(HTTPStatus.OK, result)

    def _send(self, status: HTTPStatus, document: Json) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the name in http.server
        """Log nothing, because the output is the table of the bench."""
