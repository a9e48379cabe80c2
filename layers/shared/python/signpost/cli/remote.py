"""The registry function of a deployed stack, called with the AWS credentials of whoever is at the terminal, and again
if it has to be. A credential of Signpost in the environment says for which tenant; without one it is the operator's."""

import json
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from signpost.cli.failure import CommandFailed
from signpost.cli.publisher import Ask, Say
from signpost.errors import Unavailable
from signpost.model import Json, JsonObject, as_object
from signpost.registry.handshake import pause_after

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

AUTHORIZATION = "SIGNPOST_AUTHORIZATION"
"""The environment variable with an API key or an access token: on a command line everybody could read it."""
SCHEME = "bearer "
ATTEMPT = 65.0
"""Seconds, instead of the five of the plan: the registry function has 60 for large publications, and an answer that is
not waited for would leave open what happened."""
CONNECT = 5.0
PASSES = frozenset({
    "EC2ThrottledException",
    "ResourceConflictException",
    "ServiceException",
    "Throttling",
    "TooManyRequestsException",
})  # fmt: skip
"""Refusals of Lambda and CloudFormation after which the same call may succeed."""


@contextmanager
def registry(stack: str, url: str | None, say: Say) -> Generator[Ask]:
    """For functions that answer objects, and may be called again where it is not known what became of a call."""
    persistent = Persistent(time.monotonic, time.sleep, say)
    with answers(stack, url, say) as answer:
        yield lambda function_id, payload: as_object(persistent.until_done(lambda: answer(function_id, payload)))


@contextmanager
def answers(stack: str, url: str | None, say: Say) -> Generator[Callable[[str, Json], Json]]:
    """One call each: raises Unavailable where another one might succeed."""
    # boto3 takes a tenth of a second to import, which `signpost --help` should not pay.
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415

    if url:
        os.environ["AWS_ENDPOINT_URL"] = url  # where boto3 looks, and whatever else is called from here
    try:
        credentials = _credentials(say)
        function = Persistent(time.monotonic, time.sleep, say).until_done(lambda: _function_of(stack))
        client = _client("lambda")

        def ask(function_id: str, payload: Json) -> Json:
            event = {"function_id": function_id, "payload": payload, **credentials}
            return _answer(client, function, event)

        yield ask
    except (BotoCoreError, ClientError) as fault:
        reason = f"{fault}".rstrip(".")
        raise CommandFailed(f"Stack {stack!r}: {reason}. Check --stack, --url, AWS_PROFILE and AWS_REGION.") from fault


class Persistent:
    """Carries out what the plan of `registry.handshake` says, for each thing that is asked."""

    def __init__(self, clock: Callable[[], float], sleep: Callable[[float], None], say: Say) -> None:
        self._clock = clock
        self._sleep = sleep
        self._say = say

    def until_done[Done](self, attempt: Callable[[], Done]) -> Done:
        """Raises CommandFailed once it has taken long enough. What is refused for good ends it at once."""
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
        self._say(f"attempt {failures} failed: {reason}; again in {pause:.0f} s")
        self._sleep(pause)


def _credentials(say: Say) -> JsonObject:
    """As the header of a request would have it."""
    given = credential(say)
    return {} if given is None else {"authorization": f"Bearer {given}"}


def credential(say: Say) -> str | None:
    """That of the environment; None if there is none."""
    if AUTHORIZATION not in os.environ:
        return None
    given = os.environ[AUTHORIZATION].strip()
    if not given:  # what should have filled it has failed, and nobody meant to go without
        raise CommandFailed(f"{AUTHORIZATION} is set, but empty. Fill it, or unset it.")
    say(f"with the credential in {AUTHORIZATION}")
    return given[len(SCHEME) :].lstrip() if given.lower().startswith(SCHEME) else given


def _client(service: str) -> Any:
    import boto3  # noqa: PLC0415 - see registry
    from botocore.config import Config  # noqa: PLC0415 - see registry

    # One attempt a call: when to make another one is said by the plan, and to the person who waits.
    once = Config(connect_timeout=CONNECT, read_timeout=ATTEMPT, retries={"total_max_attempts": 1})
    try:
        return boto3.client(service, config=once)  # pyright: ignore[reportCallIssue, reportArgumentType, reportUnknownVariableType] - the service is named at run time
    except ValueError as fault:
        raise CommandFailed(f"This is no endpoint: {fault}") from fault


def _function_of(stack: str) -> str:
    stacks = _called(_client("cloudformation").describe_stacks, StackName=stack)["Stacks"]
    outputs = {output.get("OutputKey"): output.get("OutputValue") for output in stacks[0].get("Outputs", [])}
    if "RegistryFunctionName" not in outputs:
        raise CommandFailed(f"The stack {stack!r} has no output 'RegistryFunctionName'. Is it a stack of Signpost?")
    return outputs["RegistryFunctionName"]


def _answer(client: "LambdaClient", function: str, event: JsonObject) -> Json:
    answered = _called(client.invoke, FunctionName=function, Payload=json.dumps(event).encode())
    answer = json.loads(answered["Payload"].read())
    members = as_object(answer)
    if "FunctionError" in answered:
        raise Unavailable(f"The registry function failed: {members.get('errorMessage', 'see its log')}")
    if error := as_object(members.get("error")):
        raise _failure(error)
    return answer


def _failure(error: JsonObject) -> Exception:
    message = str(error.get("message"))
    if error.get("code") == "unavailable":
        return Unavailable(message)
    if error.get("code") in ("unauthorized", "forbidden"):
        return CommandFailed(f"{message.rstrip('.')}. The credential is that in {AUTHORIZATION}.")
    problems = as_object(error.get("data")).get("problems")
    if not isinstance(problems, list):
        return CommandFailed(message)
    said = [as_object(problem) for problem in problems]
    listed = "\n".join(f"  {one.get('kind')} {one.get('id')}: {one.get('message')}" for one in said)
    return CommandFailed(f"Nothing was published. {len(said)} to be put right:\n{listed}")


def _called(operation: Callable[..., Any], **arguments: Any) -> Any:
    from botocore.exceptions import ClientError  # noqa: PLC0415 - see registry

    from signpost.adapters.aws import call, code_of  # noqa: PLC0415 - see registry

    try:
        return call(operation, **arguments)
    except ClientError as fault:
        if code_of(fault) in PASSES:
            raise Unavailable(str(fault)) from fault
        raise
