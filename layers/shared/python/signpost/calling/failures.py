"""The table of all failures of a call, with their class and their outcome. `docs/executors.md` shows it."""

from collections.abc import Mapping

from signpost.contract import Failure, FailureClass, FailureOutcome
from signpost.records import dataclass


@dataclass(frozen=True, slots=True)
class FailureRow:
    kind: FailureClass
    outcome: FailureOutcome
    message: str


REPORTED = "reported"
"""The code of a failure that the function's author reports. Class and message are the author's; the outcome is
`none`."""

FAILURES: Mapping[str, FailureRow] = {
    # Nothing ran.
    "unknown_function": FailureRow("permanent_error", "none", "There is no function {function}."),
    "circuit_open": FailureRow(
        "transient_error", "none", "{function} failed several times in a row and is not called for a while."
    ),
    "undeclared_call": FailureRow(
        "permanent_error",
        "none",
        "{function} was not called: the calling function does not declare that it calls it. Its author adds "
        '"{function}" to `calls`.',
    ),
    "too_deep": FailureRow("permanent_error", "none", "Functions may call each other at most three deep."),
    "request_too_large": FailureRow("permanent_error", "none", "The arguments of {function} are too large to be sent."),
    "throttled": FailureRow("rate_limited", "none", "{function} is busy. Try again in a moment."),
    "not_ready": FailureRow("transient_error", "none", "{function} is being deployed. Try again in a moment."),
    "unreachable": FailureRow("connection_error", "none", "{function} cannot be reached."),
    "executor_missing": FailureRow("permanent_error", "none", "The executor of {function} does not exist any more."),
    "access_denied": FailureRow(
        "permanent_error", "none", "The gateway has no permission to call the executor of {function}."
    ),
    "not_loadable": FailureRow("permanent_error", "none", "The executor of {function} cannot be started."),
    "not_understood": FailureRow(
        "permanent_error", "none", "The executor of {function} does not understand this version of the contract."
    ),
    "invalid_token": FailureRow("permanent_error", "none", "{function} refused the call: its token is not valid."),
    "token_expired": FailureRow("permanent_error", "none", "{function} refused the call: its token has expired."),
    "late": FailureRow("timeout", "none", "The call reached {function} after its deadline; nothing ran."),
    "invalid_arguments": FailureRow(
        "permanent_error", "none", "The arguments do not satisfy the input schema of {function}."
    ),
    "client_lacking": FailureRow(
        "permanent_error",
        "none",
        "{function} was not called: it needs a client that can be asked, and this call has none.",
    ),
    # It ran, and asked instead of acting.
    "question_refused": FailureRow(
        "permanent_error", "none", "{function} asked for input in a way in which no client is asked."
    ),
    # It ran, and how far is unknown.
    "timed_out": FailureRow("timeout", "unknown", "{function} took too long and was stopped."),
    "exception": FailureRow("permanent_error", "unknown", "{function} failed unexpectedly."),
    "crashed": FailureRow("transient_error", "unknown", "{function} crashed."),
    "out_of_memory": FailureRow("transient_error", "unknown", "{function} ran out of memory."),
    "bad_result": FailureRow("permanent_error", "unknown", "{function} returned a value that is not JSON."),
    "result_refused": FailureRow(
        "permanent_error",
        "unknown",
        "{function} ran, but its result does not satisfy its output schema and was not sent.",
    ),
    "result_too_large": FailureRow("permanent_error", "unknown", "The result of {function} is too large to be sent."),
    "malformed_reply": FailureRow(
        "permanent_error", "unknown", "The executor of {function} sent a reply that does not follow the contract."
    ),
    "connection_lost": FailureRow("connection_error", "unknown", "The connection to {function} was lost."),
    "service_error": FailureRow("transient_error", "unknown", "{function} was called, but its result was lost."),
}

COUNTED_CODES = frozenset({
    "bad_result", "crashed", "exception", "malformed_reply", "not_loadable", "out_of_memory", "result_refused",
    "timed_out",
})  # fmt: skip
"""The codes that count towards opening a function's breaker: exceptions and timeouts do, refusals do not."""


def failure(code: str, function: str, *, message: str | None = None, retry_after_ms: int | None = None) -> Failure:
    """Build a failure of this code from the table."""
    row = FAILURES[code]
    text = message or row.message.format(function=function)
    return Failure(code, row.kind, row.outcome, text, retry_after_ms)


def reported_failure(kind: FailureClass, message: str) -> Failure:
    """Build the failure that a function's author reports."""
    return Failure(REPORTED, kind, "none", message)


def is_counted(failed: Failure) -> bool:
    """Tell whether a failure counts towards opening the breaker. A function that reports a permanent error works: it
    refuses the request. An author can also mark a failure as not counted."""
    if failed.code == REPORTED:
        return failed.counts and failed.kind != "permanent_error"
    return failed.code in COUNTED_CODES
