"""One run of a function and its result.

All of the author's code runs inside `attempt`: the function, the methods of its return value, and the methods of its
exceptions. The result of `attempt` is plain text and data, which no code that the function left running can change.
"""

import json
import traceback
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from signpost.calling.failures import REPORTED, failure
from signpost.calling.wire import FAILURE_CLASSES, LARGEST_KEPT_RESULT, LARGEST_REPLY, shown_object
from signpost.contract import ClientPresentation, Failure
from signpost.errors import DeadlinePassed
from signpost.model import InputRequired, JsonObject
from signpost.records import dataclass
from signpost.schema.validation import Violation
from signpost.toolkit.answers import Answer, ArgumentsRefused, QuestionRefused, RichValue, ToolError
from signpost.toolkit.context import Context
from signpost.toolkit.function import Function
from signpost.toolkit.json_text import NotJson, json_text
from signpost.toolkit.secrets import Secrets

LONGEST_TRACEBACK = 16_000
"""Characters of a traceback that are logged: the last ones."""


@dataclass(frozen=True, slots=True)
class EncodedResult:
    """A function's value, evidence and presentation as JSON text."""

    text: str
    evidence: str = "[]"
    shown: str = ""
    """The presentation for clients (content blocks and meta) as JSON text; empty if the value alone is shown."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """The outcome of one run of a function."""

    outcome: EncodedResult | InputRequired | Failure
    fault: str = ""
    """The fault for the function's author. It goes to the log only."""


def attempt(function: Function, arguments: JsonObject, context: Context, secrets: Secrets) -> RunResult:
    """Run the function and encode its answer. Raises DeadlinePassed, and nothing else.

    The secrets that the function has read are masked in the result.
    """
    try:
        outcome = _run_to_outcome(function, arguments, context)
        return RunResult(_mask_outcome(outcome, secrets) if secrets.has_read_any else outcome)
    except DeadlinePassed:
        raise
    except NotJson as fault:
        return RunResult(failure("bad_result", context.function), secrets.mask(str(fault)))
    except BaseException as fault:  # noqa: BLE001 - a function may raise anything, and Lambda must not see it
        return RunResult(
            failure("exception", context.function), secrets.mask(_format_fault(fault))[-LONGEST_TRACEBACK:]
        )


def _run_to_outcome(
    function: Function, arguments: JsonObject, context: Context
) -> EncodedResult | InputRequired | Failure:
    try:
        answer = _answer_or_ask(function, arguments, context)
    except ArgumentsRefused as refused:
        return arguments_failure(context.function, refused.violation)
    except QuestionRefused as refused:
        message = f"{context.function} asked for input that is not requested: {refused}"
        return failure("question_refused", context.function, message=message)
    except ToolError as error:
        return _failure_of_error(error)
    encoded = _encode_input_required(answer) if isinstance(answer, InputRequired) else _encode_answer(answer)
    return failure("result_too_large", context.function) if encoded is None or _is_too_large(encoded) else encoded


def _answer_or_ask(function: Function, arguments: JsonObject, context: Context) -> object:
    """Return the answer of the function, or what it has asked the client: its code can end in any way, but not take
    back a question."""
    try:
        answer = function.answer(arguments, context)
    except DeadlinePassed:
        raise
    except BaseException:
        if (required := context.input_required()) is None:
            raise
        return required
    return context.input_required() or answer


def _mask_outcome(
    outcome: EncodedResult | InputRequired | Failure, secrets: Secrets
) -> EncodedResult | InputRequired | Failure:
    match outcome:
        case EncodedResult(text, evidence, shown):
            return EncodedResult(*map(secrets.mask_json, (text, evidence, shown)))
        case InputRequired(requests, state):
            return replace(outcome, **json.loads(secrets.mask_json(json.dumps({"requests": requests, "state": state}))))
        case Failure(message=message, shown=presentation):
            masked = (
                None
                if presentation is None
                else ClientPresentation(**json.loads(secrets.mask_json(json.dumps(shown_object(presentation)))))
            )
            return replace(outcome, message=secrets.mask(message), shown=masked)


def _encode_answer(answer: object) -> EncodedResult | Failure:
    if not isinstance(answer, Answer):
        return _encode_value(answer)
    if not isinstance(answer.evidence, (list, tuple)) or not all(isinstance(piece, dict) for piece in answer.evidence):
        raise NotJson("evidence must be a list of objects")
    return _encode_value(answer.value, json_text(list(answer.evidence)))


def _encode_value(value: object, evidence: str = "[]") -> EncodedResult | Failure:
    if not _is_rich(value):
        return EncodedResult(json_text(value), evidence)
    # Imported on first use: most functions answer plain values, and their executors start without it.
    from signpost.toolkit.rich_result import encode_rich_result  # noqa: PLC0415

    encoded = encode_rich_result(value)
    return encoded if isinstance(encoded, Failure) else EncodedResult(encoded.text, evidence, encoded.shown)


def _is_rich(value: object) -> bool:
    if isinstance(value, list | tuple):
        return any(isinstance(part, RichValue) for part in cast("Sequence[object]", value))
    return isinstance(value, RichValue)


def _is_too_large(encoded: EncodedResult | InputRequired | Failure) -> bool:
    match encoded:
        case EncodedResult():
            return len(encoded.text) > LARGEST_KEPT_RESULT
        case Failure(shown=ClientPresentation() as shown):
            return len(json_text(shown_object(shown))) > LARGEST_REPLY
        case _:
            return False


def _encode_input_required(answer: InputRequired) -> InputRequired | None:
    """Encode the requests and the state as plain JSON; None if they are too large."""
    requests = answer.requests
    if not isinstance(requests, dict) or not all(isinstance(request, dict) for request in requests.values()):
        raise NotJson("requests must be an object whose values are objects")
    text = json_text({"requests": requests, "state": answer.state})
    return replace(answer, **json.loads(text)) if len(text) < LARGEST_REPLY else None


def arguments_failure(function: str, violation: Violation) -> Failure:
    place = f"the argument `{violation.field}`" if violation.field else "the arguments"
    message = f"{function} was not called: {place} did not satisfy its input schema: {violation.message}."
    return failure("invalid_arguments", function, message=message)


def shown_of(value: EncodedResult) -> ClientPresentation | None:
    return ClientPresentation(**json.loads(value.shown)) if value.shown else None


def fault_of_result(violation: Violation) -> str:
    """Describe a result that does not satisfy its output schema. For the log only: the text may quote the result."""
    place = f"`{violation.field}` of its result" if violation.field else "its result"
    return f"{place} does not satisfy its output schema: {violation.message}"


def _failure_of_error(error: ToolError) -> Failure:
    if error.kind not in FAILURE_CLASSES:
        raise ValueError(f"the kind {error.kind!r} is not one of {', '.join(FAILURE_CLASSES)}") from error
    retry = None if error.retry_after_ms is None else max(int(error.retry_after_ms), 0)
    return Failure(REPORTED, error.kind, error.outcome, str(error.message), retry, counts=bool(error.counts))


def _format_fault(fault: BaseException) -> str:
    """Format the traceback with the text of the exception, which may appear because the log is the author's own."""
    try:
        return "".join(traceback.format_exception(fault))
    except Exception:  # noqa: BLE001 - there may be no memory left, and an exception may not be printable
        return type(fault).__name__
