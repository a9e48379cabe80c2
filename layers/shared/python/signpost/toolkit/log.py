"""The log of an executor: one JSON line an event. Names, ids and times go in, and what an author says by `ctx.log`;
never a token, an argument, a result."""

import contextlib
import json
import sys

from signpost.model import Json


class Log:
    """Lines are made by hand: importing Powertools alone would take longer than an executor's whole start."""

    def __init__(self, executor: str = "") -> None:
        self._executor = executor

    def event(self, level: str, message: str, **facts: Json) -> None:
        line = json.dumps({"level": level, "message": message, "executor": self._executor, **facts})
        # The output is the author's too, who may have closed or replaced it.
        with contextlib.suppress(Exception):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
