"""The log of an executor: one JSON line per event.

It holds names, ids, times and the author's own lines of `ctx.log`; never a token, an argument or a result.
"""

import contextlib
import json
import sys

from signpost.model import Json


class Log:
    """Writes events to standard output. It does not use Powertools, whose import alone would take longer than the whole
    start of an executor."""

    def __init__(self, executor: str = "") -> None:
        self._executor = executor

    def write_event(self, level: str, message: str, **facts: Json) -> None:
        line = json.dumps({"level": level, "message": message, "executor": self._executor, **facts})
        # The author's code may have closed or replaced the standard output.
        with contextlib.suppress(Exception):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
