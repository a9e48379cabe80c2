"""The times at which a registration is attempted: at once, and then after pauses that double, until it gives up.

The plan has no clock of its own: its caller measures the time and waits."""

from collections.abc import Sequence
from typing import Literal

from signpost.records import dataclass

FIRST_PAUSE, LONGEST_PAUSE = 5.0, 60.0
GIVE_UP_AFTER = 180.0
"""In seconds since the first attempt. It is checked only after an attempt has failed, so that no attempt is
interrupted: a registration may take a minute longer in all."""
LONGEST_ATTEMPT = 5.0
"""In seconds: the default for the duration of one attempt."""

type HandshakeOutcome = Literal["registered", "gave_up"]


@dataclass(frozen=True, slots=True)
class HandshakePlan:
    """The times of the attempts, and whether the last one succeeds."""

    attempts_at: Sequence[float]
    """In seconds since the first attempt."""
    outcome: HandshakeOutcome


def pause_after(failures: int, elapsed: float) -> float | None:
    """Return the seconds until the next attempt, or None if there is no further attempt."""
    if elapsed > GIVE_UP_AFTER:
        return None
    failures_until_longest = 5  # the limit keeps the power of two small
    return min(FIRST_PAUSE * 2 ** (min(failures, failures_until_longest) - 1), LONGEST_PAUSE)


def build_handshake_plan(latency_s: float, fail_first: int | None, attempt_s: float = LONGEST_ATTEMPT) -> HandshakePlan:
    """Build the plan for attempts that each take `latency_s` seconds, of which the first `fail_first` fail.

    With None for `fail_first`, all attempts fail. An attempt is over after `attempt_s` seconds at the latest."""
    duration = min(latency_s, attempt_s)
    attempts: list[float] = []
    starts_at = 0.0
    while True:
        attempts.append(starts_at)
        if latency_s <= attempt_s and fail_first is not None and len(attempts) > fail_first:
            return HandshakePlan(attempts, "registered")
        elapsed = starts_at + duration
        pause = pause_after(len(attempts), elapsed)
        if pause is None:
            return HandshakePlan(attempts, "gave_up")
        starts_at = elapsed + pause
