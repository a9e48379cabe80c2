"""Context operations of a running function, repeated if their answer is lost.

Only operations that may be carried out twice with the same effect are sent like this.
"""

import time
from collections.abc import Callable
from uuid import uuid4

from signpost.model import Json as JsonValue
from signpost.model import JsonObject, as_object
from signpost.toolkit.answers import CallFailed

type Perform = Callable[[str, JsonObject], JsonValue]
"""Has the gateway perform an operation, by its action and fields."""

ATTEMPTS = 3
PAUSE = 0.1
"""Seconds before another attempt; longer with each of them."""
REPEATED_CODES = frozenset({
    "connection_lost", "crashed", "not_ready", "out_of_memory", "service_error", "throttled", "unreachable"
})  # fmt: skip
"""Codes of failures after which the operation may be sent again. It may have been performed."""


def make_token() -> str:
    """Make the text by which the gateway recognises a repeated operation."""
    return uuid4().hex


def perform_repeatedly(perform: Perform, action: str, fields: JsonObject) -> JsonObject:
    """Perform an operation, again if its answer is lost. Raises CallFailed, or CallEnded."""
    for attempt in range(1, ATTEMPTS):
        try:
            return as_object(perform(action, fields))
        except CallFailed as failed:
            if failed.failure.code not in REPEATED_CODES:
                raise
        time.sleep(PAUSE * attempt)
    return as_object(perform(action, fields))
