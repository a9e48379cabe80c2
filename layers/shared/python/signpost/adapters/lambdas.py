"""Calls of other Lambda functions, under a clock of our own: whatever happens there, an answer comes in time."""

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
from signpost.contract import Undelivered
from signpost.model import as_object
from signpost.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

type Answer = bytes | Undelivered

IDLE = 5.0
"""Seconds after which a connection is not trusted any more. A sandbox may have been frozen meanwhile and the other end
gone; what is sent then is lost, and nobody could say whether it arrived."""

REFUSED_BY_LAMBDA: Mapping[str, str] = {
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
"""Before anything ran. Every other refusal leaves open whether it did."""

ENDED_BY_LAMBDA: Mapping[str, str] = {
    "Function.ResponseSizeTooLarge": "result_too_large",
    "Runtime.HandlerNotFound": "not_loadable",
    "Runtime.ImportModuleError": "not_loadable",
    "Runtime.InvalidEntrypoint": "not_loadable",
    "Runtime.OutOfMemory": "out_of_memory",
    "Runtime.UserCodeSyntaxError": "not_loadable",
    "Sandbox.Timedout": "timed_out",
}
"""An executor answers failures of its functions itself, so that any error type besides these is a crash."""


class LambdaLink:
    """Takes a function that makes the client: many requests call nothing.

    The client must make one attempt only, since a second one may run a slow function twice.
    """

    def __init__(
        self, client: "Callable[[], LambdaClient]", *, clock: Clock, left_behind: Callable[[str], None]
    ) -> None:
        self._make_client = client
        self._clock = clock
        self._left_behind = left_behind
        self._by_process: dict[int, LambdaClient] = {}
        self._used_at = 0.0

    def _client(self) -> "LambdaClient":
        """Made at first use, and anew in a fork, which must not talk over its parent's connections."""
        process, now = os.getpid(), self._clock.now()
        if process not in self._by_process:
            self._by_process = {process: self._make_client()}
        elif now - self._used_at > IDLE:
            self._by_process[process].close()  # it makes new connections when it has to
        self._used_at = now
        return self._by_process[process]

    def send(self, function_arn: str, payload: bytes, give_up_at: float) -> Answer:
        """The caller's thread waits and decides. The one that calls may stay behind; nobody hears it any more."""
        answers: queue.SimpleQueue[Answer | Exception] = queue.SimpleQueue()
        caller = threading.Thread(
            target=self._call,
            args=(self._client(), function_arn, payload, answers),
            name=f"call of {function_arn.rsplit(':', 1)[-1]}",
            daemon=True,
        )
        caller.start()
        try:
            answer = answers.get(timeout=max(give_up_at - self._clock.now(), 0))
        except queue.Empty:
            self._left_behind(caller.name)
            return Undelivered("timed_out")
        if isinstance(answer, Exception):
            raise answer
        return answer

    @staticmethod
    def _call(
        client: "LambdaClient", function_arn: str, payload: bytes, answers: "queue.SimpleQueue[Answer | Exception]"
    ) -> None:
        try:
            answers.put(_invoke(client, function_arn, payload))
        except Exception as fault:  # noqa: BLE001 - raised again by whoever waits
            answers.put(fault)


def _invoke(client: "LambdaClient", function_arn: str, payload: bytes) -> Answer:
    try:
        answer = client.invoke(FunctionName=function_arn, Payload=payload)
        text = answer["Payload"].read()
    except (EndpointConnectionError, ConnectTimeoutError):
        return Undelivered("unreachable")
    except ReadTimeoutError:
        return Undelivered("timed_out")
    except (ConnectionError, HTTPClientError, IncompleteReadError):
        return Undelivered("connection_lost")
    except ClientError as fault:
        return Undelivered(REFUSED_BY_LAMBDA.get(code_of(fault), "service_error"))
    return Undelivered(_end(text)) if answer.get("FunctionError") else text


def _end(text: bytes) -> str:
    try:
        described = as_object(json.loads(text))
    except (ValueError, RecursionError):
        return "crashed"
    known = ENDED_BY_LAMBDA.get(str(described.get("errorType")))
    if known is not None:
        return known
    # Lambda ends a sandbox without memory by this signal, and says so only in words. Class and outcome are the same.
    return "out_of_memory" if "signal: killed" in str(described.get("errorMessage")) else "crashed"
