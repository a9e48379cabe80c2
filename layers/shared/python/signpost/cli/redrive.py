"""Sends the change events of failed stream batches to their relay again.

A batch fails when the content relay or the workflow relay gives it up. The queue of failed batches records the time
and the stream position of each batch, but not its rows. Rows of changes are read from the outbox: all rows that were
written at about that time, for every tenant and for shipped content. Rows of workflow steps are read from the stream,
at the recorded position. The relays then send the rows to the bus themselves. A subscriber receives each event at
least once and some events twice, which subscribers must expect anyway.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from signpost.cli.failure import CommandFailed
from signpost.cli.terminal import ShowLine
from signpost.contract import TransportFailure
from signpost.records import dataclass

if TYPE_CHECKING:
    from signpost.calling.ports import LambdaTransport
    from signpost.ports import Clock

LARGEST_CLOCK_SKEW = 60.0
"""In seconds, between the clock of the function that wrote a row and the clock of the stream."""
RECORDS_AT_ONCE, EVENTS_AT_ONCE, CHARACTERS_AT_ONCE = 100, 1000, 1_000_000
"""Amounts that a relay can certainly process in one invocation."""
PATIENCE = 310.0
"""In seconds; longer than the timeout of the relays."""

type RedriveRow = Mapping[str, Any]
"""The row of an outbox or of a stream, in the form of DynamoDB."""


class RedriveBatch(Protocol):
    """A stretch of a stream that a relay gave up."""

    @property
    def function(self) -> str:
        """The name of the relay."""
        ...

    @property
    def first(self) -> float:
        """The time of the first record."""
        ...

    @property
    def last(self) -> float:
        """The time of the last record."""
        ...


class RedriveQueue[FailedBatch: RedriveBatch](Protocol):
    def receive(self) -> Sequence[FailedBatch]: ...

    def settle(self, batch: FailedBatch) -> None: ...

    def put_back(self, batch: FailedBatch) -> None: ...


@dataclass(frozen=True, slots=True)
class RecoveredRows[FailedBatch: RedriveBatch]:
    """The rows of some batches that could be read again."""

    rows: Sequence[RedriveRow]
    too_old: Sequence[FailedBatch]
    """Batches of which some rows may have been deleted since."""


class RowRecovery[FailedBatch: RedriveBatch](Protocol):
    def recover(self, batches: Sequence[FailedBatch], show_line: ShowLine) -> RecoveredRows[FailedBatch]:
        """Read at least the rows that the relay received with these batches."""
        ...


class OutboxPeriods(Protocol):
    def read_periods(self, periods: Sequence[tuple[float, float]]) -> Iterator[tuple[str, Sequence[RedriveRow]]]:
        """Yield the rows that were written in these periods for each scope, with the name of the scope for people."""
        ...


class OutboxRecovery[FailedBatch: RedriveBatch]:
    """Reads rows from an outbox, by the times of the batches. The outbox keeps rows for `retention` seconds."""

    def __init__(self, rows: OutboxPeriods, *, retention: float, clock: "Clock") -> None:
        self._rows = rows
        self._retention = retention
        self._clock = clock

    def recover(self, batches: Sequence[FailedBatch], show_line: ShowLine) -> RecoveredRows[FailedBatch]:
        expiry = self._clock.now() - self._retention
        periods = [(batch.first - LARGEST_CLOCK_SKEW, batch.last + 1 + LARGEST_CLOCK_SKEW) for batch in batches]
        recovered: list[RedriveRow] = []
        for scope, rows in self._rows.read_periods(periods):
            if rows:
                show_line(f"{scope}: {len(rows)} changes")
            recovered += rows
        return RecoveredRows(recovered, [batch for batch in batches if batch.first < expiry])


class StreamRecovery[FailedBatch: RedriveBatch]:
    """Reads rows from the stream, by the position of each batch. `read_batch` returns None if they have expired."""

    def __init__(self, read_batch: Callable[[FailedBatch], Sequence[RedriveRow] | None]) -> None:
        self._read_batch = read_batch

    def recover(self, batches: Sequence[FailedBatch], show_line: ShowLine) -> RecoveredRows[FailedBatch]:
        recovered: list[RedriveRow] = []
        too_old: list[FailedBatch] = []
        for batch in batches:
            rows = self._read_batch(batch)
            if rows is None:
                too_old.append(batch)
            else:
                recovered += rows
        show_line(f"the stream still has {len(recovered)} rows of {len(batches) - len(too_old)} batches")
        return RecoveredRows(recovered, too_old)


@dataclass(frozen=True, slots=True)
class RedriveRelay[FailedBatch: RedriveBatch]:
    """The Lambda function that publishes the rows of a stream, with the recovery of its rows."""

    function: str
    """The name of the function."""
    recovery: RowRecovery[FailedBatch]


@dataclass(frozen=True, slots=True)
class RedriveResult:
    """The counts of a redrive."""

    batches: int
    changes: int
    """Rows: one for each change, each publication, each call of a workflow tool, and each wake."""
    too_old: int
    """Batches of which some rows may have been deleted since."""


class Redrive[FailedBatch: RedriveBatch]:
    """Sends the rows of all batches in a queue to their relays."""

    def __init__(
        self,
        *,
        queue: RedriveQueue[FailedBatch],
        relays: Sequence[RedriveRelay[FailedBatch]],
        link: "LambdaTransport",
        clock: "Clock",
    ) -> None:
        self._queue = queue
        self._relays = {relay.function: relay for relay in relays}
        self._link = link
        self._clock = clock

    def run(self, show_line: ShowLine, *, dry: bool, forget: bool) -> RedriveResult:
        """Send the rows and settle the batches. Raises CommandFailed.

        Batches that are not settled are put back, also on an error. With `forget`, batches that are too old are settled
        as well. A dry run sends and settles nothing."""
        batches = self._receive()
        unsettled = list(batches)
        try:
            recoveries = [
                (relay, self._recover_rows(relay, batches, show_line)) for relay in self._affected_relays(batches)
            ]
            too_old = [batch for _, recovered in recoveries for batch in recovered.too_old]
            if not dry:
                for relay, recovered in recoveries:
                    self._send_rows(relay, recovered.rows, show_line)
                for batch in [batch for batch in batches if forget or batch not in too_old]:
                    self._queue.settle(batch)
                    unsettled.remove(batch)
        finally:
            for batch in unsettled:
                self._queue.put_back(batch)
        return RedriveResult(len(batches), sum(len(recovered.rows) for _, recovered in recoveries), len(too_old))

    def _receive(self) -> Sequence[FailedBatch]:
        try:
            return self._queue.receive()
        except ValueError as fault:
            raise CommandFailed(f"The queue has a message that is not a failed batch. {fault}") from fault

    def _affected_relays(self, batches: Sequence[FailedBatch]) -> Sequence[RedriveRelay[FailedBatch]]:
        """Return the relays that gave up a batch."""
        functions = {batch.function for batch in batches}
        if unknown := functions - self._relays.keys():
            names = ", ".join(sorted(unknown))
            raise CommandFailed(f"The queue has batches of {names}, which are not functions of this stack.")
        return [relay for name, relay in self._relays.items() if name in functions]

    def _recover_rows(
        self, relay: RedriveRelay[FailedBatch], batches: Sequence[FailedBatch], show_line: ShowLine
    ) -> RecoveredRows[FailedBatch]:
        own_batches = [batch for batch in batches if batch.function == relay.function]
        show_line(f"{relay.function} gave up {len(own_batches)} batches; reading their rows")
        return relay.recovery.recover(own_batches, show_line)

    def _send_rows(self, relay: RedriveRelay[FailedBatch], rows: Sequence[RedriveRow], show_line: ShowLine) -> None:
        sent = 0
        for portion in split_rows(rows):
            self._invoke(relay, portion, left=len(rows) - sent)
            sent += len(portion)
            show_line(f"{sent} of {len(rows)} changes sent")

    def _invoke(self, relay: RedriveRelay[FailedBatch], rows: Sequence[RedriveRow], left: int) -> None:
        records = [
            {"eventName": "INSERT", "dynamodb": {"SequenceNumber": str(number), "NewImage": row}}
            for number, row in enumerate(rows)
        ]
        payload = json.dumps({"Records": records}).encode()
        answer = self._link.send(relay.function, payload, self._clock.now() + PATIENCE)
        if isinstance(answer, TransportFailure):
            raise CommandFailed(
                f"{relay.function} did not answer ({answer.code}); {left} changes are left. Run the command again."
            )
        if json.loads(answer) != {"batchItemFailures": []}:
            raise CommandFailed(
                f"{relay.function} refused changes; {left} changes are left. See its log, and run the command again."
            )


def split_rows(rows: Sequence[RedriveRow]) -> Iterator[Sequence[RedriveRow]]:
    """Yield portions of the rows that a relay can process in one invocation.

    A publication with many changes is one row, and may be larger than a portion: then it is sent alone."""
    portion: list[RedriveRow] = []
    events = characters = 0
    for row in rows:
        more_events, more_characters = _events_in(row), len(json.dumps(row))
        events, characters = events + more_events, characters + more_characters
        too_many = len(portion) == RECORDS_AT_ONCE or events > EVENTS_AT_ONCE or characters > CHARACTERS_AT_ONCE
        if portion and too_many:
            yield portion
            portion, events, characters = [], more_events, more_characters
        portion.append(row)
    if portion:
        yield portion


def _events_in(row: RedriveRow) -> int:
    return int(row["last"]["N"]) - int(row["first"]["N"]) + 1 if "publication" in row else 1
