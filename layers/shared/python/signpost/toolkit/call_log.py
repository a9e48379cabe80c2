"""Log lines and progress of a running function: written to the executor's log under the call id, and collected for the
client if it wants them, with secrets masked."""

import json
import math
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from signpost.contract import FunctionCall
from signpost.model import JsonObject
from signpost.toolkit.json_text import json_text
from signpost.toolkit.notices import NoticeCollector
from signpost.toolkit.secrets import Secrets

if TYPE_CHECKING:
    from signpost.toolkit.ports import EventLog

LONGEST_TEXT = 4_000
LONGEST_NAME = 128
SAID_EVENT, PROGRESS_EVENT = "said", "progress"
PROGRESS_INTERVAL = 1.0
"""Minimum seconds between two progress lines of a call."""

type MonotonicClock = Callable[[], float]


class CallLog:
    """The log that a function writes to. The author's words stand in the members `said` and `facts`, which sets these
    lines apart from those of the harness."""

    def __init__(self, events: "EventLog", call: FunctionCall, secrets: Secrets, notices: NoticeCollector) -> None:
        self._events = events
        self._names = names_of(call)
        self._secrets = secrets
        self._notices = notices

    def debug(self, said: str, **facts: object) -> None:
        self._write_line("DEBUG", said, facts)

    def info(self, said: str, **facts: object) -> None:
        self._write_line("INFO", said, facts)

    def warning(self, said: str, **facts: object) -> None:
        self._write_line("WARNING", said, facts)

    def error(self, said: str, **facts: object) -> None:
        self._write_line("ERROR", said, facts)

    def progress(self, done: float, total: float | None, said: str) -> None:
        """Write a line about progress. The text is masked already."""
        self._events.write_event("INFO", PROGRESS_EVENT, **self._names, done=done, total=total, said=said)

    def _write_line(self, level: str, text: str, facts: Mapping[str, object]) -> None:
        masked = self.mask_text(text)
        masked_facts: JsonObject = json.loads(self._secrets.mask_json(_encode_facts(facts))) if facts else {}
        added: JsonObject = {"facts": masked_facts} if facts else {}
        self._events.write_event(level, SAID_EVENT, **self._names, said=masked, **added)
        if self._notices.wants_log(level.lower()):
            self._notices.add_log(level.lower(), masked, masked_facts)

    def mask_text(self, value: object) -> str:
        return self._secrets.mask(_words_of(value))[:LONGEST_TEXT]


def names_of(call: FunctionCall) -> Mapping[str, str]:
    """Build the members by which a log line names its call."""
    return {"call_id": call.call_id[:LONGEST_NAME], "function": call.function[:LONGEST_NAME]}


def _encode_facts(facts: Mapping[str, object]) -> str:
    """Encode facts as JSON. A fact that JSON cannot express is written by `str`: a log line must not fail the call."""
    try:
        return json_text(dict(facts))
    except Exception:  # noqa: BLE001 - methods of the author's objects may raise anything
        return json.dumps({name: _words_of(fact) for name, fact in facts.items()})


def _words_of(value: object) -> str:
    try:
        return str(value)
    except Exception as fault:  # noqa: BLE001 - as above
        return f"a {type(value).__name__} whose str() failed: {type(fault).__name__}"


def _is_finite(number: float) -> bool:
    """Whether the number is finite. Works also for an integer that is too large for a float."""
    return -math.inf < number < math.inf


class ProgressReporter:
    """Collects the progress of one call for the client, and writes it to the log from time to time. Progress only
    grows.

    A report whose number is NaN or infinite is dropped: no later report could exceed it.
    """

    def __init__(
        self, log: CallLog, notices: NoticeCollector, every: float, now: MonotonicClock = time.monotonic
    ) -> None:
        self._log = log
        self._notices = notices
        self._every = every
        self._now = now
        self._done = -math.inf
        self._next = -math.inf

    def report(self, done: float, total: float | None, text: str) -> None:
        if done <= self._done or not _is_finite(done) or not (total is None or _is_finite(total)):
            return
        self._done = done
        is_due = self._now() >= self._next or done == total
        masked = self._log.mask_text(text) if is_due or self._notices.wants_progress else ""
        if self._notices.wants_progress:
            self._notices.add_progress(done, total, masked)
        if is_due:
            self._next = self._now() + self._every
            self._log.progress(done, total, masked)
