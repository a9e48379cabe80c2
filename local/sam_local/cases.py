"""Plays the cases of events/ by SAM's commands, as docs/local-invoke.md writes them."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path

from local.errors import CloudError
from local.invoke import Case, CaseResult, cases_of, run_case
from local.json_values import Json, JsonObject, read_object
from local.ports import LOOPBACK
from local.processes import stop_group, tail
from local.runtime import Invocation
from local.sam_local.network import call_in_network
from local.sam_local.page import Page
from local.sam_local.session import SamSession

_SECONDS_TO_START = 300.0
_SECONDS_TO_ANSWER = 300.0
_SECONDS_TO_STOP = 60.0
_POLL_SECONDS = 0.2


class CommandInvoker:
    """Runs each case by a `sam local invoke` of its own."""

    def __init__(self, session: SamSession, page: Page) -> None:
        self._session = session
        self._page = page
        self._logical_ids = session.project.logical_ids()

    def invoke(self, case: Case) -> Invocation:
        event = str(case.file().relative_to(self._session.project.root))
        command = self._page.invoke_case(self._logical_ids[case.function], event, case.parameters())
        return _run_command(self._session, command)

    def close(self) -> None:
        """Do nothing: every command has ended."""


class ApiInvoker:
    """Sends the requests of cases to a running `sam local start-api`."""

    def __init__(self, session: SamSession, port: int, log: Path) -> None:
        self._session = session
        self._port = port
        self._log = log

    def invoke(self, case: Case) -> Invocation:
        started = time.monotonic()
        answer = self._answer(read_object(case.file()))
        return Invocation(answer, None, (time.monotonic() - started) * 1000, None, tail(self._log, 20))

    def close(self) -> None:
        """Do nothing: every connection has ended."""

    def connect(self) -> HTTPConnection:
        """Connect from the network of the containers' ports. Raises OSError if nothing listens."""
        connection = HTTPConnection(LOOPBACK, self._port, timeout=_SECONDS_TO_ANSWER)
        connection.sock = call_in_network(
            self._session.engine.process, lambda: socket.create_connection((LOOPBACK, self._port), _SECONDS_TO_ANSWER)
        )
        return connection

    def _answer(self, event: JsonObject) -> Json:
        """Send the request of an event, and return the answer in the form of a function's."""
        match event:
            case {"rawPath": str(path), "headers": dict(headers), "requestContext": {"http": {"method": str(method)}}}:
                pass
            case _:
                raise CloudError("the event is no HTTP request")
        with contextlib.closing(self.connect()) as connection:
            fields = {name: str(value) for name, value in headers.items()}
            connection.request(method, path, str(event.get("body") or "").encode(), fields)
            return _function_answer(connection.getresponse())


def _function_answer(answer: HTTPResponse) -> Json:
    found: dict[str, Json] = {name.lower(): value for name, value in answer.getheaders()}
    body = answer.read().decode("utf-8", "replace")
    if not body:
        found.pop("content-type", None)  # SAM adds one to an answer without a body
    return {"statusCode": answer.status, "headers": found, "body": body, "isBase64Encoded": False}


def api_cases(session: SamSession, page: Page) -> Iterator[CaseResult]:
    """Play the gateway's cases with the parameters of the page's `sam local start-api` through its port."""
    cases = [case for case in cases_of("gateway", session.project.root) if _is_request(case, page.api_parameters())]
    with _started_api(session, page) as requested:
        for case in cases:
            yield run_case(case, requested, f"start-api {case.function}/{case.name}")


def generated_case(session: SamSession, page: Page) -> CaseResult:
    """Invoke the gateway with the event that the page generates, and compare the answer with that of gateway/health."""
    health = Case("gateway", "health", session.project.root / "events/gateway")
    return run_case(health, _GeneratedEventInvoker(session, page), "generate-event gateway/health")


class _GeneratedEventInvoker:
    def __init__(self, session: SamSession, page: Page) -> None:
        self._session = session
        self._page = page

    def invoke(self, case: Case) -> Invocation:
        del case  # the page's command makes its event
        return _run_command(self._session, self._page.generate)

    def close(self) -> None:
        """Do nothing: the command has ended."""


def _is_request(case: Case, parameters: Mapping[str, str]) -> bool:
    """Whether the case can be sent as HTTP by a client: with these parameters, and with a text as its body."""
    return case.parameters() == parameters and not read_object(case.file()).get("isBase64Encoded")


@contextlib.contextmanager
def _started_api(session: SamSession, page: Page) -> Generator[ApiInvoker]:
    with tempfile.TemporaryDirectory(prefix="start-api-") as folder:
        log = Path(folder) / "log"
        server = session.start(page.start_api, log)
        requested = ApiInvoker(session, page.port, log)
        try:
            _wait_until_open(requested, log, lambda: server.poll() is None)
            yield requested
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGINT)  # the signal at which SAM removes its containers
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(_SECONDS_TO_STOP)
            stop_group(server, _SECONDS_TO_STOP)


def _wait_until_open(requested: ApiInvoker, log: Path, is_running: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _SECONDS_TO_START
    while is_running() and time.monotonic() < deadline:
        with contextlib.suppress(OSError, HTTPException):
            requested.connect().close()
            return
        time.sleep(_POLL_SECONDS)
    raise CloudError(f"sam local start-api did not start:\n{tail(log, 20)}")


def _run_command(session: SamSession, command: str) -> Invocation:
    """Run a command that prints the answer of a function in its last line, and take its time."""
    started = time.monotonic()
    done = session.run(command)
    return Invocation(_last_line(done.stdout), None, (time.monotonic() - started) * 1000, None, done.stderr)


def _last_line(printed: str) -> Json:
    lines = printed.strip().splitlines()
    if not lines:
        raise CloudError("the command printed no answer")
    document: Json = json.loads(lines[-1])
    return document
