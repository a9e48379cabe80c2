"""One run of a function, and what became of it.

Everything of the author's happens in `attempt`: the function, the methods of what it returned, those of what it
raised. What it answers is plain, and nothing that the function left behind can change it.
"""

import json
import traceback
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from signpost.contract import Failure, Shown
from signpost.errors import DeadlinePassed
from signpost.execution.failures import REPORTED, failure
from signpost.execution.wire import CLASSES, LARGEST_KEPT_RESULT, LARGEST_REPLY, shown_object
from signpost.model import InputRequired, JsonObject
from signpost.records import dataclass
from signpost.schema.validation import Violation
from signpost.toolkit.answers import Answer, ArgumentsRefused, Rich, ToolError
from signpost.toolkit.context import Context
from signpost.toolkit.function import Function
from signpost.toolkit.json_text import NotJson, json_text
from signpost.toolkit.secrets import Secrets

LONGEST_TRACEBACK = 16_000
"""Characters of it that are logged, the last ones."""


@dataclass(frozen=True, slots=True)
class Value:
    """A result as JSON."""

    text: str
    evidence: str = "[]"
    shown: str = ""
    """How it is shown, where the value does not say all of it."""


@dataclass(frozen=True, slots=True)
class Ran:
    outcome: Value | InputRequired | Failure
    fault: str = ""
    """What the author should know about it, for the log alone."""


def attempt(function: Function, arguments: JsonObject, context: Context, secrets: Secrets) -> Ran:
    """Raises DeadlinePassed, and nothing else. What leaves is without the secrets that were read."""
    try:
        outcome = _outcome(function, arguments, context)
        return Ran(_masked(outcome, secrets) if secrets.any_was_read else outcome)
    except DeadlinePassed:
        raise
    except NotJson as fault:
        return Ran(failure("bad_result", context.function), secrets.masked(str(fault)))
    except BaseException as fault:  # noqa: BLE001 - a function may raise what it likes, and Lambda must not see it
        return Ran(failure("exception", context.function), secrets.masked(_described(fault))[-LONGEST_TRACEBACK:])


def _outcome(function: Function, arguments: JsonObject, context: Context) -> Value | InputRequired | Failure:
    try:
        answer = function.answer(arguments, context)
    except ArgumentsRefused as refused:
        return refused_arguments(context.function, refused.violation)
    except ToolError as error:
        return _reported(error)
    written = _input_required(answer) if isinstance(answer, InputRequired) else _value(answer)
    return failure("result_too_large", context.function) if written is None or _is_too_large(written) else written


def _masked(outcome: Value | InputRequired | Failure, secrets: Secrets) -> Value | InputRequired | Failure:
    match outcome:
        case Value(text, evidence, shown):
            return Value(*map(secrets.masked_json, (text, evidence, shown)))
        case InputRequired(requests, state):
            return InputRequired(**json.loads(secrets.masked_json(json.dumps({"requests": requests, "state": state}))))
        case Failure(message=message, shown=said):
            shown = None if said is None else Shown(**json.loads(secrets.masked_json(json.dumps(shown_object(said)))))
            return replace(outcome, message=secrets.masked(message), shown=shown)


def _value(answer: object) -> Value | Failure:
    if not isinstance(answer, Answer):
        return _told(answer)
    if not isinstance(answer.evidence, (list, tuple)) or not all(isinstance(piece, dict) for piece in answer.evidence):
        raise NotJson("evidence is no list of objects")
    return _told(answer.value, json_text(list(answer.evidence)))


def _told(value: object, evidence: str = "[]") -> Value | Failure:
    if not _is_rich(value):
        return Value(json_text(value), evidence)
    # Most functions answer plain values, and their executors start without it.
    from signpost.toolkit.rich import told  # noqa: PLC0415

    said = told(value)
    return said if isinstance(said, Failure) else Value(said.text, evidence, said.shown)


def _is_rich(value: object) -> bool:
    if isinstance(value, list | tuple):
        return any(isinstance(one, Rich) for one in cast("Sequence[object]", value))
    return isinstance(value, Rich)


def _is_too_large(written: Value | InputRequired | Failure) -> bool:
    match written:
        case Value():
            return len(written.text) > LARGEST_KEPT_RESULT
        case Failure(shown=Shown() as shown):
            return len(json_text(shown_object(shown))) > LARGEST_REPLY
        case _:
            return False


def _input_required(answer: InputRequired) -> InputRequired | None:
    """None if it is too large."""
    requests = answer.requests
    if not isinstance(requests, dict) or not all(isinstance(request, dict) for request in requests.values()):
        raise NotJson("requests is no object of objects")
    text = json_text({"requests": requests, "state": answer.state})
    return InputRequired(**json.loads(text)) if len(text) < LARGEST_REPLY else None


def refused_arguments(function: str, violation: Violation) -> Failure:
    place = f"the argument `{violation.field}`" if violation.field else "the arguments"
    message = f"{function} was not called: {place} did not satisfy its input schema: {violation.message}."
    return failure("invalid_arguments", function, message=message)


def shown_of(value: Value) -> Shown | None:
    return Shown(**json.loads(value.shown)) if value.shown else None


def fault_of_result(violation: Violation) -> str:
    """For the log alone: it may quote the result."""
    place = f"`{violation.field}` of its result" if violation.field else "its result"
    return f"{place} does not satisfy its output schema: {violation.message}"


def _reported(error: ToolError) -> Failure:
    if error.kind not in CLASSES:
        raise ValueError(f"{error.kind!r} is none of {', '.join(CLASSES)}") from error
    retry = None if error.retry_after_ms is None else max(int(error.retry_after_ms), 0)
    return Failure(REPORTED, error.kind, error.outcome, str(error.message), retry, counts=bool(error.counts))


def _described(fault: BaseException) -> str:
    """With the text of the exception: it is the author's own log."""
    try:
        return "".join(traceback.format_exception(fault))
    except Exception:  # noqa: BLE001 - there may be no memory left, and an exception may not be printable
        return type(fault).__name__
