"""Notices: the progress and the log messages of a running function that travel to the client with the reply."""

import json
from collections.abc import Callable, Sequence

from signpost.calling.wire_client import notice_objects
from signpost.calling.wire_fields import fits_double
from signpost.contract import CallClient
from signpost.model import LOG_LEVELS, Json, JsonObject, LogNotice, Notice, ProgressNotice
from signpost.schema.limits import DEEPEST_VALUE, is_too_deep

MOST_NOTICES = 200
LONGEST_NOTICES = 64 * 1024
"""Characters of JSON of all notices of one call."""
LONGEST_FACTS = 4_000
"""Characters of JSON of the facts of one log message."""


class NoticeCollector:
    """Collects what the client of a call wants to be told. Its texts are masked already.

    From the first notice that does not fit any more, only the latest progress is kept, so that the client learns how
    far the function got.
    """

    def __init__(self, client: CallClient | None) -> None:
        self.wants_progress = client is not None and client.wants_progress
        self._lowest = _rank_of(client)
        self._kept: list[Notice] = []
        self._pass_on: Callable[[Notice], None] = self._kept.append
        self._number = self._size = 0
        self._latest: ProgressNotice | None = None
        """The latest progress that did not fit."""
        self._is_full = self._is_closed = False

    def wants_log(self, level: str) -> bool:
        return self._lowest is not None and LOG_LEVELS.index(level) >= self._lowest

    def add_progress(self, done: float, total: float | None, message: str) -> None:
        """Collect progress. A number that no double holds stays in the log alone."""
        if fits_double(done) and (total is None or fits_double(total)):
            self.add(ProgressNotice(done, total, _make_encodable(message)))

    def add_log(self, level: str, text: str, facts: JsonObject) -> None:
        """Collect a log message. Facts that are too long, or nested too deeply, stay in the log alone."""
        data: Json = {"message": text, "facts": facts} if facts and _may_travel(facts) else text
        self.add(LogNotice(level, json.loads(_make_encodable(json.dumps(data, ensure_ascii=False)))))

    def add(self, notice: Notice) -> None:
        if self._is_closed:
            return
        size = 0 if self._is_full else len(json.dumps(notice_objects([notice])))
        self._is_full = self._is_full or self._number == MOST_NOTICES or self._size + size > LONGEST_NOTICES
        if not self._is_full:
            self._number, self._size = self._number + 1, self._size + size
            self._pass_on(notice)
        elif isinstance(notice, ProgressNotice):
            self._latest = notice

    def pass_on(self, receive: Callable[[Notice], None]) -> None:
        """Pass each notice on from now on instead of keeping it: the process may die before it could be taken."""
        self._pass_on = receive

    def take(self) -> Sequence[Notice]:
        """Return the notices and collect no more: what a function left running reports comes too late."""
        taken = (*self._kept, *((self._latest,) if self._latest else ()))
        self._is_closed, self._latest = True, None
        self._kept.clear()
        return taken


def _rank_of(client: CallClient | None) -> int | None:
    """Return the rank of the lowest level that the client wants; None if it wants no log messages."""
    return LOG_LEVELS.index(client.log_level) if client is not None and client.log_level in LOG_LEVELS else None


def _may_travel(facts: JsonObject) -> bool:
    # The facts are one level down in the message, and the message one in the notice.
    return len(json.dumps(facts)) <= LONGEST_FACTS and not is_too_deep(facts, DEEPEST_VALUE - 2)


def _make_encodable(text: str) -> str:
    """Replace halves of surrogate pairs, which no reply can hold."""
    return text.encode(errors="replace").decode()
