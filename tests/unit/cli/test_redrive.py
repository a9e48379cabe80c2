"""What is sent again when the relay or the herald has given up, and what stays in the queue."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from signpost.adapters.dynamodb.outbox import RETENTION_SECONDS
from signpost.adapters.sqs import QueueMessage
from signpost.adapters.undelivered_batches import StreamPlace, UndeliveredBatch, parse_undelivered_batch
from signpost.cli.failure import CommandFailed
from signpost.cli.redrive import (
    CHARACTERS_AT_ONCE,
    EVENTS_AT_ONCE,
    RECORDS_AT_ONCE,
    OutboxRecovery,
    Redrive,
    RedriveRelay,
    RedriveResult,
    StreamRecovery,
    split_rows,
)
from signpost.contract import TransportFailure
from tests.support.memory_gateway import ManualClock

NOW = ManualClock().now()
MOMENT = NOW - 3600


@dataclass
class FakeUndeliveredBatches:
    there: list[UndeliveredBatch]
    received_now: list[UndeliveredBatch] = field(default_factory=list[UndeliveredBatch])

    def receive(self) -> Sequence[UndeliveredBatch]:
        self.received_now, self.there = self.there, []
        return list(self.received_now)

    def settle(self, batch: UndeliveredBatch) -> None:
        self.received_now.remove(batch)

    def put_back(self, batch: UndeliveredBatch) -> None:
        self.received_now.remove(batch)
        self.there.append(batch)


@dataclass
class FakeOutbox:
    rows: Mapping[str, Sequence[tuple[float, Mapping[str, Any]]]]

    def read_periods(self, periods: Sequence[tuple[float, float]]) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
        for whose, rows in self.rows.items():
            yield whose, [row for at, row in rows if any(first <= at <= last for first, last in periods)]


@dataclass
class FakeRelayFunctions:
    """Answer with each of these, and then that the bus has taken everything."""

    answers: list[Any] = field(default_factory=list[Any])
    sent: list[Sequence[Any]] = field(default_factory=list[Sequence[Any]])
    called: list[str] = field(default_factory=list[str])

    def send(self, function_arn: str, payload: bytes, give_up_at: float) -> bytes | TransportFailure:
        assert give_up_at > NOW
        self.called.append(function_arn)
        self.sent.append([record["dynamodb"]["NewImage"] for record in json.loads(payload)["Records"]])
        answer: Any = self.answers.pop(0) if self.answers else {"batchItemFailures": []}
        return answer if isinstance(answer, TransportFailure) else json.dumps(answer).encode()


def row(name: str) -> Mapping[str, Any]:
    return {"key": {"S": name}}


def batch(at: float = MOMENT, function: str = "relay", number: int = 1) -> UndeliveredBatch:
    place = StreamPlace("stream", "shard", str(number), number + 9)
    return UndeliveredBatch(QueueMessage(f"receipt at {at} of {number}", ""), function, place, at, at + 1)


OUTBOX = FakeOutbox({
    "acme": [(MOMENT - 4000, row("long before")), (MOMENT, row("a")), (MOMENT + 4000, row("long after"))],
    "umbrella": [(MOMENT + 30, row("b"))],
    "shipped content": [(MOMENT - 30, row("shipped"))],
    "idle": [],
})  # fmt: skip
IN_STREAM: Mapping[int, Sequence[Mapping[str, Any]]] = {1: [row("step"), row("wake")], 11: [], 21: [row("another")]}
"""By the number of the first in a batch; what is not there, the stream has forgotten."""


def run_redrive(
    queue: FakeUndeliveredBatches, functions: FakeRelayFunctions, *, dry: bool = False, forget: bool = False
) -> RedriveResult:
    clock, said = ManualClock(), list[str]()
    relays: Sequence[RedriveRelay[UndeliveredBatch]] = [
        RedriveRelay("relay", OutboxRecovery(OUTBOX, retention=RETENTION_SECONDS, clock=clock)),
        RedriveRelay("herald", StreamRecovery(lambda batch: IN_STREAM.get(int(batch.place.first)))),
    ]
    redrive = Redrive(queue=queue, relays=relays, link=functions, clock=clock)
    return redrive.run(said.append, dry=dry, forget=forget)


def test_changes_of_failed_batches_are_sent_and_the_queue_is_emptied() -> None:
    queue, relay = FakeUndeliveredBatches([batch(), batch(MOMENT + 10)]), FakeRelayFunctions()
    assert run_redrive(queue, relay) == RedriveResult(batches=2, changes=3, too_old=0)
    assert relay.sent == [[row("a"), row("b"), row("shipped")]]
    assert (queue.there, queue.received_now) == ([], [])


def test_each_relay_receives_only_the_rows_of_its_own_batches() -> None:
    functions = FakeRelayFunctions()
    assert run_redrive(FakeUndeliveredBatches([batch(function="herald")]), functions) == RedriveResult(
        batches=1, changes=2, too_old=0
    )
    assert (functions.called, functions.sent) == (["herald"], [[row("step"), row("wake")]])
    both = FakeRelayFunctions()
    assert run_redrive(FakeUndeliveredBatches([batch(function="herald"), batch()]), both).changes == 5
    assert both.called == ["relay", "herald"]


def test_exactly_the_steps_of_the_batches_are_sent() -> None:
    queue, functions = (
        FakeUndeliveredBatches([batch(function="herald", number=number) for number in (21, 11, 1)]),
        FakeRelayFunctions(),
    )
    assert run_redrive(queue, functions) == RedriveResult(batches=3, changes=3, too_old=0)
    assert (queue.there, functions.sent) == ([], [[row("another"), row("step"), row("wake")]])


def test_batches_that_the_stream_no_longer_has_are_settled_only_with_forget() -> None:
    forgotten = batch(function="herald", number=31)
    queue, functions = FakeUndeliveredBatches([forgotten, batch(function="herald")]), FakeRelayFunctions()
    assert run_redrive(queue, functions) == RedriveResult(batches=2, changes=2, too_old=1)
    assert (queue.there, functions.sent) == ([forgotten], [[row("step"), row("wake")]])
    again = FakeRelayFunctions()
    assert run_redrive(queue, again, forget=True) == RedriveResult(batches=1, changes=0, too_old=1)
    assert (queue.there, again.sent) == ([], [])


def test_batches_of_another_stack_stay_in_the_queue() -> None:
    queue, functions = FakeUndeliveredBatches([batch(), batch(function="stranger")]), FakeRelayFunctions()
    with pytest.raises(CommandFailed, match="stranger"):
        run_redrive(queue, functions)
    assert (len(queue.there), functions.sent) == (2, [])


def test_an_empty_queue_sends_nothing() -> None:
    relay = FakeRelayFunctions()
    assert run_redrive(FakeUndeliveredBatches([]), relay) == RedriveResult(0, 0, 0)
    assert relay.sent == []


def test_a_dry_run_sends_nothing_and_leaves_the_queue() -> None:
    queue, relay = FakeUndeliveredBatches([batch()]), FakeRelayFunctions()
    assert run_redrive(queue, relay, dry=True, forget=True).changes == 3
    assert (relay.sent, queue.there) == ([], [batch()])


@pytest.mark.invariant(44)
@pytest.mark.parametrize("answer", [TransportFailure("timed_out"), {"batchItemFailures": [{"itemIdentifier": "1"}]}])
def test_changes_that_the_relay_did_not_publish_stay_in_the_queue(answer: Any) -> None:
    queue = FakeUndeliveredBatches([batch()])
    with pytest.raises(CommandFailed, match="3 changes are left"):
        run_redrive(queue, FakeRelayFunctions([answer]))
    assert queue.there == [batch()]


def test_batches_older_than_the_outbox_are_settled_only_with_forget() -> None:
    old = batch(NOW - RETENTION_SECONDS - 1)
    queue = FakeUndeliveredBatches([old, batch()])
    assert run_redrive(queue, FakeRelayFunctions()) == RedriveResult(batches=2, changes=3, too_old=1)
    assert queue.there == [old]
    run_redrive(queue, FakeRelayFunctions(), forget=True)
    assert queue.there == []


def test_rows_are_split_to_the_limits_of_the_relay() -> None:
    def sizes(rows: Sequence[Mapping[str, Any]]) -> list[int]:
        return [len(some) for some in split_rows(rows)]

    assert sizes([row("a")] * (RECORDS_AT_ONCE + 1)) == [RECORDS_AT_ONCE, 1]
    publication = {"publication": {"S": "key"}, "first": {"N": "1"}, "last": {"N": str(EVENTS_AT_ONCE)}}
    assert sizes([row("a"), publication, row("b")]) == [1, 1, 1]
    assert sizes([row("x" * (CHARACTERS_AT_ONCE // 2))] * 3) == [1, 1, 1]
    assert sizes([]) == []


def test_a_batch_is_read_as_lambda_describes_it() -> None:
    described = {
        "requestContext": {
            "functionArn": "arn:aws:lambda:us-east-1:123456789012:function:signpost-relay",
            "condition": "RetryAttemptsExhausted",
            "approximateInvokeCount": 21,
        },
        "version": "1.0",
        "DDBStreamBatchInfo": {
            "shardId": "shardId-1",
            "startSequenceNumber": "1",
            "endSequenceNumber": "2",
            "approximateArrivalOfFirstRecord": "2026-11-18T12:00:00Z",
            "approximateArrivalOfLastRecord": "2026-11-18T12:00:05.250Z",
            "batchSize": 2,
            "streamArn": "arn:aws:dynamodb:us-east-1:123456789012:table/registry/stream/1",
        },
    }
    message = QueueMessage("receipt", json.dumps(described))
    place = StreamPlace("arn:aws:dynamodb:us-east-1:123456789012:table/registry/stream/1", "shardId-1", "1", 2)
    assert parse_undelivered_batch(message) == UndeliveredBatch(
        message, "signpost-relay", place, 1795003200.0, 1795003205.25
    )
    for other in ("no JSON", "[]", "{}", '{"DDBStreamBatchInfo": {}}', '{"DDBStreamBatchInfo": null}'):
        with pytest.raises(ValueError, match=r"Lambda|Expecting"):
            parse_undelivered_batch(QueueMessage("receipt", other))
