"""What authors test toolkits with: trials and the gateway client.

Trials are calls of a tool without an executor. They make the checks of an executor, in the same order, in the current
thread. The gateway client is imported on first use, because it imports a whole gateway.
"""

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from importlib import import_module
from typing import TYPE_CHECKING, TypedDict

from signpost.calling.client_needs import declare, reject_lacking_client
from signpost.calling.failures import failure, reported_failure
from signpost.contract import CallClient, CallReply, ClientPresentation, Failure, FunctionCall, Result
from signpost.directory.listing import NEEDS
from signpost.model import InputRequired, Json, JsonObject, Principal, as_object
from signpost.records import dataclass
from signpost.schema.validation import Validators
from signpost.toolkit.answers import ToolError
from signpost.toolkit.attempt import (
    EncodedResult,
    RunResult,
    arguments_failure,
    attempt,
    fault_of_result,
    shown_of,
)
from signpost.toolkit.call_log import PROGRESS_EVENT, SAID_EVENT
from signpost.toolkit.context import Context, ContextServices
from signpost.toolkit.deadline import nested_alarm
from signpost.toolkit.function import Function
from signpost.toolkit.json_text import json_of
from signpost.toolkit.secrets import Secrets
from signpost.toolkit.testing_state import TrialState

if TYPE_CHECKING:
    from signpost.testing.answers import ACCEPTED, CANCELLED, DECLINED
    from signpost.testing.client import GatewayClient
    from signpost.testing.client_replies import AskedQuestion, ClientReply

__all__ = [
    "ACCEPTED",
    "CANCELLED",
    "DECLINED",
    "AskedQuestion",
    "ClientReply",
    "GatewayClient",
    "TrialOptions",
    "TrialResult",
    "TrialSetup",
    "build_trial_setup",
    "run_trial",
]

_AT_FIRST_USE = {
    "ACCEPTED": "answers", "CANCELLED": "answers", "DECLINED": "answers",
    "GatewayClient": "client", "AskedQuestion": "client_replies", "ClientReply": "client_replies",
}  # fmt: skip
"""The modules of `signpost.testing` with names that are imported on first use."""
DEFAULT_SECONDS = 30.0
"""Seconds that the context of a trial shows if the tool has no timeout. A trial is not stopped after them; only an
executor stops calls."""
CLIENT_INFO: JsonObject = {"name": "test", "version": "1"}
NOTHING_SHOWN = ClientPresentation()
_validators = Validators(nested_alarm)


def __getattr__(name: str) -> object:
    if name not in _AT_FIRST_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"signpost.testing.{_AT_FIRST_USE[name]}"), name)


class TrialOptions(TypedDict, total=False):
    """The options of a trial; docs/toolkits.md has a table of them."""

    principal: Principal | str
    permissions: Collection[str] | None
    calls: Mapping[str, Callable[[JsonObject], object]] | None
    after: InputRequired | None
    answers: Mapping[str, Json] | None
    secrets: Mapping[str, str] | None
    can: Collection[str] | None
    kept: TrialState | None


@dataclass(frozen=True, slots=True)
class TrialSetup:
    """The surroundings of a trial: caller, permissions, stubs, answers, secrets and kept state."""

    principal: Principal | str
    permissions: frozenset[str] | None
    """The permissions that the call may be granted; None for all that the function declares."""
    calls: Mapping[str, Callable[[JsonObject], object]]
    """Stubs of the functions that the function calls, by function id."""
    answers: Mapping[str, Json]
    state: Json
    secrets: Mapping[str, str]
    """Texts of secrets, by the names that an executor's environment would give them."""
    client: CallClient
    kept: TrialState
    """The effects and handles of earlier trials."""


