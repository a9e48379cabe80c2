"""What a function says while it runs: lines of its executor's log under the id of its call, without secrets."""

import json
import math
import time
from collections.abc import Callable, Mapping

from signpost.contract import FunctionCall
from signpost.model import JsonObject
from signpost.toolkit.json_text import json_text
from signpost.toolkit.ports import Events
from signpost.toolkit.secrets import Secrets

LONGEST_TEXT = 4_000
LONGEST_NAME = 128
SAID, PROGRESS = "said", "progress"
EVERY = 1.0
"""Seconds between two lines about how far a function has come."""

type Seconds = Callable[[], float]


class CallLog:
    """Its lines are told apart from those of the harness: what an author says stands below `said` and `facts`."""

    def __init__(self, events: Events, call: FunctionCall, secrets: Secrets) -> None:
        self._events = events
        self._names = {"call_id": call.call_id[:LONGEST_NAME], "function": call.function[:LONGEST_NAME]}
        self._secrets = secrets

    def debug(self, said: str, **facts: object) -> None:
        self._line("DEBUG", said, facts)

    def info(self, said: str, **facts: object) -> None:
        self._line("INFO", said, facts)

    def warning(self, said: str, **facts: object) -> None:
        self._line("WARNING", said, facts)

    def error(self, said: str, **facts: object) -> None:
        self._line("ERROR", said, facts)

    def progress(self, done: float, total: float | None, said: str) -> None:
        self._events.event("INFO", PROGRESS, **self._names, done=done, total=total, said=self._text(said))

    def _line(self, level: str, said: str, facts: Mapping[str, object]) -> None:
        added: JsonObject = {"facts": json.loads(self._secrets.masked_json(_text_of(facts)))} if facts else {}
        self._events.event(level, SAID, **self._names, said=self._text(said), **added)

    def _text(self, said: object) -> str:
        return self._secrets.masked(_words_of(said))[:LONGEST_TEXT]


def _text_of(facts: Mapping[str, object]) -> str:
    """What has no form in JSON, or cannot say it, is told in Python's words: a line of a log fails nobody's call."""
    try:
        return json_text(dict(facts))
    except Exception:  # noqa: BLE001 - methods of the author's raise what they like
        return json.dumps({name: _words_of(fact) for name, fact in facts.items()})


def _words_of(value: object) -> str:
    try:
        return str(value)
    except Exception as fault:  # noqa: BLE001 - as above
        return f"a {type(value).__name__} that cannot be told: {type(fault).__name__}"


def _is_finite(number: float) -> bool:
    """Also of an integer that no float could be."""
    return -math.inf < number < math.inf


class Progress:
    """How far a function has come, which only grows. What is said with a number that is none, or has no end, is left
    out: nothing could follow it."""

    def __init__(self, log: CallLog, every: float, now: Seconds = time.monotonic) -> None:
        self._log = log
        self._every = every
        self._now = now
        self._done = -math.inf
        self._next = -math.inf

    def report(self, done: float, total: float | None, said: str) -> None:
        if done <= self._done or not _is_finite(done) or not (total is None or _is_finite(total)):
            return
        self._done = done
        if self._now() >= self._next or done == total:
            self._next = self._now() + self._every
            self._log.progress(done, total, said)
