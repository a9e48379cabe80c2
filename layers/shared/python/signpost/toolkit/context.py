"""The context of a call: the object through which a running function reads its call and uses the executor's
services."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from signpost.calling.failures import failure, reported_failure
from signpost.contract import CallReply, FunctionCall, KeptResult, Result
from signpost.model import InputRequired, Json, JsonObject
from signpost.records import dataclass
from signpost.toolkit.answers import CallEnded, CallFailed, ToolError
from signpost.toolkit.call_log import PROGRESS_INTERVAL, CallLog, ProgressReporter
from signpost.toolkit.secrets import Secrets

if TYPE_CHECKING:
    from signpost.toolkit.ports import ContextOperationPort, EventLog, NestedCallPort

NO_ARGUMENTS: JsonObject = {}


@dataclass(frozen=True, slots=True)
class ContextServices:
    """The nested calls, secrets and log of an executor that all its contexts share."""

    nested: "NestedCallPort | None"
    """None if the executor cannot call other functions."""
    secrets: Secrets
    log: "EventLog"
    progress_every: float = PROGRESS_INTERVAL
    operations: "ContextOperationPort | None" = None
    """None if the executor cannot reach the gateway."""


class Context:
    """A function's view of its call: the caller, permissions and deadline; log, secrets and nested calls."""

    def __init__(self, call: FunctionCall, token: str, services: ContextServices, *, seconds: float) -> None:
        """`seconds` is the time until the function is stopped."""
        self.principal = call.principal
        self.tenant = call.principal.tenant
        self.call_id = call.call_id
        self.function = call.function
        self.deadline = time.time() + seconds
        self.idempotency_key = call.idempotency_key
        self.step = call.step
        self.depth = call.depth
        self.permissions = call.permissions
        self.trace = call.trace
        self.answers: Mapping[str, Json] = call.answers
        self.state = call.state
        self.log = CallLog(services.log, call, services.secrets)
        self._ends_at = time.monotonic() + seconds
        self._call = call
        self._token = token
        self._nested = services.nested
        self._operations = services.operations
        self._secrets = services.secrets
        self._progress = ProgressReporter(self.log, services.progress_every)
        self._ended = False

    def remaining(self) -> float:
        """Calculate the seconds until the function is stopped."""
        return max(self._ends_at - time.monotonic(), 0.0)

    def require(self, permission: str) -> None:
        """Check that the principal that calls has this permission, and that the call was granted it. Raises ToolError
        if not."""
        if permission not in self.permissions:
            raise ToolError(
                f"This call was not granted the permission `{permission}`: the function, or one that called it, does "
                "not declare it."
            )
        if permission not in self.principal.permissions:
            raise ToolError(
                f"You do not have the permission `{permission}`. An administrator can give it to your key or account."
            )

    def call(self, function: str, arguments: JsonObject = NO_ARGUMENTS) -> Json:
        """Call another function with the permissions of this call and return its result. The function must be declared
        in `calls`. Raises CallFailed, or CallEnded."""
        self._check_not_ended()
        if function not in self._call.callees:
            raise CallFailed(failure("undeclared_call", function))
        if self._nested is None:
            message = f"{function} cannot be called: this executor was deployed without GATEWAY_FUNCTION."
            raise CallFailed(failure("unreachable", function, message=message))
        return _value_of(self._nested.call(self._token, self._call, function, arguments), function)

    def secret(self, name: str, member: str | None = None, *, fresh: bool = False) -> str:
        """Read the text of a secret that the environment of the executor names, or of one member of a secret that is a
        JSON object. The text is cached for five minutes; `fresh` reads it again. Raises ToolError, or CallEnded."""
        self._check_not_ended()
        return self._secrets.read(name, member, fresh=fresh)

    def progress(self, done: float, total: float | None = None, said: str = "") -> None:
        """Write the progress of the function to the log. The client receives only the final answer, and no progress."""
        self._progress.report(done, total, said)

    def end(self) -> None:
        """End the context: from now on it makes no calls and reads no secrets for the call."""
        self._ended = True
        self._nested = None
        self._operations = None
        self._token = ""

    def _perform(self, action: str, fields: JsonObject) -> Json:
        """Have the gateway perform a context operation, and return its value. Raises CallFailed, or CallEnded."""
        self._check_not_ended()
        if self._operations is None:
            message = f"{action} is not possible: this executor was deployed without GATEWAY_FUNCTION."
            raise CallFailed(failure("unreachable", action, message=message))
        return _value_of(self._operations.perform(self._token, self._call, action, fields), action)

    def _check_not_ended(self) -> None:
        if self._ended:
            raise CallEnded(f"The call {self.call_id} is over.")


def _value_of(reply: CallReply, function: str) -> Json:
    match reply:
        case Result(value):
            return value
        case KeptResult():
            # The result is kept in a bucket that only the gateway reads.
            raise CallFailed(failure("result_too_large", function))
        case InputRequired():
            message = f"{function} requires input from the client first, which a calling function cannot provide."
            raise CallFailed(reported_failure("permanent_error", message))
        case _:
            raise CallFailed(reply)
