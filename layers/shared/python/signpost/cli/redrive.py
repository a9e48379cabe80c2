"""Sends changes that the relay gave up to the bus after all: by the relay itself, from the outbox.

The queue says when they were made. All that was made at about that time, by whomever, is sent again: a subscriber hears
of each change at least once, and of some twice, which it must be ready for anyway.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from signpost.adapters.dynamodb.outbox import KEPT_FOR
from signpost.cli.failure import CommandFailed
from signpost.contract import Undelivered
from signpost.records import dataclass

if TYPE_CHECKING:
    from signpost.ports import Clock, Link

CLOCKS_DIFFER = 60.0
"""Seconds between the clock of who wrote a change and that of the stream, at most."""
RECORDS_AT_ONCE, EVENTS_AT_ONCE, CHARACTERS_AT_ONCE = 100, 1000, 1_000_000
"""What the relay is sure to manage in one invocation."""
PATIENCE = 310.0
"""Seconds; longer than the relay may take."""

type Row = Mapping[str, Any]
type Say = Callable[[str], None]


class Batch(Protocol):
    """That the relay gave up."""

    @property
    def first(self) -> float: ...

    @property
    def last(self) -> float: ...


class Queue[Given: Batch](Protocol):
    def received(self) -> Sequence[Given]: ...

    def settle(self, batch: Given) -> None: ...

    def put_back(self, batch: Given) -> None: ...


class Outbox(Protocol):
    def tenants(self) -> Iterator[str | None]: ...

    def written_in(self, tenant: str | None, periods: Sequence[tuple[float, float]]) -> Iterator[Row]: ...


@dataclass(frozen=True, slots=True)
class Redriven:
    batches: int
    changes: int
    """Rows of the outbox: one for each change, or for each publication."""
    too_old: int
    """Batches of which the outbox may have forgotten something."""


class Redrive[Given: Batch]:
    def __init__(self, *, queue: Queue[Given], outbox: Outbox, link: "Link", relay: str, clock: "Clock") -> None:
        self._queue = queue
        self._outbox = outbox
        self._link = link
        self._relay = relay
        self._clock = clock

    def run(self, say: Say, *, dry: bool, forget: bool) -> Redriven:
        """Whatever is not settled is put back, also when this fails. Raises CommandFailed."""
        batches = self._received()
        unsettled = list(batches)
        try:
            found = list(self._found(batches, say)) if batches else []
            too_old = [batch for batch in batches if batch.first < self._clock.now() - KEPT_FOR]
            if not dry:
                self._send(found, say)
                for batch in [batch for batch in batches if forget or batch not in too_old]:
                    self._queue.settle(batch)
                    unsettled.remove(batch)
        finally:
            for batch in unsettled:
                self._queue.put_back(batch)
        return Redriven(len(batches), len(found), len(too_old))

    def _received(self) -> Sequence[Given]:
        try:
            return self._queue.received()
        except ValueError as fault:
            raise CommandFailed(f"In the queue is something else than changes. {fault}") from fault

    def _found(self, batches: Sequence[Batch], say: Say) -> Iterator[Row]:
        say(f"{len(batches)} batches were given up; reading the outbox")
        periods = [(batch.first - CLOCKS_DIFFER, batch.last + 1 + CLOCKS_DIFFER) for batch in batches]
        for tenant in self._outbox.tenants():
            rows = list(self._outbox.written_in(tenant, periods))
            if rows:
                say(f"{tenant or 'what is shipped'}: {len(rows)} changes")
            yield from rows

    def _send(self, rows: Sequence[Row], say: Say) -> None:
        sent = 0
        for some in portions(rows):
            self._relayed(some, left=len(rows) - sent)
            sent += len(some)
            say(f"{sent} of {len(rows)} changes sent")

    def _relayed(self, rows: Sequence[Row], left: int) -> None:
        records = [
            {"eventName": "INSERT", "dynamodb": {"SequenceNumber": str(number), "NewImage": row}}
            for number, row in enumerate(rows)
        ]
        payload = json.dumps({"Records": records}).encode()
        answer = self._link.send(self._relay, payload, self._clock.now() + PATIENCE)
        if isinstance(answer, Undelivered):
            raise CommandFailed(f"The relay function did not answer ({answer.code}); {left} changes are left.")
        if json.loads(answer) != {"batchItemFailures": []}:
            raise CommandFailed(f"The bus did not take everything; {left} changes are left. The relay's log says why.")


def portions(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """What the relay is sent at once; a publication of many alone, if need be."""
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
