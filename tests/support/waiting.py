"""Waits for a condition of a test, and reports the last seen value if it does not hold in time."""

import time
from collections.abc import Callable

PATIENCE = 90.0
"""Seconds to wait for events without a promised time: many times the need of a quiet machine."""
POLL_INTERVAL = 0.1


def wait_for[Seen](
    what: str, look: Callable[[], Seen], holds: Callable[[Seen], object], *, patience: float = PATIENCE
) -> Seen:
    """Look until the condition holds, and return the value seen then."""
    ends_at = time.monotonic() + patience
    while True:
        asked = time.monotonic()
        seen = look()
        if holds(seen):
            return seen
        assert asked < ends_at, f"Waited {patience:.1f} s for {what}; saw last: {seen!r}"
        time.sleep(POLL_INTERVAL)


def wait_within[Seen](seconds: float, what: str, look: Callable[[], Seen], holds: Callable[[Seen], object]) -> Seen:
    """Wait for a promise of so many seconds: the first look after them must succeed, however slow it is."""
    return wait_for(what, look, holds, patience=seconds)
