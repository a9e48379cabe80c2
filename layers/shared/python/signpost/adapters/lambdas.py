"""Invocations of Lambda functions with a deadline that the caller enforces itself."""

import json
import os
import queue
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from botocore.exceptions import (
    ClientError,
    ConnectionError,  # noqa: A004 - botocore's own
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    IncompleteReadError,
    ReadTimeoutError,
)

from signpost.adapters.aws import code_of
from signpost.contract import TransportFailure
from signpost.model import as_object

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

    from signpost.ports import Clock

type InvocationAnswer = bytes | TransportFailure

IDLE_SECONDS = 5.0
"""Seconds after which an idle connection is not used any more.

Lambda may have frozen the sandbox meanwhile and the peer may have closed the connection. A request sent over it would
be lost, and the caller could not tell whether it arrived.
"""

REFUSAL_CODES: Mapping[str, str] = {
    "AccessDeniedException": "access_denied",
    "EC2ThrottledException": "throttled",
    "InvalidRequestContentException": "not_understood",
    "RequestTooLargeException": "request_too_large",
    "ResourceConflictException": "not_ready",
    "ResourceNotFoundException": "executor_missing",
    "ResourceNotReadyException": "not_ready",
    "SnapStartNotReadyException": "not_ready",
    "TooManyRequestsException": "throttled",
}
"""Error codes of invocations that Lambda refused before the function ran. With every other code it may have run."""

CRASH_CODES: Mapping[str, str] = {
    "Function.ResponseSizeTooLarge": "result_too_large",
    "Runtime.HandlerNotFound": "not_loadable",
    "Runtime.ImportModuleError": "not_loadable",
    "Runtime.InvalidEntrypoint": "not_loadable",
    "Runtime.OutOfMemory": "out_of_memory",
    "Runtime.UserCodeSyntaxError": "not_loadable",
    "Sandbox.Timedout": "timed_out",
}
"""Error types with which Lambda itself ended a run.

An executor returns failures of its functions as answers, so every other error type is a crash.
"""


class BotoLambdaTransport:
    """Sends payloads to Lambda functions.

    Takes a function that makes the client, since many requests call no function. The client must make one attempt
    only: a second one may run a slow function twice.
    """

    def __init__(
        self, client: "Callable[[], LambdaClient]", *, clock: "Clock", log_abandoned_call: Callable[[str], None]
    ) -> None:
        self._make_client = client
        self._clock = clock
        self._log_abandoned_call = log_abandoned_call
        self._by_process: dict[int, LambdaClient] = {}
        self._used_at = 0.0

    def _client(self) -> "LambdaClient":
        """Return the client, made at first use and again in a fork, which must not use its parent's connections."""
        process, now = os.getpid(), self._clock.now()
        if process not in self._by_process:
            self._by_process = {process: self._make_client()}
        elif now - self._used_at > IDLE_SECONDS:
            self._by_process[process].close()  # the client reopens connections on demand
        self._used_at = now
        return self._by_process[process]

    def send(self, function_arn: str, payload: bytes, give_up_at: float) -> InvocationAnswer:
        """Invoke the function in a thread and wait for its answer until `give_up_at`.

        After that the thread may go on, and its answer is dropped.
        """
        answers: queue.SimpleQueue[InvocationAnswer | Exception] = queue.SimpleQueue()
        caller = threading.Thread(
            target=self._put_answer,
            args=(self._client(), function_arn, payload, answers),
            name=f"call of {function_arn.rsplit(':', 1)[-1]}",
            daemon=True,
        )
        caller.start()
        try:
            answer = answers.get(timeout=max(give_up_at - self._clock.now(), 0))
        except queue.Empty:
            self._log_abandoned_call(caller.name)
            return TransportFailure("timed_out")
        if isinstance(answer, Exception):
            raise answer
        return answer

    @staticmethod
    def _put_answer(
        client: "LambdaClient",
        function_arn: str,
        payload: bytes,
        answers: "queue.SimpleQueue[InvocationAnswer | Exception]",
    ) -> None:
        try:
            answers.put(_invoke(client, function_arn, payload))
        except Exception as fault:  # noqa: BLE001 - raised again in the waiting thread
            answers.put(fault)


def _invoke(client: "LambdaClient", function_arn: str, payload: bytes) -> InvocationAnswer:
    try:
        answer = client.invoke(FunctionName=function_arn, Payload=payload)
        text = answer["Payload"].read()
    except (EndpointConnectionError, ConnectTimeoutError):
        return TransportFailure("unreachable")
    except ReadTimeoutError:
        return TransportFailure("timed_out")
    except (ConnectionError, HTTPClientError, IncompleteReadError):
        return TransportFailure("connection_lost")
    except ClientError as fault:
        return TransportFailure(REFUSAL_CODES.get(code_of(fault), "service_error"))
    return TransportFailure(_crash_code(text)) if answer.get("FunctionError") else text


def _crash_code(text: bytes) -> str:
    try:
        error = as_object(json.loads(text))
    except (ValueError, RecursionError):
        return "crashed"
    known = CRASH_CODES.get(str(error.get("errorType")))
    if known is not None:
        return known
    # Lambda kills a sandbox that runs out of memory, and may report only the signal, in the message. The failure is the
    # same as `Runtime.OutOfMemory`.
    return "out_of_memory" if "signal: killed" in str(error.get("errorMessage")) else "crashed"
