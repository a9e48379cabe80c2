"""The way to another Lambda function, over a wire to a server that answers as Lambda does."""

import gc
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, cast, override

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ParamValidationError

from signpost.adapters.lambdas import (
    CRASH_CODES,
    IDLE_SECONDS,
    REFUSAL_CODES,
    BotoLambdaTransport,
    InvocationAnswer,
)
from signpost.calling.failures import FAILURES
from signpost.contract import TransportFailure
from signpost.wiring.aws_clients import CALL_CONFIG
from tests.support.memory_gateway import ManualClock
from tests.support.slowdown import CLOCK_CORRECTION, shortest

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

ARN = "arn:aws:lambda:us-east-1:000000000000:function:mail"
PATH = "/2015-03-31/functions/arn%3Aaws%3Alambda%3Aus-east-1%3A000000000000%3Afunction%3Amail/invocations"
PAYLOAD, REPLY = b'{"signpost": 1}', b'{"signpost": 1, "result": "sent"}'
PATIENCE_SECONDS = 10.0

type Behaviour = Callable[["Connection"], None]


class Lambda(ThreadingHTTPServer):
    """Counts who connects and keeps what arrives. What it does about it, is up to the test."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Connection)
        self.does: Behaviour = answers()
        self.connected: list[Connection] = []
        self.requests: list[tuple[str, bytes]] = []
        self.hurry = threading.Event()
        """What waits, waits for this."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def connections(self) -> int:
        """How many there were."""
        return len(self.connected)

    def hang_up(self) -> None:
        self.hurry.set()
        for connection in self.connected:
            with suppress(OSError):
                connection.connection.shutdown(socket.SHUT_RDWR)


class Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    lambdas: Lambda
    requests_here: int

    @override
    def setup(self) -> None:
        super().setup()
        self.lambdas = cast("Lambda", self.server)
        self.lambdas.connected.append(self)
        self.requests_here = 0

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.lambdas.requests.append((self.path, body))
        self.requests_here += 1
        self.lambdas.does(self)

    def answer(self, status: int, headers: Mapping[str, str], body: bytes, length: int) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - it says nothing
        pass


def answers(body: bytes = REPLY, *, status: int = 200, **headers: str) -> Behaviour:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda connection: connection.answer(status, named, body, len(body))


def refuses(code: str, status: int) -> Behaviour:
    """As the REST-JSON protocol has it: the code in a header, and what kind of a fault it is in the body."""
    body = json.dumps({"Type": "User" if status < 500 else "Service", "Message": f"About {ARN}.", "Reason": "Why"})
    kind = {"x_amzn_ErrorType": f"{code}:http://internal.amazon.com/coral/com.amazonaws.awsgirapi/"}
    return answers(body.encode(), status=status, content_type="application/json", **kind)


def ends(body: bytes) -> Behaviour:
    return answers(body, X_Amz_Function_Error="Unhandled")


def ends_with(error_type: str, message: str = "Something happened.") -> Behaviour:
    return ends(json.dumps({"errorType": error_type, "errorMessage": message, "stackTrace": []}).encode())


def closes(connection: Connection) -> None:
    connection.close_connection = True


def sends_another_protocol(connection: Connection) -> None:
    connection.wfile.write(b"220 mail.example.com ESMTP\r\n")
    connection.close_connection = True


def closes_amid_the_answer(connection: Connection) -> None:
    connection.answer(200, {}, REPLY[:5], len(REPLY))
    connection.close_connection = True


def closes_amid_the_first_line(connection: Connection) -> None:
    connection.wfile.write(b"HTTP/1.1 ")
    connection.close_connection = True


def waits(connection: Connection) -> None:
    connection.lambdas.hurry.wait(PATIENCE_SECONDS)
    connection.close_connection = True


def waits_amid_the_answer(connection: Connection) -> None:
    connection.answer(200, {}, REPLY[:5], len(REPLY))
    waits(connection)


def drops_later_requests(connection: Connection) -> None:
    """As the other end of a connection that is gone, of which nothing tells us."""
    if connection.requests_here == 1:
        answers()(connection)
    else:
        closes(connection)


@pytest.fixture
def lambdas() -> Iterator[Lambda]:
    with Lambda() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()
        server.hang_up()
        for call in (one for one in threading.enumerate() if one.name.startswith("call of ")):
            call.join(PATIENCE_SECONDS)


class Caller:
    """The link, with the client that production makes but for where it calls."""

    def __init__(self, url: str, config: Config = CALL_CONFIG) -> None:
        self._url = url
        self._config = config
        self._clients: list[LambdaClient] = []
        self.clock = ManualClock()
        self.left_behind: list[str] = []
        self.link = BotoLambdaTransport(self._client, clock=self.clock, log_abandoned_call=self.left_behind.append)

    def _client(self) -> "LambdaClient":
        secrets = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
        client = boto3.client(
            "lambda", region_name="us-east-1", endpoint_url=self._url, config=self._config, **cast("Any", secrets)
        )
        self._clients.append(client)
        return client

    def send(self, arn: str = ARN, *, within: float = PATIENCE_SECONDS) -> InvocationAnswer:
        return self.link.send(arn, PAYLOAD, self.clock.now() + within)

    def code(self, **how: Any) -> str:
        """Of a call that is not answered. It is a row of the table of failures."""
        answer = self.send(**how)
        assert isinstance(answer, TransportFailure)
        assert answer.code in FAILURES
        return answer.code

    def close(self) -> None:
        for client in self._clients:
            client.close()


