"""What a function may answer besides plain JSON, and what it may raise to say why it does not."""

from collections.abc import Sequence

from signpost.contract import Failure, FailureClass, Outcome
from signpost.execution.wire import CLASSES
from signpost.model import JsonObject
from signpost.records import dataclass
from signpost.schema.validation import Violation


@dataclass(frozen=True, slots=True)
class Answer:
    """A result with evidence for it."""

    value: object
    evidence: Sequence[JsonObject] = ()


class Rich:
    """What says more than a value of JSON does."""

    __slots__ = ()


class ArgumentsRefused(Exception):  # noqa: N818 - it names what happened to them
    """They satisfy their schema, and cannot be made what the function takes. Nothing of it ran."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(violation.message)
        self.violation = violation


class ToolError(Exception):
    """Raised by a function that did nothing, and says why; whoever called reads the message. One that does not count
    says nothing of whether the function works: somebody whom the caller named does not."""

    message = ""
    kind: FailureClass = "permanent_error"
    retry_after_ms: int | None = None
    outcome: Outcome = "none"
    counts = True

    def __init__(
        self,
        message: str,
        kind: FailureClass = "permanent_error",
        retry_after_ms: int | None = None,
        *,
        counts: bool = True,
    ) -> None:
        if kind not in CLASSES:
            raise ValueError(f"{kind!r} is none of {', '.join(CLASSES)}")
        super().__init__(message)
        self.message, self.kind, self.retry_after_ms, self.counts = message, kind, retry_after_ms, counts


class CallFailed(ToolError):  # noqa: N818 - it names what happened, as CallEnded does
    """A function that was called from another one failed. If nobody catches it, the calling one fails likewise, and
    nobody can say what that had done before."""

    outcome = "unknown"

    def __init__(self, failed: Failure) -> None:
        super().__init__(failed.message, failed.kind, failed.retry_after_ms, counts=failed.counts)
        self.failure = failed


class CallEnded(Exception):  # noqa: N818 - it names a state, as Unavailable does
    """The call that a context belongs to is over: what still holds the context was left behind."""
