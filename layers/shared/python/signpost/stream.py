"""The stream of a table, from where it is read to whomever it is told: in its order, at least once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import batched
from typing import Any

from signpost.model import JsonObject
from signpost.telemetry import Telemetry

AT_ONCE = 10
"""What the bus and the queues take in one call."""

type StreamRecord = Mapping[str, Any]
type Image = Mapping[str, Any]
"""A row, as the stream shows it."""
type Failed = Callable[[BaseException], None]
type Tell = Callable[[Sequence[StreamRecord], Failed], int | None]
"""Tells of the records, and answers which of them is the first that somebody has not heard of."""


def shown(
    event: Mapping[str, Any], request_id: str, telemetry: Telemetry, tell: Tell, *, path: str, operation: str
) -> JsonObject:
    """Names the first record of which not everything was taken: Lambda shows it again, with those behind it."""
    records = event["Records"]
    with telemetry.request(request_id, "STREAM", path) as record:
        record.operation = operation
        first = tell(records, record.failed)
        record.answered(200 if first is None else 503)
    left = [] if first is None else [records[first]["dynamodb"]["SequenceNumber"]]
    return {"batchItemFailures": [{"itemIdentifier": sequence} for sequence in left]}


def first_untold[Item](
    records: Sequence[StreamRecord],
    items_of: Callable[[Image], Sequence[Item]],
    put: Callable[[Sequence[Item]], Sequence[bool]],
    failed: Failed,
) -> int | None:
    """Puts what the records stand for, ten at a time. Answers the place of the first that was not all taken."""
    current = 0
    try:
        for batch in batched(_items(records, items_of), AT_ONCE, strict=False):
            current = batch[0][0]
            taken = put([item for _, item in batch])
            refused = [place for (place, _), was_taken in zip(batch, taken, strict=True) if not was_taken]
            if refused:
                return refused[0]
    except Exception as fault:  # noqa: BLE001 - the boundary: what was sent already is not sent again for it
        failed(fault)
        return current
    return None


def _items[Item](
    records: Sequence[StreamRecord], items_of: Callable[[Image], Sequence[Item]]
) -> Iterator[tuple[int, Item]]:
    for place, record in enumerate(records):
        for item in items_of(record["dynamodb"]["NewImage"]):
            yield place, item
