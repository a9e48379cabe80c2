"""Answers of a function besides plain JSON, and the exceptions by which a function reports a failure."""

from collections.abc import Sequence

from signpost.calling.wire import FAILURE_CLASSES
from signpost.contract import Failure, FailureClass, FailureOutcome
from signpost.model import JsonObject
from signpost.records import dataclass
from signpost.schema.validation import Violation


@dataclass(frozen=True, slots=True)
class Answer:
    """A result with evidence for it."""

    value: object
    evidence: Sequence[JsonObject] = ()


class RichValue:
    """Base class of answers that carry content blocks or messages besides a JSON value."""

    __slots__ = ()


class ArgumentsRefused(Exception):  # noqa: N818 - it names a refusal
    """Raised for arguments that satisfy their schema but cannot be cast to the types the function takes. The function
    did not run."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(violation.message)
        self.violation = violation


class ToolError(Exception):
    """Raised by a function that did nothing, to report the reason; the caller reads the message.

    `counts` says whether the breaker counts the failure. A failure of a host that the caller named does not count: it
    says nothing about whether the function works.
    """

    message = ""
    kind: FailureClass = "permanent_error"
    retry_after_ms: int | None = None
    outcome: FailureOutcome = "none"
    counts = True

    def __init__(
        self,
        message: str,
        kind: FailureClass = "permanent_error",
        retry_after_ms: int | None = None,
        *,
        counts: bool = True,
    ) -> None:
        if kind not in FAILURE_CLASSES:
            raise ValueError(f"the kind {kind!r} is not one of {', '.join(FAILURE_CLASSES)}")
        super().__init__(message)
        self.message, self.kind, self.retry_after_ms, self.counts = message, kind, retry_after_ms, counts


class CallFailed(ToolError):  # noqa: N818 - it names an event, as CallEnded does
    """Raised by `Context.call` when the called function failed. If the calling function does not catch it, that
    function fails too; its outcome is "unknown", because it may have done something before the call."""

    outcome = "unknown"

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message, failure.kind, failure.retry_after_ms, counts=failure.counts)
        self.failure = failure


class QuestionRefused(Exception):  # noqa: N818 - it names a refusal
    """Raised for a question that no client is asked; the message names the reason."""


class AskClient(BaseException):
    """Ends a pass of a function that needs an answer of the client first. A BaseException, so that no handler of
    ordinary exceptions catches it."""


class EffectRunning(ToolError):  # noqa: N818 - it names a state, as CallEnded does
    """Raised by `Context.once` while another call of the same request carries out the effect."""

    outcome = "unknown"


class EffectInDoubt(ToolError):  # noqa: N818 - it names a state, as CallEnded does
    """Raised by `Context.once` if it is not known whether the effect has happened, or if its outcome is lost."""

    outcome = "unknown"


class HandleMissing(ToolError):  # noqa: N818 - it names a state, as CallEnded does
    """Raised by `Context.handles` if there is no such handle for the caller."""


class HandleChanged(ToolError):  # noqa: N818 - it names an event, as CallFailed does
    """Raised by `Context.handles` if another call has written the handle meanwhile."""


class CallEnded(Exception):  # noqa: N818 - it names a state, as Unavailable does
    """Raised by a context whose call is over: the code that still uses the context was left running."""
