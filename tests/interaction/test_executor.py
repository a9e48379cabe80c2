"""The one line of an author, with AWS on the other end of a wire."""

import io
import json
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from signpost.adapters.memory import MemoryMasterKeys
from signpost.calling.wire import LARGEST_REPLY, call_message, parse_reply
from signpost.contract import CallReply, Failure, FunctionCall, KeptResult, Result
from signpost.model import MasterKeys
from signpost.signing.capability_tokens import TokenMint, derive_executor_key, grant_of
from signpost.signing.key_ring import KeyRing
from signpost.toolkit import DeclarationError, Function, executor
from signpost.toolkit.log import Log
from tests.support.function_host import build_call, encode_reply
from tests.support.imports import imported_by
from tests.support.memory_gateway import ManualClock

MASTER, ARN = "a" * 64, "arn:aws:lambda:us-east-1:000000000000:function:mail"
SECRET_ARN = "arn:aws:secretsmanager:us-east-1:000000000000:secret:mail"


class FakeAws(BaseHTTPRequestHandler):
    """The two services that an executor uses."""

    secret: ClassVar[Any]
    kept: ClassVar[dict[str, bytes]]

    def do_POST(self) -> None:
        asked = json.loads(self._body())
        if self.secret is None or asked != {"SecretId": SECRET_ARN}:
            self._answer(400, b'{"__type": "AccessDeniedException"}')
        else:
            self._answer(200, json.dumps({"SecretString": json.dumps(self.secret)}).encode())

    def do_PUT(self) -> None:
        self.kept[self.path] = self._body()
        self._answer(200, b"")

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"]))

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - it says nothing
        pass


@pytest.fixture
def fake_aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[FakeAws]]:
    class Own(FakeAws):
        secret: ClassVar[Any] = {"current": derive_executor_key(MASTER, ARN)}
        kept: ClassVar[dict[str, bytes]] = {}

    server = ThreadingHTTPServer(("127.0.0.1", 0), Own)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    environment = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "EXECUTOR_KEY_SECRET_ARN": SECRET_ARN,
        "AWS_LAMBDA_FUNCTION_NAME": "mail",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    yield Own
    server.shutdown()
    thread.join()
    server.server_close()


class Sandbox:
    def get_remaining_time_in_millis(self) -> int:
        return 30_000


SANDBOX: Any = Sandbox()


def message_of(call: FunctionCall, master: str = MASTER) -> dict[str, Any]:
    clock = ManualClock(time.time())
    mint = TokenMint(KeyRing(store=MemoryMasterKeys(MasterKeys(master)), clock=clock))
    return json.loads(json.dumps(call_message(call, mint.mint(grant_of(call, ARN, call.deadline)))))


def ask(handler: Any, event: dict[str, Any]) -> CallReply:
    return parse_reply(encode_reply(handler(event, SANDBOX)))


@pytest.mark.usefixtures("fake_aws")
def test_executor_makes_functions_a_lambda_handler(capsys: pytest.CaptureFixture[str]) -> None:
    def send(args: Any) -> object:
        return args["to"]

    handler = executor(Function("email::send", send))
    assert ask(handler, message_of(build_call("email::send", {"to": "Ada"}))) == Result("Ada", [])
    line = json.loads(capsys.readouterr().out)
    assert (line["message"], line["executor"], line["outcome"]) == ("called", "mail", "result")


@pytest.mark.usefixtures("fake_aws")
def test_a_token_of_another_stack_is_refused() -> None:
    handler = executor(Function("f", lambda: 1))
    reply = ask(handler, message_of(build_call("f"), master="b" * 64))
    assert isinstance(reply, Failure)
    assert reply.code == "invalid_token"


def test_an_executor_that_cannot_read_its_keys_runs_no_function(fake_aws: type[FakeAws]) -> None:
    fake_aws.secret = None
    reply = ask(executor(Function("f", lambda: 1)), message_of(build_call("f")))
    assert isinstance(reply, Failure)
    assert (reply.code, reply.outcome) == ("not_loadable", "none")


def test_a_long_result_is_stored_in_the_content_bucket(
    fake_aws: type[FakeAws], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTENT_BUCKET", "content")
    handler = executor(Function("f", lambda: "x" * LARGEST_REPLY))
    reply = ask(handler, message_of(build_call("f", keep_at="results/acme/1")))
    assert isinstance(reply, KeptResult)
    (path,) = fake_aws.kept
    assert path.startswith("/content/results/acme/1")


@pytest.mark.usefixtures("fake_aws")
def test_an_executor_without_a_key_secret_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EXECUTOR_KEY_SECRET_ARN")
    with pytest.raises(DeclarationError, match="EXECUTOR_KEY_SECRET_ARN is not set"):
        executor(Function("f", lambda: 1))


def test_two_functions_of_one_id_are_refused_at_import() -> None:
    with pytest.raises(DeclarationError, match="email::send"):
        executor(Function("email::send", lambda: 1), Function("email::send", lambda: 2))


def test_importing_the_toolkit_imports_no_slow_module() -> None:
    slow = {"boto3", "botocore", "jsonschema", "aws_lambda_powertools", "pydantic"}
    assert imported_by("import signpost.toolkit", slow) == set()


def test_a_log_event_is_dropped_if_stdout_is_closed_or_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    for stream in (closed, None):
        monkeypatch.setattr(sys, "stdout", stream)
        Log().write_event("INFO", "called")
