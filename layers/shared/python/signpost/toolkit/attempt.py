"""One run of a function, and what became of it.

Everything of the author's happens in `attempt`: the function, the methods of what it returned, those of what it
raised. What it answers is plain, and nothing that the function left behind can change it.
"""

import json
import traceback

from signpost.contract import Failure
from signpost.errors import DeadlinePassed
from signpost.execution.failures import REPORTED, failure
from signpost.execution.wire import CLASSES, LARGEST_KEPT_RESULT, LARGEST_REPLY
from signpost.model import InputRequired, JsonObject
from signpost.records import dataclass
from signpost.toolkit.answers import Answer, ToolError
from signpost.toolkit.context import Context
from signpost.toolkit.function import Function
from signpost.toolkit.json_text import NotJson, json_text

LONGEST_TRACEBACK = 16_000
"""Characters of it that are logged, the last ones."""


@dataclass(frozen=True, slots=True)
class Value:
    """A result as JSON."""

    text: str
    evidence: str = "[]"


@dataclass(frozen=True, slots=True)
class Ran:
    outcome: Value | InputRequired | Failure
    fault: str = ""
    """What the author should know about it, for the log alone."""


def attempt(function: Function, arguments: JsonObject, context: Context) -> Ran:
    """Raises DeadlinePassed, and nothing else."""
    try:
        return Ran(_outcome(function, arguments, context))
    except DeadlinePassed:
        raise
    except NotJson as fault:
        return Ran(failure("bad_result", context.function), str(fault))
    except BaseException as fault:  # noqa: BLE001 - a function may raise what it likes, and Lambda must not see it
        return Ran(failure("exception", context.function), _described(fault))


def _outcome(function: Function, arguments: JsonObject, context: Context) -> Value | InputRequired | Failure:
    try:
        answer = function.answer(arguments, context)
    except ToolError as error:
        return _reported(error)
    written = _input_required(answer) if isinstance(answer, InputRequired) else _value(answer)
    if isinstance(written, Value) and len(written.text) > LARGEST_KEPT_RESULT:
        return failure("result_too_large", context.function)
    return written or failure("result_too_large", context.function)


def _value(answer: object) -> Value:
    if not isinstance(answer, Answer):
        return Value(json_text(answer))
    if not isinstance(answer.evidence, (list, tuple)) or not all(isinstance(piece, dict) for piece in answer.evidence):
        raise NotJson("evidence is no list of objects")
    return Value(json_text(answer.value), json_text(list(answer.evidence)))


def _input_required(answer: InputRequired) -> InputRequired | None:
    """None if it is too large."""
    requests = answer.requests
    if not isinstance(requests, dict) or not all(isinstance(request, dict) for request in requests.values()):
        raise NotJson("requests is no object of objects")
    text = json_text({"requests": requests, "state": answer.state})
    return InputRequired(**json.loads(text)) if len(text) < LARGEST_REPLY else None


def _reported(error: ToolError) -> Failure:
    if error.kind not in CLASSES:
        raise ValueError(f"{error.kind!r} is none of {', '.join(CLASSES)}") from error
    retry = None if error.retry_after_ms is None else max(int(error.retry_after_ms), 0)
    return Failure(REPORTED, error.kind, error.outcome, str(error.message), retry)


def _described(fault: BaseException) -> str:
    """With the text of the exception: it is the author's own log."""
    try:
        return "".join(traceback.format_exception(fault))[-LONGEST_TRACEBACK:]
    except Exception:  # noqa: BLE001 - there may be no memory left, and an exception may not be printable
        return type(fault).__name__
