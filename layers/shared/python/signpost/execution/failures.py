"""Every way in which a call can fail, and what that says about its effect. `docs/executors.md` shows this table."""

from collections.abc import Mapping

from signpost.contract import Failure, FailureClass, Outcome
from signpost.records import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    kind: FailureClass
    outcome: Outcome
    message: str


REPORTED = "reported"
"""The code of a failure that the function's author reports: class and message are the author's, the outcome is none."""

FAILURES: Mapping[str, Row] = {
    # Nothing ran.
    "unknown_function": Row("permanent_error", "none", "There is no function {function}."),
    "circuit_open": Row(
        "transient_error", "none", "{function} failed several times in a row and is left alone for a while."
    ),
    "too_deep": Row("permanent_error", "none", "Functions may call each other three deep, and no deeper."),
    "request_too_large": Row("permanent_error", "none", "The arguments of {function} are too large to be sent."),
    "throttled": Row("rate_limited", "none", "{function} is busy. Try again in a moment."),
    "not_ready": Row("transient_error", "none", "{function} is just being deployed. Try again in a moment."),
    "unreachable": Row("connection_error", "none", "{function} cannot be reached."),
    "executor_missing": Row("permanent_error", "none", "The executor of {function} does not exist any more."),
    "access_denied": Row("permanent_error", "none", "The gateway may not call the executor of {function}."),
    "not_loadable": Row("permanent_error", "none", "The executor of {function} cannot be started."),
    "not_understood": Row(
        "permanent_error", "none", "The executor of {function} does not understand this version of the contract."
    ),
    "invalid_token": Row("permanent_error", "none", "{function} refused the call: its token is not valid."),
    "token_expired": Row("permanent_error", "none", "{function} refused the call: its token has expired."),
    "late": Row("timeout", "none", "The call reached {function} after its deadline; nothing ran."),
    "invalid_arguments": Row("permanent_error", "none", "The arguments do not fit {function}."),
    # It ran, and nobody can say how far.
    "timed_out": Row("timeout", "unknown", "{function} took too long and was stopped."),
    "exception": Row("permanent_error", "unknown", "{function} failed unexpectedly."),
    "crashed": Row("transient_error", "unknown", "{function} crashed."),
    "out_of_memory": Row("transient_error", "unknown", "{function} ran out of memory."),
    "bad_result": Row("permanent_error", "unknown", "{function} answered something that is no JSON."),
    "result_refused": Row(
        "permanent_error",
        "unknown",
        "{function} ran, but what it answered does not satisfy its output schema and was not sent.",
    ),
    "result_too_large": Row("permanent_error", "unknown", "The result of {function} is too large to be sent."),
    "malformed_reply": Row("permanent_error", "unknown", "The executor of {function} answered something else."),
    "connection_lost": Row("connection_error", "unknown", "The connection to {function} was lost."),
    "service_error": Row("transient_error", "unknown", "The call of {function} was lost on its way."),
}

COUNTED = frozenset({
    "bad_result", "crashed", "exception", "malformed_reply", "not_loadable", "out_of_memory", "result_refused",
    "timed_out",
})  # fmt: skip
"""What brings the breaker of a function nearer to opening: exceptions and timeouts do, refusals do not."""


def failure(code: str, function: str, *, message: str | None = None, retry_after_ms: int | None = None) -> Failure:
    row = FAILURES[code]
    words = message or row.message.format(function=function)
    return Failure(code, row.kind, row.outcome, words, retry_after_ms)


def reported(kind: FailureClass, message: str) -> Failure:
    return Failure(REPORTED, kind, "none", message)


def counts(failed: Failure) -> bool:
    """A function that reports what is permanent works as it should: it refuses. So does one whose author says so."""
    if failed.code == REPORTED:
        return failed.counts and failed.kind != "permanent_error"
    return failed.code in COUNTED
