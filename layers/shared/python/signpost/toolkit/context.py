"""What a function knows of the call it answers, and may do in its name."""

import time
from collections.abc import Mapping

from signpost.contract import FunctionCall, KeptResult, Reply, Result
from signpost.execution.failures import failure, reported
from signpost.model import InputRequired, Json, JsonObject
from signpost.records import dataclass
from signpost.toolkit.answers import CallEnded, CallFailed, ToolError
from signpost.toolkit.call_log import EVERY, CallLog, Progress
from signpost.toolkit.ports import Events, NestedCalls
from signpost.toolkit.secrets import Secrets

NO_ARGUMENTS: JsonObject = {}


@dataclass(frozen=True, slots=True)
class World:
    """What of the executor a function may use through its context."""

    nested: NestedCalls | None
    """None where other functions cannot be called."""
    secrets: Secrets
    log: Events
    progress_every: float = EVERY


class Context:
    def __init__(self, call: FunctionCall, token: str, world: World, *, seconds: float) -> None:
        """`seconds` is what there is until the function is stopped."""
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
        self.log = CallLog(world.log, call, world.secrets)
        self._ends_at = time.monotonic() + seconds
        self._call = call
        self._token = token
        self._nested = world.nested
        self._secrets = world.secrets
        self._progress = Progress(self.log, world.progress_every)
        self._ended = False

    def remaining(self) -> float:
        """Seconds until the function is stopped."""
        return max(self._ends_at - time.monotonic(), 0.0)

    def require(self, permission: str) -> None:
        """Raises ToolError unless the call was granted this permission."""
        if permission not in self.permissions:
            raise ToolError(f"This call was not granted the permission `{permission}`.")

    def call(self, function: str, arguments: JsonObject = NO_ARGUMENTS) -> Json:
        """The result of another function, called with what this call may do. Raises CallFailed, or CallEnded."""
        self._check_not_ended()
        if self._nested is None:
            message = f"{function} cannot be called: this executor was deployed without GATEWAY_FUNCTION."
            raise CallFailed(failure("unreachable", function, message=message))
        return _value(self._nested.call(self._token, self._call, function, arguments), function)

    def secret(self, name: str, member: str | None = None, *, fresh: bool = False) -> str:
        """The text of a secret that the environment of the executor names, or of a member of one that is a JSON object;
        kept for five minutes, unless a fresh one is wanted. Raises ToolError, or CallEnded."""
        self._check_not_ended()
        return self._secrets.read(name, member, fresh=fresh)

    def progress(self, done: float, total: float | None = None, said: str = "") -> None:
        """Notes how far the function has come. It goes to the log: a client hears the answer, and nothing before it."""
        self._progress.report(done, total, said)

    def end(self) -> None:
        """From now on nothing is done in the name of the call."""
        self._ended = True
        self._nested = None
        self._token = ""

    def _check_not_ended(self) -> None:
        if self._ended:
            raise CallEnded(f"The call {self.call_id} is over.")


def _value(reply: Reply, function: str) -> Json:
    match reply:
        case Result(value):
            return value
        case KeptResult():
            # It lies where only the gateway reads.
            raise CallFailed(failure("result_too_large", function))
        case InputRequired():
            message = f"{function} asks something first, which a function that calls it cannot answer."
            raise CallFailed(reported("permanent_error", message))
        case _:
            raise CallFailed(reply)
