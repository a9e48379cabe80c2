"""The context of a call: the object through which a running function reads its call and uses the executor's
services."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from signpost.calling.failures import failure, reported_failure
from signpost.contract import CallReply, FunctionCall, KeptResult, Result
from signpost.model import InputRequired, Json, JsonObject
from signpost.records import dataclass
from signpost.toolkit.answers import CallEnded, CallFailed, QuestionRefused, ToolError
from signpost.toolkit.call_log import PROGRESS_INTERVAL, CallLog, ProgressReporter
from signpost.toolkit.client_questions import ClientQuestions, ContextClient
from signpost.toolkit.notices import NoticeCollector
from signpost.toolkit.secrets import Secrets

if TYPE_CHECKING:
    from collections.abc import Callable

    from signpost.toolkit.handles import HandleStore
    from signpost.toolkit.ports import ContextOperationPort, EventLog, NestedCallPort
    from signpost.toolkit.questions import Ask, ElicitAnswer, Root, SampleAnswer

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
        self._notices = NoticeCollector(call.client)
        self.log = CallLog(services.log, call, services.secrets, self._notices)
        self._ends_at = time.monotonic() + seconds
        self._call = call
        self._token = token
        self._nested = services.nested
        self._operations = services.operations
        self._secrets = services.secrets
        self._progress = ProgressReporter(self.log, self._notices, services.progress_every)
        self._questions = ClientQuestions(call)
        self._open_effects: set[str] = set()
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

    def once[Answer](self, name: str, effect: "Callable[[], Answer]", *, repeat: bool = False) -> Answer:
        """Carry out an effect at most once for this request, in whatever round or attempt, and return its value.

        The value is kept as JSON and returned again by later calls. `repeat` consents to repeat an effect if it is not
        known whether it has happened. An effect that is an async function is awaited. Raises EffectRunning,
        EffectInDoubt, or the exception of the effect.
        """
        # Imported on first use, as everything that few functions use.
        from signpost.toolkit.once import EffectRunner  # noqa: PLC0415

        self._check_reachable("ctx.once")
        runner = EffectRunner(self._call, self._perform, self._secrets, self.remaining, self._open_effects)
        return runner.run(name, effect, repeat=repeat)

    @property
    def handles(self) -> "HandleStore":
        """Handles of the caller: values that are kept between calls."""
        from signpost.toolkit.handles import HandleStore  # noqa: PLC0415 - as in once

        self._check_reachable("ctx.handles")
        return HandleStore(self._perform, self._secrets, self)

    def secret(self, name: str, member: str | None = None, *, fresh: bool = False) -> str:
        """Read the text of a secret that the environment of the executor names, or of one member of a secret that is a
        JSON object. The text is cached for five minutes; `fresh` reads it again. Raises ToolError, or CallEnded."""
        self._check_not_ended()
        return self._secrets.read(name, member, fresh=fresh)

    @property
    def client(self) -> ContextClient:
        """The client behind the call: its `capabilities`, `name` and `version`. All are empty if there is none."""
        return self._questions.client

    def can(self, need: str) -> bool:
        """Tell whether the client can be asked: `elicitation` (a form), `elicitation.url`, `sampling`,
        `sampling.tools`, `sampling.context` or `roots`."""
        return self._questions.can(need)

    def ask_all(self, asks: "Mapping[str, Ask]", *, single_use: bool = False) -> Mapping[str, Any]:
        """Ask the client several questions in one round, and return the answers by key. The first pass ends here; the
        next one, with the answers, runs the function from its start. `single_use` answers count for one attempt.
        Raises QuestionRefused, or CallEnded."""
        self._check_not_ended()
        if self._open_effects:
            effects = ", ".join(map(repr, sorted(self._open_effects)))
            raise QuestionRefused(
                f"it is asked inside of the effect {effects}, which it would end; ask before ctx.once"
            )
        return self._questions.ask(asks, single_use=single_use)

    def elicit(self, key: str, message: str, fields: object, *, single_use: bool = False) -> "ElicitAnswer":
        """Ask the user to fill in a form, and return the answer. `fields` has any form of `input`. See `ask_all`."""
        from signpost.toolkit.questions import Elicit  # noqa: PLC0415 - few functions ask

        return self.ask_all({key: Elicit(message, fields)}, single_use=single_use)[key]

    def elicit_url(self, key: str, message: str, url: str, *, single_use: bool = False) -> "ElicitAnswer":
        """Ask the user to open a page, and return whether the user agreed. See `ask_all`."""
        from signpost.toolkit.questions import ElicitUrl  # noqa: PLC0415 - as above

        return self.ask_all({key: ElicitUrl(message, url)}, single_use=single_use)[key]

    def sample(
        self, key: str, messages: object, max_tokens: int = 1000, system: str | None = None, **options: object
    ) -> "SampleAnswer":
        """Ask the model of the client, and return its message. See `ask_all`."""
        from signpost.toolkit.questions import Sample  # noqa: PLC0415 - as above

        return self.ask_all({key: Sample(messages, max_tokens, system, options)})[key]

    def roots(self, key: str = "roots") -> "tuple[Root, ...]":
        """Ask for the folders and files that the client works on. See `ask_all`."""
        from signpost.toolkit.questions import Roots  # noqa: PLC0415 - as above

        return self.ask_all({key: Roots()})[key]

    def input_required(self) -> InputRequired | None:
        """Return what the function has asked in this pass without having an answer; None if there is nothing."""
        return self._questions.input_required()

    def progress(self, done: float, total: float | None = None, said: str = "") -> None:
        """Report the progress of the function. The client receives the reports together with the answer, if it asked
        for progress; the log has at most one a second."""
        self._progress.report(done, total, said)

    def grant(self, name: str, seconds: float | None = None) -> None:
        """Give the caller of this call a grant, for ever or for some seconds. It decides which functions the caller's
        lists show (`visible_when`), and permits nothing. Raises ValueError, CallFailed, or CallEnded."""
        _check_grant(name, seconds)
        self._perform("grant", {"name": name} if seconds is None else {"name": name, "seconds": seconds})

    def revoke(self, name: str) -> bool:
        """Take a grant from the caller of this call. Returns False if the caller did not hold it. Raises ValueError,
        CallFailed, or CallEnded."""
        _check_grant(name)
        return self._perform("revoke", {"name": name}) is True

    def has_grant(self, name: str) -> bool:
        """Tell whether the caller of this call holds a grant now. Raises ValueError, CallFailed, or CallEnded."""
        _check_grant(name)
        return self._perform("has_grant", {"name": name}) is True

    def changed(self, kind: str) -> None:
        """Announce that the list of "tools", "prompts" or "resources" changed: an event `lists::on-change`. Raises
        ValueError, CallFailed, or CallEnded."""
        from signpost.content.announcements import fault_of_list  # noqa: PLC0415 - on first use, as above

        _raise_fault(fault_of_list(kind))
        self._perform("changed", {"list": kind})

    def resource_updated(self, uri: str) -> None:
        """Announce that the resource at a URI changed: an event `resources::on-change`. Raises ValueError, CallFailed,
        or CallEnded."""
        from signpost.content.announcements import fault_of_updated  # noqa: PLC0415 - as above

        _raise_fault(fault_of_updated(uri))
        self._perform("resource_updated", {"uri": uri})

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

    def _check_reachable(self, feature: str) -> None:
        """Check that the executor can reach the gateway. Raises ToolError, or CallEnded."""
        self._check_not_ended()
        if self._operations is None:
            raise ToolError(
                f"{feature} is not possible: this executor was deployed without GATEWAY_FUNCTION. Its operator sets it "
                "to the output NestedCallsFunctionArn of the stack, and allows the executor to invoke that function."
            )

    def _check_not_ended(self) -> None:
        if self._ended:
            raise CallEnded(f"The call {self.call_id} is over.")


def _check_grant(name: str, seconds: float | None = None) -> None:
    # Imported on first use: few functions give grants.
    from signpost.calling.grant_operations import fault_of_grant  # noqa: PLC0415

    _raise_fault(fault_of_grant(name, seconds))


def _raise_fault(fault: str | None) -> None:
    if fault is not None:
        raise ValueError(fault)


def notices_of(context: Context) -> NoticeCollector:
    """Return what the context has collected for the client. This is for the harness, not for authors."""
    return context._notices  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - hidden from authors alone


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
