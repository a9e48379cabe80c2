"""How often a step is tried, how long each time, and by whom: what an author's `reliability` says, as decisions."""

from collections.abc import Iterator, Mapping, Sequence

from signpost.model import Json, JsonObject, as_object
from signpost.records import dataclass
from signpost.workflow.definition import Definition, Executor, Fault, Pointer
from signpost.workflow.steps import PEOPLE, Failed

RETRIED = frozenset({"timeout", "transient_error", "rate_limited"})
"""Classes of failures after which it is tried again, where a `retry` does not list its own."""
NEVER_RETRIED = "permanent_error"
LOST = "timeout"
"""The class of an attempt of which nobody ever heard again."""
MOST_ATTEMPTS = 100
LONGEST_PAUSE_MS = 7 * 24 * 3600 * 1000
MOST_DOUBLINGS = 20


@dataclass(frozen=True, slots=True)
class Tries:
    """Which of the candidates is tried, and for which time: the executor itself is the first, its fallbacks follow."""

    candidate: int = 0
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class Again:
    """The next try, and after how long."""

    tries: Tries
    pause: float = 0.0
    """Seconds."""


@dataclass(frozen=True, slots=True)
class Policy:
    candidates: Sequence[Executor]
    timeout: float | None = None
    """Seconds that an attempt may take."""
    attempts: int = 1
    """For each of the candidates."""
    backoff: str = "none"
    first_pause: float = 0.0
    longest_pause: float | None = None
    retried: frozenset[str] = RETRIED
    repeats: bool = False
    """Whether there is a `retry` at all: it says that what failed so may be done twice."""

    def consents(self, candidate: int, error_class: str = LOST) -> bool:
        """Whether it may be executed again although nobody knows what came of the last time."""
        if self.candidates[candidate].settings.get("idempotent") is True:
            return True
        return self.repeats and error_class in self.retried

    def after(self, tries: Tries, failed: Failed) -> Again | None:
        """None if that was the last try."""
        if failed.outcome == "unknown" and not self.consents(tries.candidate, failed.error_class):
            return None
        if failed.error_class in self.retried and tries.attempt < self.attempts:
            pause = max(self._pause(tries.attempt), min(failed.retry_after_ms or 0, LONGEST_PAUSE_MS) / 1000)
            return Again(Tries(tries.candidate, tries.attempt + 1), pause)
        if tries.candidate + 1 < len(self.candidates):
            return Again(Tries(tries.candidate + 1))
        return None

    def _pause(self, attempt: int) -> float:
        """After the attempt of that number."""
        if self.backoff not in ("fixed", "exponential"):
            return 0.0
        pause = self.first_pause
        if self.backoff == "exponential":
            pause *= 2 ** min(attempt - 1, MOST_DOUBLINGS)
        return pause if self.longest_pause is None else min(pause, self.longest_pause)


def policy_of(executor: Executor, reliability: JsonObject) -> Policy:
    """What is not understood counts as not said; `signpost check` warns of it."""
    retry = as_object(reliability.get("retry"))
    has_retry = isinstance(reliability.get("retry"), Mapping)
    timeout = _milliseconds(reliability.get("timeoutMs"))
    return Policy(
        candidates=(executor, *_fallbacks(as_object(reliability.get("fallback")).get("executors"))),
        timeout=timeout or None,
        attempts=_whole(retry.get("maxAttempts"), MOST_ATTEMPTS) or 1,
        backoff=str(retry.get("backoff", "none")),
        first_pause=_milliseconds(retry.get("initialDelayMs")),
        longest_pause=_milliseconds(retry["maxDelayMs"]) if "maxDelayMs" in retry else None,
        retried=_classes(retry.get("retryOn")),
        repeats=has_retry,
    )


def misplaced(definition: Definition) -> Iterator[Fault]:
    """Fallbacks that can do nothing for what has failed: people are asked by a state, and answer when they like."""
    for at, reliability in _reliabilities(definition):
        written = as_object(reliability.get("fallback")).get("executors")
        for place, entry in enumerate(written if isinstance(written, list) else []):
            if as_object(entry).get("kind") == PEOPLE:
                here: Pointer = (*at, "reliability", "fallback", "executors", place)
                message = "people are not asked by a fallback: lead to a state from where a transition asks them"
                yield Fault(here, message)


def _reliabilities(definition: Definition) -> Iterator[tuple[Pointer, JsonObject]]:
    for state in definition.states.values():
        if state.on_enter is not None:
            yield ("states", state.name, "onEnter"), state.on_enter.reliability
        for name, transition in state.transitions.items():
            yield ("states", state.name, "transitions", name), transition.reliability


def _fallbacks(written: Json) -> Sequence[Executor]:
    entries = written if isinstance(written, list) else []
    found = [as_object(entry) for entry in entries]
    return [Executor(kind, entry) for entry in found if isinstance(kind := entry.get("kind"), str)]


def _classes(written: Json) -> frozenset[str]:
    if not isinstance(written, list):
        return RETRIED
    return frozenset(one for one in written if isinstance(one, str) and one != NEVER_RETRIED)


def _milliseconds(written: Json) -> float:
    """In seconds."""
    if not isinstance(written, int | float) or isinstance(written, bool):
        return 0.0
    return min(max(written, 0), LONGEST_PAUSE_MS) / 1000


def _whole(written: Json, most: int) -> int:
    if not isinstance(written, int) or isinstance(written, bool):
        return 0
    return min(max(written, 0), most)
