"""When whoever registers something tries again: at once, and then after pauses that double, until it has taken long
enough. A plan without a clock; who carries it out brings one."""

from collections.abc import Sequence
from typing import Literal

from signpost.records import dataclass

FIRST_PAUSE, LONGEST_PAUSE = 5.0, 60.0
GIVE_UP_AFTER = 180.0
"""Seconds since the first attempt. Looked at after an attempt has failed and at no other time, so that what is under
way is never broken off: in all it may take a minute longer."""
ATTEMPT = 5.0
"""Seconds an attempt may take where nothing else is said."""

type Outcome = Literal["registered", "gave_up"]


@dataclass(frozen=True, slots=True)
class Plan:
    attempts_at: Sequence[float]
    """Seconds since the first one."""
    outcome: Outcome


def pause_after(failures: int, elapsed: float) -> float | None:
    """Seconds until the next attempt; None if there is none any more."""
    if elapsed > GIVE_UP_AFTER:
        return None
    longest_after = 5  # failures; doubling further would only make numbers nobody can hold
    return min(FIRST_PAUSE * 2 ** (min(failures, longest_after) - 1), LONGEST_PAUSE)


def plan(latency_s: float, fail_first: int | None, attempt_s: float = ATTEMPT) -> Plan:
    """What happens if every attempt takes this long, and so many fail before one succeeds; None for all of them."""
    duration = min(latency_s, attempt_s)
    attempts: list[float] = []
    starts_at = 0.0
    while True:
        attempts.append(starts_at)
        if latency_s <= attempt_s and fail_first is not None and len(attempts) > fail_first:
            return Plan(attempts, "registered")
        elapsed = starts_at + duration
        pause = pause_after(len(attempts), elapsed)
        if pause is None:
            return Plan(attempts, "gave_up")
        starts_at = elapsed + pause