@pytest.fixture
def caller(lambdas: Lambda) -> Iterator[Caller]:
    caller = Caller(lambdas.url)
    yield caller
    caller.close()


def called_once(lambdas: Lambda) -> bool:
    return lambdas.requests == [(PATH, PAYLOAD)]


def modelled_refusals() -> Mapping[str, int]:
    """Every error that Invoke is known to answer, with its status, from the model of the service."""
    service = cast("Any", boto3.client("lambda", region_name="us-east-1")).meta.service_model
    errors = service.operation_model("Invoke").error_shapes
    return {str(shape.name): int(shape.metadata["error"]["httpStatusCode"]) for shape in errors}


MODELLED = modelled_refusals()
COMMON_REFUSALS = {"AccessDeniedException": 403}
"""In no model."""


def test_an_answer_arrives_as_it_was_sent(caller: Caller, lambdas: Lambda) -> None:
    assert caller.send() == REPLY
    assert called_once(lambdas)
    assert caller.left_behind == []


def test_the_body_of_an_answer_is_not_interpreted(caller: Caller, lambdas: Lambda) -> None:
    lambdas.does = answers(b'{"errorType": "Sandbox.Timedout"}')
    assert caller.send() == b'{"errorType": "Sandbox.Timedout"}'


def test_every_known_refusal_code_is_one_that_lambda_returns() -> None:
    assert set(REFUSAL_CODES) <= set(MODELLED) | set(COMMON_REFUSALS)


@pytest.mark.parametrize(("code", "expected"), REFUSAL_CODES.items())
def test_a_refusal_before_the_run_has_no_effect(caller: Caller, lambdas: Lambda, code: str, expected: str) -> None:
    lambdas.does = refuses(code, {**MODELLED, **COMMON_REFUSALS}[code])
    assert caller.code() == expected
    assert FAILURES[expected].outcome == "none"
    assert called_once(lambdas)


@pytest.mark.parametrize("code", sorted(MODELLED.keys() - REFUSAL_CODES.keys()))
def test_any_other_refusal_has_an_unknown_outcome_and_is_not_repeated(
    caller: Caller, lambdas: Lambda, code: str
) -> None:
    lambdas.does = refuses(code, MODELLED[code])
    assert caller.code() == "service_error"
    assert FAILURES["service_error"].outcome == "unknown"
    assert called_once(lambdas)


NO_REFUSALS_OF_LAMBDA: Mapping[str, Behaviour] = {
    "an unknown 4xx": refuses("TeapotException", 418),
    "a throttle of the signature's service": refuses("ThrottlingException", 400),
    "a code in the body only": answers(b'{"code": "TeapotException", "message": "Short."}', status=418),
    "a 500 without a word": answers(b"", status=500),
    "a 502 of a proxy": answers(b"<html>Bad gateway</html>", status=502),
    "a 503 in plain text": answers(b"Slow down.", status=503),
    "a 403 in plain text": answers(b"No.", status=403),
    "a 429 without a word": answers(b"", status=429),
    "a redirect to nowhere": answers(b"", status=307),
}


@pytest.mark.parametrize("does", NO_REFUSALS_OF_LAMBDA.values(), ids=NO_REFUSALS_OF_LAMBDA.keys())
def test_an_unknown_refusal_is_a_service_error(caller: Caller, lambdas: Lambda, does: Behaviour) -> None:
    lambdas.does = does
    assert caller.code() == "service_error"
    assert called_once(lambdas)


DEEP = b'{"errorType": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
CRASHES: Mapping[str, tuple[Behaviour, str]] = {
    **{name: (ends_with(name), code) for name, code in CRASH_CODES.items()},
    "killed": (ends_with("Runtime.ExitError", "RequestId: 1 Error: Runtime exited with error: signal: killed"),
               "out_of_memory"),
    "exited": (ends_with("Runtime.ExitError", "RequestId: 1 Error: Runtime exited with error: exit status 1"),
               "crashed"),
    "an exception": (ends_with("KeyError", "'to'"), "crashed"),
    "no type": (ends(b"{}"), "crashed"),
    "types of another type": (ends(b'{"errorType": ["Sandbox.Timedout"], "errorMessage": 1}'), "crashed"),
    "no object": (ends(b'["Runtime.OutOfMemory"]'), "crashed"),
    "no JSON": (ends(b"Task timed out"), "crashed"),
    "no text": (ends(b"\xff\xfe\x00"), "crashed"),
    "nothing": (ends(b""), "crashed"),
    "too deep": (ends(DEEP), "crashed"),
    "a kind of error that is new": (answers(b"{}", X_Amz_Function_Error="Unforeseen"), "crashed"),
}  # fmt: skip


