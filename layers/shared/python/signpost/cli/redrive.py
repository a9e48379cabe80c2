"""Sends what the relay and the herald gave up to the bus after all: by themselves, from where it can be read again.

The queue says when it was written and where in the stream it was. Of changes all is sent again that was made at about
that time, by whomever; of steps what is at that place. A subscriber hears of each at least once, and of some twice,
which it must be ready for anyway.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from signpost.cli.failure import CommandFailed
from signpost.contract import Undelivered
from signpost.records import dataclass

if TYPE_CHECKING:
    from signpost.ports import Clock, Link

CLOCKS_DIFFER = 60.0
"""Seconds between the clock of who wrote a row and that of the stream, at most."""
RECORDS_AT_ONCE, EVENTS_AT_ONCE, CHARACTERS_AT_ONCE = 100, 1000, 1_000_000
"""What these functions are sure to manage in one invocation."""
PATIENCE = 310.0
"""Seconds; longer than they may take."""

type Row = Mapping[str, Any]
type Say = Callable[[str], None]


class Batch(Protocol):
    """Of a stream, that a function gave up."""

    @property
    def function(self) -> str: ...

    @property
    def first(self) -> float: ...

    @property
    def last(self) -> float: ...


class Queue[Given: Batch](Protocol):
    def received(self) -> Sequence[Given]: ...

    def settle(self, batch: Given) -> None: ...

    def put_back(self, batch: Given) -> None: ...


@dataclass(frozen=True, slots=True)
class Kept[Given: Batch]:
    """What can be read again of some batches."""

    rows: Sequence[Row]
    too_old: Sequence[Given]
    """Of which something may be forgotten."""


class Outbox[Given: Batch](Protocol):
    def kept(self, batches: Sequence[Given], say: Say) -> Kept[Given]:
        """What the function was shown, or more than that."""
        ...


class Times(Protocol):
    def written_in(self, periods: Sequence[tuple[float, float]]) -> Iterator[tuple[str, Sequence[Row]]]:
        """With whose they are, as people say it."""
        ...


class ByTime[Given: Batch]:
    """Rows that say when they were written, and are there for so many seconds."""

    def __init__(self, rows: Times, *, kept_for: float, clock: "Clock") -> None:
        self._rows = rows
        self._kept_for = kept_for
        self._clock = clock

    def kept(self, batches: Sequence[Given], say: Say) -> Kept[Given]:
        forgotten = self._clock.now() - self._kept_for
        periods = [(batch.first - CLOCKS_DIFFER, batch.last + 1 + CLOCKS_DIFFER) for batch in batches]
        found: list[Row] = []
        for whose, rows in self._rows.written_in(periods):
            if rows:
                say(f"{whose}: {len(rows)} changes")
            found += rows
        return Kept(found, [batch for batch in batches if batch.first < forgotten])


class ByPlace[Given: Batch]:
    """Rows that the stream itself shows again, by the place of each batch; None where it has forgotten them."""

    def __init__(self, again: Callable[[Given], Sequence[Row] | None]) -> None:
        self._again = again

    def kept(self, batches: Sequence[Given], say: Say) -> Kept[Given]:
        found: list[Row] = []
        too_old: list[Given] = []
        for batch in batches:
            rows = self._again(batch)
            if rows is None:
                too_old.append(batch)
            else:
                found += rows
        say(f"the stream still has {len(found)} rows of {len(batches) - len(too_old)} batches")
        return Kept(found, too_old)


@dataclass(frozen=True, slots=True)
class Teller[Given: Batch]:
    """A function that tells of a stream, and where the rows are that it was shown."""

    function: str
    """Its name."""
    outbox: Outbox[Given]


@dataclass(frozen=True, slots=True)
class Redriven:
    batches: int
    changes: int
    """Rows: one for each change, for each publication, for each call of a workflow, and for each time that one was to
    be looked at."""
    too_old: int
    """Batches of which something may be forgotten."""


class Redrive[Given: Batch]:
    def __init__(self, *, queue: Queue[Given], tellers: Sequence[Teller[Given]], link: "Link", clock: "Clock") -> None:
        self._queue = queue
        self._tellers = {teller.function: teller for teller in tellers}
        self._link = link
        self._clock = clock

    def run(self, say: Say, *, dry: bool, forget: bool) -> Redriven:
        """Whatever is not settled is put back, also when this fails. Raises CommandFailed."""
        batches = self._received()
        unsettled = list(batches)
        try:
            found = [(teller, self._kept(teller, batches, say)) for teller in self._asked(batches)]
            too_old = [batch for _, kept in found for batch in kept.too_old]
            if not dry:
                for teller, kept in found:
                    self._send(teller, kept.rows, say)
                for batch in [batch for batch in batches if forget or batch not in too_old]:
                    self._queue.settle(batch)
                    unsettled.remove(batch)
        finally:
            for batch in unsettled:
                self._queue.put_back(batch)
        return Redriven(len(batches), sum(len(kept.rows) for _, kept in found), len(too_old))

    def _received(self) -> Sequence[Given]:
        try:
            return self._queue.received()
        except ValueError as fault:
            raise CommandFailed(f"In the queue is something else than changes. {fault}") from fault

    def _asked(self, batches: Sequence[Given]) -> Sequence[Teller[Given]]:
        """Those that gave something up."""
        gave_up = {batch.function for batch in batches}
        if strangers := gave_up - self._tellers.keys():
            raise CommandFailed(
                f"In the queue is what {', '.join(sorted(strangers))} gave up, no function of the stack."
            )
        return [teller for name, teller in self._tellers.items() if name in gave_up]

    def _kept(self, teller: Teller[Given], batches: Sequence[Given], say: Say) -> Kept[Given]:
        its = [batch for batch in batches if batch.function == teller.function]
        say(f"{teller.function} gave up {len(its)} batches; reading what was in them")
        return teller.outbox.kept(its, say)

    def _send(self, teller: Teller[Given], rows: Sequence[Row], say: Say) -> None:
        sent = 0
        for some in portions(rows):
            self._told(teller, some, left=len(rows) - sent)
            sent += len(some)
            say(f"{sent} of {len(rows)} changes sent")

    def _told(self, teller: Teller[Given], rows: Sequence[Row], left: int) -> None:
        records = [
            {"eventName": "INSERT", "dynamodb": {"SequenceNumber": str(number), "NewImage": row}}
            for number, row in enumerate(rows)
        ]
        payload = json.dumps({"Records": records}).encode()
        answer = self._link.send(teller.function, payload, self._clock.now() + PATIENCE)
        if isinstance(answer, Undelivered):
            raise CommandFailed(f"{teller.function} did not answer ({answer.code}); {left} changes are left.")
        if json.loads(answer) != {"batchItemFailures": []}:
            raise CommandFailed(
                f"Not everything was taken; {left} changes are left. The log of {teller.function} says why."
            )


def portions(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """What a function is sent at once; a publication of many alone, if need be."""
    some: list[Row] = []
    events = characters = 0
    for row in rows:
        more_events, more_characters = _events_in(row), len(json.dumps(row))
        events, characters = events + more_events, characters + more_characters
        too_many = len(some) == RECORDS_AT_ONCE or events > EVENTS_AT_ONCE or characters > CHARACTERS_AT_ONCE
        if some and too_many:
            yield some
            some, events, characters = [], more_events, more_characters
        some.append(row)
    if some:
        yield some


def _events_in(row: Row) -> int:
    return int(row["last"]["N"]) - int(row["first"]["N"]) + 1 if "publication" in row else 1
