"""Waits for what a test expects, and says what it saw last if that does not come."""

import time
from collections.abc import Callable

PATIENCE = 90.0
"""Seconds for what comes as soon as the machine gets to it: many times what a quiet one needs."""
LOOK_AGAIN_AFTER = 0.1


def wait_for[Seen](
    what: str, look: Callable[[], Seen], holds: Callable[[Seen], object], *, patience: float = PATIENCE
) -> Seen:
    """Looks until it holds, and returns what was seen then."""
    ends_at = time.monotonic() + patience
    while True:
        asked = time.monotonic()
        seen = look()
        if holds(seen):
            return seen
        assert asked < ends_at, f"Waited {patience:.1f} s for {what}; saw last: {seen!r}"
        time.sleep(LOOK_AGAIN_AFTER)


def seen_within[Seen](seconds: float, what: str, look: Callable[[], Seen], holds: Callable[[Seen], object]) -> Seen:
    """Waits for a promise of so many seconds: the first look after them must succeed, however slow it is."""
    return wait_for(what, look, holds, patience=seconds)