@pytest.mark.parametrize(("does", "expected"), CRASHES.values(), ids=CRASHES.keys())
def test_the_error_type_of_a_crash_determines_the_failure_code(
    caller: Caller, lambdas: Lambda, does: Behaviour, expected: str
) -> None:
    lambdas.does = does
    assert caller.code() == expected
    assert called_once(lambdas)


def test_a_call_to_a_closed_port_is_unreachable_without_effect() -> None:
    with Lambda() as gone:
        url = gone.url
    caller = Caller(url)
    assert caller.code() == "unreachable"
    assert FAILURES["unreachable"].outcome == "none"


@pytest.mark.parametrize(
    "does",
    [closes, closes_amid_the_first_line, closes_amid_the_answer, sends_another_protocol],
    ids=lambda one: one.__name__,
)
def test_a_connection_lost_after_the_request_has_an_unknown_outcome(
    caller: Caller, lambdas: Lambda, does: Behaviour
) -> None:
    lambdas.does = does
    assert caller.code() == "connection_lost"
    assert FAILURES["connection_lost"].outcome == "unknown"
    assert called_once(lambdas)


LATE_ANSWERS = pytest.mark.parametrize("does", [waits, waits_amid_the_answer], ids=lambda one: one.__name__)


@LATE_ANSWERS
def test_a_late_answer_is_a_timeout_and_its_call_is_abandoned(caller: Caller, lambdas: Lambda, does: Behaviour) -> None:
    lambdas.does = does

    def seconds_to_answer() -> float:
        lambdas.requests.clear()
        caller.left_behind.clear()
        began = time.monotonic()
        assert caller.code(within=0.2) == "timed_out"
        took = time.monotonic() - began
        assert took > 0.2 - CLOCK_CORRECTION
        assert caller.left_behind == ["call of mail"]
        assert called_once(lambdas)
        return took

    assert shortest(seconds_to_answer, 0.5) < 0.5


@LATE_ANSWERS
def test_a_read_timeout_of_the_client_is_a_timeout(lambdas: Lambda, does: Behaviour) -> None:
    lambdas.does = does
    caller = Caller(lambdas.url, CALL_CONFIG.merge(Config(read_timeout=0.1)))
    assert caller.code() == "timed_out"
    assert caller.left_behind == []
    assert called_once(lambdas)
    caller.close()


def test_an_abandoned_call_does_not_disturb_the_next(caller: Caller, lambdas: Lambda) -> None:
    lambdas.does = waits
    assert caller.code(within=0.1) == "timed_out"
    lambdas.does = answers()
    assert caller.send() == REPLY
    lambdas.hurry.set()
    caller.clock.advance(IDLE_SECONDS + 1)
    assert caller.send() == REPLY
    assert len(lambdas.requests) == 3


def test_an_invalid_parameter_is_raised_to_the_caller(caller: Caller, lambdas: Lambda) -> None:
    with pytest.raises(ParamValidationError, match="FunctionName"):
        caller.send("")
    assert lambdas.requests == []


def test_a_client_that_cannot_be_created_is_raised_to_the_caller() -> None:
    with pytest.raises(ValueError, match="Invalid endpoint"):
        Caller("nowhere").send()


def test_a_connection_is_reused(caller: Caller, lambdas: Lambda) -> None:
    for _ in range(3):
        assert caller.send() == REPLY
        caller.clock.advance(IDLE_SECONDS)
    assert (lambdas.connections, len(lambdas.requests)) == (1, 3)


def test_a_connection_that_was_idle_for_long_is_not_reused(caller: Caller, lambdas: Lambda) -> None:
    lambdas.does = drops_later_requests
    assert caller.send() == REPLY
    caller.clock.advance(IDLE_SECONDS + 1)
    assert caller.send() == REPLY
    assert (lambdas.connections, len(lambdas.requests)) == (2, 2)


def test_a_call_on_a_closed_connection_is_not_repeated(caller: Caller, lambdas: Lambda) -> None:
    lambdas.does = drops_later_requests
    assert caller.send() == REPLY
    assert caller.code() == "connection_lost"
    assert (lambdas.connections, len(lambdas.requests)) == (1, 2)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")  # the server's threads
def test_a_fork_makes_a_connection_of_its_own_and_leaves_its_parents_alone(caller: Caller, lambdas: Lambda) -> None:
    assert caller.send() == REPLY
    assert in_a_fork(lambda: caller.send() == REPLY and caller.send() == REPLY)
    assert (lambdas.connections, len(lambdas.requests)) == (2, 3)
    assert caller.send() == REPLY
    assert (lambdas.connections, len(lambdas.requests)) == (2, 4)


def in_a_fork(holds: Callable[[], bool]) -> bool:
    child = os.fork()
    if child == 0:
        try:
            held = holds()
            gc.collect()  # what it inherited goes, and takes nothing of its parent's along
            os._exit(0 if held else 1)
        finally:
            os._exit(2)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


def test_every_code_of_the_transport_has_a_failure_row() -> None:
    assert {*REFUSAL_CODES.values(), *CRASH_CODES.values()} <= FAILURES.keys()
