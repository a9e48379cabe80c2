"""A call of a tool without an executor, for its author's tests: the same checks, in the same order, in this thread."""

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from typing import TypedDict

from signpost.contract import Failure, FunctionCall, Reply, Result, Shown
from signpost.execution.failures import failure, reported
from signpost.model import InputRequired, Json, JsonObject, Principal, as_object
from signpost.records import dataclass
from signpost.schema.validation import Validators
from signpost.toolkit.answers import ToolError
from signpost.toolkit.attempt import Ran, Value, attempt, fault_of_result, refused_arguments, shown_of
from signpost.toolkit.call_log import PROGRESS, SAID
from signpost.toolkit.context import Context, World
from signpost.toolkit.function import Function
from signpost.toolkit.json_text import json_of
from signpost.toolkit.secrets import Secrets

SECONDS = 30.0
"""What a call has where its author says nothing. Nobody stops it afterwards: that is an executor's to do."""
NOTHING = Shown()
_validators = Validators()


class Surroundings(TypedDict, total=False):
    """What an author says of a test beside what is tested; docs/toolkits.md has a table."""

    principal: Principal | str
    permissions: Collection[str] | None
    calls: Mapping[str, Callable[[JsonObject], object]] | None
    after: InputRequired | None
    answers: Mapping[str, Json] | None
    secrets: Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class Trial:
    """What surrounds a call."""

    principal: Principal | str
    permissions: frozenset[str] | None
    """What it is granted; None for all that it declares."""
    calls: Mapping[str, Callable[[JsonObject], object]]
    """What stands for the functions that it calls."""
    answers: Mapping[str, Json]
    state: Json
    secrets: Mapping[str, str]
    """Their texts, by the names that an executor's environment would give them."""


def trial_in(said: Surroundings) -> Trial:
    granted, after = said.get("permissions"), said.get("after")
    return Trial(
        said.get("principal", "tester"),
        None if granted is None else frozenset(granted),
        said.get("calls") or {},
        said.get("answers") or {},
        after.state if after else None,
        said.get("secrets") or {},
    )


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of it."""

    tool: str
    answered: Json = None
    content: Sequence[JsonObject] = ()
    """What a client is shown, also of a failure."""
    meta: JsonObject = field(default_factory=dict[str, Json])
    evidence: Sequence[JsonObject] = ()
    failure: Failure | None = None
    asked: InputRequired | None = None
    """What it wants to know first."""
    fault: str = ""
    """What the log of an executor would say of it."""
    logged: Sequence[JsonObject] = ()
    """What it said by `ctx.log`: level, said, facts."""
    progress: Sequence[JsonObject] = ()
    """How far it said that it had come: done, total, said."""

    @property
    def value(self) -> Json:
        """What it answered. Raises AssertionError if it did not."""
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
        """What can be read of what is shown."""
        return "\n".join(str(block["text"]) for block in self.content if block["type"] == "text")


def tried(function: Function, arguments: Mapping[str, object], trial: Trial) -> Tried:
    """Raises NotJson for arguments that no client could send."""
    name = function.name or function.id
    given = as_object(json_of(dict(arguments)))
    violation = _validators.violation(function.input_schema, given) if function.input_schema is not None else None
    if violation:
        return _failed(name, refused_arguments(function.id, violation), "")
    seconds = SECONDS if function.timeout_ms is None else function.timeout_ms / 1000
    call = _call(function, given, trial, seconds)
    events, secrets = _KeptEvents(), Secrets({name: name for name in trial.secrets}, _Texts(trial.secrets), _NoTime())
    context = Context(call, "", World(_Stubs(trial.calls), secrets, events, progress_every=0.0), seconds=seconds)
    try:
        ran = attempt(function, given, context, secrets)
    finally:
        context.end()
    return replace(
        _came_of(name, function, ran),
        logged=events.told(SAID, ("level", "said", "facts")),
        progress=events.told(PROGRESS, ("done", "total", "said")),
    )


def _came_of(name: str, function: Function, ran: Ran) -> Tried:
    match ran.outcome:
        case Failure() as failed:
            return _failed(name, failed, ran.fault)
        case InputRequired() as asked:
            return Tried(name, asked=asked)
        case value:
            return _answered(name, function, value)


def _call(function: Function, arguments: JsonObject, trial: Trial, seconds: float) -> FunctionCall:
    declared = frozenset(function.permissions)
    granted = declared if trial.permissions is None else declared & trial.permissions
    return FunctionCall(
        call_id="test",
        function=function.id,
        arguments=arguments,
        principal=_principal(trial.principal, granted),
        deadline=time.time() + seconds,
        permissions=granted,
        answers=trial.answers,
        state=trial.state,
    )


def _principal(named: Principal | str, permissions: frozenset[str]) -> Principal:
    return Principal(named, "test", "signpost:test", permissions=permissions) if isinstance(named, str) else named


def _answered(name: str, function: Function, value: Value) -> Tried:
    answered: Json = json.loads(value.text)
    violation = None
    if function.output_schema is not None:
        violation = _validators.violation(function.output_schema, answered)
    if violation:
        return _failed(name, failure("result_refused", function.id), fault_of_result(violation))
    shown = shown_of(value) or NOTHING
    return Tried(name, answered, shown.content or [_text(answered)], shown.meta, json.loads(value.evidence))


def _failed(name: str, failed: Failure, fault: str) -> Tried:
    shown = failed.shown or NOTHING
    return Tried(name, content=shown.content or [_text(failed.message)], meta=shown.meta, failure=failed, fault=fault)


def _text(value: Json) -> JsonObject:
    return {"type": "text", "text": value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}


class _Stubs:
    """Stand for the gateway."""

    def __init__(self, calls: Mapping[str, Callable[[JsonObject], object]]) -> None:
        self._calls = calls

    def call(self, token: str, parent: FunctionCall, function: str, arguments: JsonObject) -> Reply:
        del token, parent
        stub = self._calls.get(function)
        if stub is None:
            return failure("unknown_function", function)
        try:
            return Result(json_of(stub(as_object(json_of(arguments)))))
        except ToolError as error:
            return reported(error.kind, error.message)


@dataclass(frozen=True, slots=True)
class _Texts:
    """Stands for where secrets are kept."""

    texts: Mapping[str, str]

    def read(self, secret: str) -> str:
        return self.texts[secret]


class _NoTime:
    """Nothing is rotated during a test."""

    def now(self) -> float:
        return 0.0


class _KeptEvents:
    """Stands for the log."""

    def __init__(self) -> None:
        self.lines: list[JsonObject] = []

    def event(self, level: str, message: str, **facts: Json) -> None:
        self.lines.append({"level": level, "message": message, **facts})

    def told(self, message: str, members: Sequence[str]) -> Sequence[JsonObject]:
        told = [line for line in self.lines if line["message"] == message]
        return [{member: line[member] for member in members if member in line} for line in told]
