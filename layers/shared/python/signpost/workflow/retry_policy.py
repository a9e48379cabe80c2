"""The retry policy of a step: attempts, timeouts, pauses and fallbacks, read from an author's `reliability`."""

from collections.abc import Iterator, Mapping, Sequence

from signpost.model import Json, JsonObject, as_object
from signpost.records import dataclass
from signpost.workflow.definition import Definition, DefinitionFault, ExecutorSpec, Pointer
from signpost.workflow.engine.steps import HUMAN_KIND, ExecutorFailure

RETRIED_CLASSES = frozenset({"timeout", "transient_error", "rate_limited"})
"""Classes of failures after which a step is attempted again if its `retry` lists no classes."""
NEVER_RETRIED = "permanent_error"
LOST_ATTEMPT_CLASS = "timeout"
"""The class of an attempt that never reported a result."""
MOST_ATTEMPTS = 100
LONGEST_PAUSE_MS = 7 * 24 * 3600 * 1000
MOST_DOUBLINGS = 20


@dataclass(frozen=True, slots=True)
class AttemptPosition:
    """The candidate and the number of its attempt. The executor itself is the first candidate, its fallbacks follow."""

    candidate: int = 0
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class NextAttempt:
    """The next attempt, and the pause before it."""

    position: AttemptPosition
    pause: float = 0.0
    """Seconds."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    candidates: Sequence[ExecutorSpec]
    timeout: float | None = None
    """Seconds that an attempt may take."""
    attempts: int = 1
    """The number of attempts for each candidate."""
    backoff: str = "none"
    first_pause: float = 0.0
    longest_pause: float | None = None
    retried_classes: frozenset[str] = RETRIED_CLASSES
    has_retry: bool = False
    """Whether there is a `retry` at all: it consents to a second execution after the failures that it lists."""

    def may_repeat(self, candidate: int, error_class: str = LOST_ATTEMPT_CLASS) -> bool:
        """Return whether the candidate may be executed again although the result of the last execution is unknown."""
        if self.candidates[candidate].settings.get("idempotent") is True:
            return True
        return self.has_retry and error_class in self.retried_classes

    def find_next_attempt(self, position: AttemptPosition, failure: ExecutorFailure) -> NextAttempt | None:
        """Return the attempt that follows the failed one; None if that was the last."""
        if failure.outcome == "unknown" and not self.may_repeat(position.candidate, failure.error_class):
            return None
        if failure.error_class in self.retried_classes and position.attempt < self.attempts:
            pause = max(self._pause_after(position.attempt), min(failure.retry_after_ms or 0, LONGEST_PAUSE_MS) / 1000)
            return NextAttempt(AttemptPosition(position.candidate, position.attempt + 1), pause)
        if position.candidate + 1 < len(self.candidates):
            return NextAttempt(AttemptPosition(position.candidate + 1))
        return None

    def _pause_after(self, attempt: int) -> float:
        """Return the seconds to pause after the attempt of this number."""
        if self.backoff not in ("fixed", "exponential"):
            return 0.0
        pause = self.first_pause
        if self.backoff == "exponential":
            pause *= 2 ** min(attempt - 1, MOST_DOUBLINGS)
        return pause if self.longest_pause is None else min(pause, self.longest_pause)


def retry_policy_of(executor: ExecutorSpec, reliability: JsonObject) -> RetryPolicy:
    """Read the policy. A member that is not understood counts as absent; `signpost check` warns of it."""
    retry = as_object(reliability.get("retry"))
    has_retry = isinstance(reliability.get("retry"), Mapping)
    timeout = _read_seconds(reliability.get("timeoutMs"))
    fallbacks = (fallback for _, fallback in list_fallbacks(reliability, nested=executor.resolves_nested))
    return RetryPolicy(
        candidates=(executor, *fallbacks),
        timeout=timeout or None,
        attempts=_read_count(retry.get("maxAttempts"), MOST_ATTEMPTS) or 1,
        backoff=str(retry.get("backoff", "none")),
        first_pause=_read_seconds(retry.get("initialDelayMs")),
        longest_pause=_read_seconds(retry["maxDelayMs"]) if "maxDelayMs" in retry else None,
        retried_classes=_read_error_classes(retry.get("retryOn")),
        has_retry=has_retry,
    )


def list_fallbacks(reliability: JsonObject, *, nested: bool) -> Iterator[tuple[Pointer, ExecutorSpec]]:
    """Yield the fallbacks of an executor, which resolve their mappings as it does, each with its place in the step."""
    raw = as_object(reliability.get("fallback")).get("executors")
    for index, entry in enumerate(raw if isinstance(raw, list) else ()):
        settings = as_object(entry)
        kind = settings.get("kind")
        if isinstance(kind, str):
            place: Pointer = ("reliability", "fallback", "executors", index)
            yield place, ExecutorSpec(kind, settings, resolves_nested=nested)


def find_human_fallbacks(definition: Definition) -> Iterator[DefinitionFault]:
    """Find the fallbacks of kind `human`. They cannot replace a failed executor: people are asked by a state, and
    answer at a time of their own."""
    for at, reliability in _iterate_reliabilities(definition):
        for place, fallback in list_fallbacks(reliability, nested=False):
            if fallback.kind == HUMAN_KIND:
                message = "a fallback cannot be of the kind human: lead to a state whose transition asks for approval"
                yield DefinitionFault((*at, *place), message)


def _iterate_reliabilities(definition: Definition) -> Iterator[tuple[Pointer, JsonObject]]:
    for state in definition.states.values():
        if state.on_enter is not None:
            yield ("states", state.name, "onEnter"), state.on_enter.reliability
        for name, transition in state.transitions.items():
            yield ("states", state.name, "transitions", name), transition.reliability


def _read_error_classes(raw: Json) -> frozenset[str]:
    if not isinstance(raw, list):
        return RETRIED_CLASSES
    return frozenset(name for name in raw if isinstance(name, str) and name != NEVER_RETRIED)


def _read_seconds(raw: Json) -> float:
    """Read milliseconds, as seconds."""
    if not isinstance(raw, int | float) or isinstance(raw, bool):
        return 0.0
    return min(max(raw, 0), LONGEST_PAUSE_MS) / 1000


def _read_count(raw: Json, limit: int) -> int:
    if not isinstance(raw, int) or isinstance(raw, bool):
        return 0
    return min(max(raw, 0), limit)