def build_trial_setup(options: TrialOptions) -> TrialSetup:
    granted, after, can = options.get("permissions"), options.get("after"), options.get("can")
    return TrialSetup(
        options.get("principal", "tester"),
        None if granted is None else frozenset(granted),
        options.get("calls") or {},
        options.get("answers") or {},
        after.state if after else None,
        options.get("secrets") or {},
        CallClient(declare(NEEDS if can is None else can), CLIENT_INFO, can_answer=True, thread="test"),
        options.get("kept") or TrialState(),
    )


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The result of a trial of a tool."""

    tool: str
    answered: Json = None
    content: Sequence[JsonObject] = ()
    """The content blocks that a client is shown, also for a failure."""
    meta: JsonObject = field(default_factory=dict[str, Json])
    evidence: Sequence[JsonObject] = ()
    failure: Failure | None = None
    asked: InputRequired | None = None
    """The input that the tool requires first."""
    fault: str = ""
    """The fault that the log of an executor would hold."""
    logged: Sequence[JsonObject] = ()
    """The lines written by `ctx.log`: level, said, facts."""
    progress: Sequence[JsonObject] = ()
    """The calls of `ctx.progress`: done, total, said."""

    @property
    def value(self) -> Json:
        """The answer of the tool. Raises AssertionError if the tool failed or required input."""
        if self.failure is not None:
            raise AssertionError(f"{self.tool} failed: {self.failure.message}\n{self.fault}".strip())
        if self.asked is not None:
            raise AssertionError(f"{self.tool} asked for {', '.join(self.asked.requests)} first.")
        return self.answered

    @property
    def structured(self) -> JsonObject | None:
        value = self.value
        return value if isinstance(value, Mapping) else None

    @property
    def text(self) -> str:
        """The text blocks of the content."""
        return "\n".join(str(block["text"]) for block in self.content if block["type"] == "text")


def run_trial(function: Function, arguments: Mapping[str, object], trial: TrialSetup) -> TrialResult:
    """Call a function and collect its result. Raises NotJson for arguments that no client could send."""
    name = function.name or function.id
    plain_arguments = as_object(json_of(dict(arguments)))
    violation = (
        _validators.find_violation(function.input_schema, plain_arguments)
        if function.input_schema is not None
        else None
    )
    if violation:
        return _result_of_failure(name, arguments_failure(function.id, violation), "")
    if reject_lacking_client(function.hosted, trial.client) is not None:
        return _result_of_failure(name, failure("client_lacking", function.id), "")
    seconds = DEFAULT_SECONDS if function.timeout_ms is None else function.timeout_ms / 1000
    call = _build_call(function, plain_arguments, trial, seconds)
    events, secrets = (
        _RecordedEvents(),
        Secrets({name: name for name in trial.secrets}, _TrialSecrets(trial.secrets), _StoppedClock()),
    )
    services = ContextServices(_StubFunctions(trial.calls), secrets, events, progress_every=0.0, operations=trial.kept)
    context = Context(call, "", services, seconds=seconds)
    try:
        run_result = attempt(function, plain_arguments, context, secrets)
    finally:
        context.end()
    return replace(
        _result_of_run(name, function, run_result),
        logged=events.find_events(SAID_EVENT, ("level", "said", "facts")),
        progress=events.find_events(PROGRESS_EVENT, ("done", "total", "said")),
    )


def _result_of_run(name: str, function: Function, run_result: RunResult) -> TrialResult:
    match run_result.outcome:
        case Failure() as failure:
            return _result_of_failure(name, failure, run_result.fault)
        case InputRequired() as input_required:
            return TrialResult(name, asked=input_required)
        case value:
            return _result_of_value(name, function, value)


def _build_call(function: Function, arguments: JsonObject, trial: TrialSetup, seconds: float) -> FunctionCall:
    declared = frozenset(function.permissions)
    granted = declared if trial.permissions is None else declared & trial.permissions
    return FunctionCall(
        call_id="test",
        function=function.id,
        arguments=arguments,
        principal=_build_principal(trial.principal, granted),
        deadline=time.time() + seconds,
        permissions=granted,
        answers=trial.answers,
        state=trial.state,
        callees=frozenset(function.calls),
        client=trial.client,
    )


def _build_principal(principal: Principal | str, permissions: frozenset[str]) -> Principal:
    return (
        Principal(principal, "test", "signpost:test", permissions=permissions)
        if isinstance(principal, str)
        else principal
    )


def _result_of_value(name: str, function: Function, value: EncodedResult) -> TrialResult:
    answer: Json = json.loads(value.text)
    violation = None
    if function.output_schema is not None:
        violation = _validators.find_violation(function.output_schema, answer)
    if violation:
        return _result_of_failure(name, failure("result_refused", function.id), fault_of_result(violation))
    shown = shown_of(value) or NOTHING_SHOWN
    return TrialResult(name, answer, shown.content or [_text_block(answer)], shown.meta, json.loads(value.evidence))


def _result_of_failure(name: str, failure: Failure, fault: str) -> TrialResult:
    shown = failure.shown or NOTHING_SHOWN
    return TrialResult(
        name, content=shown.content or [_text_block(failure.message)], meta=shown.meta, failure=failure, fault=fault
    )


def _text_block(value: Json) -> JsonObject:
    return {"type": "text", "text": value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}


class _StubFunctions:
    """Replaces the gateway: nested calls run the author's stubs."""

    def __init__(self, calls: Mapping[str, Callable[[JsonObject], object]]) -> None:
        self._calls = calls

    def call(self, token: str, parent: FunctionCall, function: str, arguments: JsonObject) -> CallReply:
        del token, parent
        stub = self._calls.get(function)
        if stub is None:
            return failure("unknown_function", function)
        try:
            return Result(json_of(stub(as_object(json_of(arguments)))))
        except ToolError as error:
            return reported_failure(error.kind, error.message)


@dataclass(frozen=True, slots=True)
class _TrialSecrets:
    """Replaces Secrets Manager."""

    texts: Mapping[str, str]

    def read(self, secret: str) -> str:
        return self.texts[secret]


class _StoppedClock:
    """A clock that always shows 0, so that cached secrets never expire in a trial."""

    def now(self) -> float:
        return 0.0


class _RecordedEvents:
    """Replaces the log, and records its events."""

    def __init__(self) -> None:
        self.lines: list[JsonObject] = []

    def write_event(self, level: str, message: str, **facts: Json) -> None:
        self.lines.append({"level": level, "message": message, **facts})

    def find_events(self, message: str, members: Sequence[str]) -> Sequence[JsonObject]:
        lines = [line for line in self.lines if line["message"] == message]
        return [{member: line[member] for member in members if member in line} for line in lines]
