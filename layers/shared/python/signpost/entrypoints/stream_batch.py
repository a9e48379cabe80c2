"""Relays batches of a table's stream in order, each record at least once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import batched
from typing import Any

from signpost.model import JsonObject
from signpost.telemetry import Telemetry

BATCH_SIZE = 10
"""The number of entries that the bus and the queues accept in one call."""

type StreamRecord = Mapping[str, Any]
type Image = Mapping[str, Any]
"""A row as the stream delivers it."""
type RecordFault = Callable[[BaseException], None]
type RelayRecords = Callable[[Sequence[StreamRecord], RecordFault], int | None]
"""Relays the records. Returns the index of the first one that was not relayed completely, or None."""


def handle_records(
    event: Mapping[str, Any], request_id: str, telemetry: Telemetry, relay: RelayRecords, *, path: str, operation: str
) -> JsonObject:
    """Relays the records and reports the first that was not relayed completely. Lambda then repeats it and the later
    ones."""
    records = event["Records"]
    with telemetry.record_request(request_id, "STREAM", path) as record:
        record.operation = operation
        first = relay(records, record.set_fault)
        record.set_status(200 if first is None else 503)
    failures = [] if first is None else [records[first]["dynamodb"]["SequenceNumber"]]
    return {"batchItemFailures": [{"itemIdentifier": sequence} for sequence in failures]}


def put_records[Item](
    records: Sequence[StreamRecord],
    items_of: Callable[[Image], Sequence[Item]],
    put: Callable[[Sequence[Item]], Sequence[bool]],
    report_fault: RecordFault,
) -> int | None:
    """Puts the items of the records in batches of ten. Returns the index of the first record that was not accepted
    completely."""
    current = 0
    try:
        for batch in batched(_items_in(records, items_of), BATCH_SIZE, strict=False):
            current = batch[0][0]
            accepted = put([item for _, item in batch])
            refused = [index for (index, _), was_accepted in zip(batch, accepted, strict=True) if not was_accepted]
            if refused:
                return refused[0]
    except Exception as fault:  # noqa: BLE001 - the boundary: records before it need not be sent again
        report_fault(fault)
        return current
    return None


def _items_in[Item](
    records: Sequence[StreamRecord], items_of: Callable[[Image], Sequence[Item]]
) -> Iterator[tuple[int, Item]]:
    for index, record in enumerate(records):
        for item in items_of(record["dynamodb"]["NewImage"]):
            yield index, item
