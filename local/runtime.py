"""Run a built function as Lambda does: in a process of its own, on the real awslambdaric, without Docker."""

import json
import secrets
import signal
import time
import uuid
from dataclasses import dataclass
from typing import Self

from local.account import Account
from local.built import BuiltFunction
from local.json_values import Json, JsonObject
from local.runtime_api import Call, ErrorReport, ExitReport, ReadyReport, Report, ResponseReport, TimeoutReport
from local.sandbox import Sandbox, TimedReport


@dataclass(frozen=True, slots=True)
class InvocationError:
    error_type: str
    error_message: str
    stack_trace: tuple[str, ...] = ()

    def document(self) -> JsonObject:
        """Return the JSON document that the caller of Lambda receives."""
        return {
            "errorType": self.error_type,
            "errorMessage": self.error_message,
            "stackTrace": list(self.stack_trace),
        }


@dataclass(frozen=True, slots=True)
class Invocation:
    """The outcome of one call. `init_ms` is None if the sandbox was warm; a failed init counts as the duration."""

    payload: Json
    error: InvocationError | None
    duration_ms: float
    init_ms: float | None
    logs: str

    def document(self) -> Json:
        """Return the JSON document that the caller of Lambda receives: the answer or the error."""
        return self.payload if self.error is None else self.error.document()


class LambdaRuntime:
    """Runs the calls of one function, one at a time.

    A sandbox starts with the first call and stays warm for the next ones, until a call or its init ends it.
    """

    def __init__(self, function: BuiltFunction, account: Account) -> None:
        self._function = function
        self._account = account
        self._sandbox: Sandbox | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._sandbox is not None:
            self._sandbox.close()
            self._sandbox = None

    def invoke(self, event: JsonObject, timeout: float | None = None) -> Invocation:
        """Call the function. After `timeout` seconds, by default the function's own timeout, the sandbox is killed."""
        seconds = self._function.timeout if timeout is None else timeout
        request_id = str(uuid.uuid4())
        sandbox, init = self._ready_sandbox()
        if init is None or isinstance(init.report, ReadyReport):
            result = sandbox.run(self._call(event, request_id, seconds), seconds)
            has_ended = not isinstance(result.report, ResponseReport | ErrorReport)
        else:
            result, has_ended = init, True
        payload, error = _outcome(result.report, request_id)
        logs = sandbox.new_logs()
        if has_ended:
            self.close()
        return Invocation(payload, error, result.ms, init.ms if init else None, logs)

    def _ready_sandbox(self) -> tuple[Sandbox, TimedReport | None]:
        """Return a sandbox, with the report of its init if it had to be started."""
        if self._sandbox is not None:
            if self._sandbox.is_ready_again():
                return self._sandbox, None
            self.close()
        self._sandbox = Sandbox(self._function, self._account)
        return self._sandbox, self._sandbox.start()

    def _call(self, event: JsonObject, request_id: str, seconds: float) -> Call:
        return Call(
            request_id=request_id,
            trace_id=f"Root=1-{int(time.time()):08x}-{secrets.token_hex(12)};Parent={secrets.token_hex(8)};Sampled=0",
            function_arn=self._account.function_arn(self._function.logical_id),
            deadline_ms=int((time.time() + seconds) * 1000),
            event=json.dumps(event).encode(),
        )


def _outcome(report: Report, request_id: str) -> tuple[Json, InvocationError | None]:
    match report:
        case ResponseReport(payload):
            return json.loads(payload), None
        case ErrorReport(error):
            return None, _reported_error(json.loads(error))
        case TimeoutReport(seconds):
            message = f"RequestId: {request_id} Error: Task timed out after {seconds:.2f} seconds"
            return None, InvocationError("Sandbox.Timedout", message)
        case ExitReport(status):
            message = f"RequestId: {request_id} Error: {_exit_reason(status)}"
            return None, InvocationError("Runtime.ExitError", message)
        case ReadyReport():
            return None, InvocationError("Runtime.Unknown", "the runtime asked for a call before it answered the last")


def _reported_error(document: JsonObject) -> InvocationError:
    trace = document.get("stackTrace")
    return InvocationError(
        str(document.get("errorType", "")),
        str(document.get("errorMessage", "")),
        tuple(map(str, trace)) if isinstance(trace, list) else (),
    )


def _exit_reason(status: int) -> str:
    if status == 0:
        return "Runtime exited without providing a reason"
    if status < 0:
        return f"Runtime exited with error: signal: {(signal.strsignal(-status) or str(-status)).lower()}"
    return f"Runtime exited with error: exit status {status}"
