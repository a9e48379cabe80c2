"""Calls the registry function of a deployed stack with the AWS credentials of the operator, and retries if needed.

A Signpost credential in the environment selects the tenant of the calls. Without one, the calls are the operator's."""

import json
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from signpost.cli.failure import CommandFailed
from signpost.cli.publish.upload import RegistryCall
from signpost.cli.retry_plan import pause_after
from signpost.cli.terminal import ShowLine
from signpost.errors import Unavailable
from signpost.model import Json, JsonObject, as_object

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

AUTHORIZATION = "SIGNPOST_AUTHORIZATION"
"""The environment variable with an API key or an access token. On a command line every user of the machine could read
it."""
SCHEME = "bearer "
ATTEMPT_TIMEOUT = 65.0
"""In seconds, instead of the five of the retry plan.

The registry function may take 60 seconds for a large publication. A client that stops waiting earlier would not know
whether the publication happened."""
CONNECT_TIMEOUT = 5.0
RETRYABLE_CODES = frozenset({
    "EC2ThrottledException",
    "ResourceConflictException",
    "ServiceException",
    "Throttling",
    "TooManyRequestsException",
})  # fmt: skip
"""Refusals of Lambda and CloudFormation after which the same call may succeed."""


@contextmanager
def connect_registry(stack: str, url: str | None, show_line: ShowLine) -> Generator[RegistryCall]:
    """Connect to functions that answer objects and may be called again after a call with an unknown result."""
    retry_loop = RetryLoop(time.monotonic, time.sleep, show_line)
    with connect_registry_once(stack, url, show_line) as call_once:
        yield lambda function_id, payload: as_object(retry_loop.run(lambda: call_once(function_id, payload)))


@contextmanager
def connect_registry_once(stack: str, url: str | None, show_line: ShowLine) -> Generator[Callable[[str, Json], Json]]:
    """Connect to functions that are called once. A call raises Unavailable if another attempt might succeed."""
    # boto3 takes a tenth of a second to import, which would slow down `signpost --help`.
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415

    if url:
        os.environ["AWS_ENDPOINT_URL"] = url  # read by boto3 and by every child process
    try:
        credentials = _authorization_field(show_line)
        function = RetryLoop(time.monotonic, time.sleep, show_line).run(lambda: _find_registry_function(stack))
        client = _build_client("lambda")

        def call_registry(function_id: str, payload: Json) -> Json:
            event = {"function_id": function_id, "payload": payload, **credentials}
            return _invoke_registry(client, function, event)

        yield call_registry
    except (BotoCoreError, ClientError) as fault:
        reason = f"{fault}".rstrip(".")
        raise CommandFailed(f"Stack {stack!r}: {reason}. Check --stack, --url, AWS_PROFILE and AWS_REGION.") from fault


class RetryLoop:
    """Retries one call after another, at the times of the plan of `registry.handshake`."""

    def __init__(self, clock: Callable[[], float], sleep: Callable[[float], None], show_line: ShowLine) -> None:
        self._clock = clock
        self._sleep = sleep
        self._show_line = show_line

    def run[Done](self, attempt: Callable[[], Done]) -> Done:
        """Repeat the attempt until it succeeds. Raises CommandFailed when the plan gives up.

        Only Unavailable is retried: every other error ends the loop at once."""
        started, failures = self._clock(), 0
        while True:
            try:
                return attempt()
            except Unavailable as fault:
                failures += 1
                self._pause(failures, self._clock() - started, fault)

    def _pause(self, failures: int, elapsed: float, fault: Unavailable) -> None:
        reason = str(fault).rstrip(".")
        pause = pause_after(failures, elapsed)
        if pause is None:
            raise CommandFailed(f"Given up after {failures} attempts in {elapsed:.0f} s: {reason}.") from fault
        self._show_line(f"attempt {failures} failed: {reason}; next attempt in {pause:.0f} s")
        self._sleep(pause)


def _authorization_field(show_line: ShowLine) -> JsonObject:
    """Build the field of the event that carries the credential, in the form of an Authorization header."""
    credential = read_credential(show_line)
    return {} if credential is None else {"authorization": f"Bearer {credential}"}


def read_credential(show_line: ShowLine) -> str | None:
    """Read the credential from the environment. Returns None if the variable is not set."""
    if AUTHORIZATION not in os.environ:
        return None
    credential = os.environ[AUTHORIZATION].strip()
    if not credential:  # a script failed to fill it: going on without a credential is not intended
        raise CommandFailed(f"{AUTHORIZATION} is set, but empty. Fill it, or unset it.")
    show_line(f"using the credential in {AUTHORIZATION}")
    return credential[len(SCHEME) :].lstrip() if credential.lower().startswith(SCHEME) else credential


def _build_client(service: str) -> Any:
    import boto3  # noqa: PLC0415 - see connect_registry_once
    from botocore.config import Config  # noqa: PLC0415 - see connect_registry_once

    # boto3 makes one attempt a call: the retry plan decides about the next one, and the operator sees it.
    once = Config(connect_timeout=CONNECT_TIMEOUT, read_timeout=ATTEMPT_TIMEOUT, retries={"total_max_attempts": 1})
    try:
        return boto3.client(service, config=once)  # pyright: ignore[reportCallIssue, reportArgumentType, reportUnknownVariableType] - the service name is a variable
    except ValueError as fault:
        raise CommandFailed(f"--url is not a valid endpoint: {fault}") from fault


def _find_registry_function(stack: str) -> str:
    stacks = _call_aws(_build_client("cloudformation").describe_stacks, StackName=stack)["Stacks"]
    outputs = {output.get("OutputKey"): output.get("OutputValue") for output in stacks[0].get("Outputs", [])}
    if "RegistryFunctionName" not in outputs:
        raise CommandFailed(f"The stack {stack!r} has no output 'RegistryFunctionName'. Is it a stack of Signpost?")
    return outputs["RegistryFunctionName"]


def _invoke_registry(client: "LambdaClient", function: str, event: JsonObject) -> Json:
    response = _call_aws(client.invoke, FunctionName=function, Payload=json.dumps(event).encode())
    answer = json.loads(response["Payload"].read())
    fields = as_object(answer)
    if "FunctionError" in response:
        raise Unavailable(f"The registry function failed: {fields.get('errorMessage', 'see its log')}")
    if error := as_object(fields.get("error")):
        raise _failure(error)
    return answer


def _failure(error: JsonObject) -> Exception:
    message = str(error.get("message"))
    if error.get("code") == "unavailable":
        return Unavailable(message)
    if error.get("code") in ("unauthorized", "forbidden"):
        return CommandFailed(f"{message.rstrip('.')}. The credential comes from {AUTHORIZATION}.")
    problems = as_object(error.get("data")).get("problems")
    if not isinstance(problems, list):
        return CommandFailed(message)
    entries = [as_object(problem) for problem in problems]
    lines = "\n".join(f"  {entry.get('kind')} {entry.get('id')}: {entry.get('message')}" for entry in entries)
    return CommandFailed(f"Nothing was published. Problems to fix: {len(entries)}\n{lines}")


def _call_aws(operation: Callable[..., Any], **arguments: Any) -> Any:
    from botocore.exceptions import ClientError  # noqa: PLC0415 - see connect_registry_once

    from signpost.adapters.aws import call, code_of  # noqa: PLC0415 - see connect_registry_once

    try:
        return call(operation, **arguments)
    except ClientError as fault:
        if code_of(fault) in RETRYABLE_CODES:
            raise Unavailable(str(fault)) from fault
        raise
