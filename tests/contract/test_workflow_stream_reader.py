"""What is read from a stream again, where a batch of it was given up: what the herald was shown."""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, cast

import pytest

from local.intrinsics import parse_template
from signpost.adapters import keys
from signpost.adapters.dynamodb.due import wake_attributes
from signpost.adapters.dynamodb.workflow_stream_reader import WorkflowStreamReader, is_relayed
from signpost.adapters.sqs import QueueMessage
from signpost.adapters.undelivered_batches import StreamPlace, UndeliveredBatch
from signpost.errors import Unavailable
from signpost.workflow.wakes import Wake
from tests.support.laptop import Laptop

TEMPLATE = Path(__file__).resolve().parents[2] / "template.yaml"
PAGE = 3
"""Records that are read at once here."""


class Stream:
    """Of a table of its own, as DynamoDB has it."""

    def __init__(self, laptop: Laptop) -> None:
        self._tables = laptop.client("dynamodb")
        self.client = laptop.client("dynamodbstreams")
        self._name = f"steps-{uuid.uuid4().hex[:8]}"
        self.arn = self._tables.create_table(
            TableName=self._name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
        )["TableDescription"]["LatestStreamArn"]

    def write(self, name: str, **attributes: Any) -> str:
        row = {**keys.workflow_row("acme", "wf_1", name), **attributes}
        self._tables.put_item(TableName=self._name, Item=row)
        return name

    def remove(self, name: str) -> None:
        self._tables.delete_item(TableName=self._name, Key=keys.workflow_row("acme", "wf_1", name))

    def end(self) -> None:
        """Its only shard with it."""
        self._tables.update_table(TableName=self._name, StreamSpecification={"StreamEnabled": False})

    @property
    def shard(self) -> str:
        return self.client.describe_stream(StreamArn=self.arn)["StreamDescription"]["Shards"][0]["ShardId"]

    @property
    def numbers(self) -> Sequence[str]:
        begin = self.client.get_shard_iterator(
            StreamArn=self.arn, ShardId=self.shard, ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        found = self.client.get_records(ShardIterator=begin)["Records"]
        return [record["dynamodb"]["SequenceNumber"] for record in found]

    def batch(self, first: int = 0, last: int = -1) -> UndeliveredBatch:
        """From one record to another, by their places."""
        numbers = self.numbers
        place = StreamPlace(self.arn, self.shard, numbers[first], int(numbers[last]))
        return UndeliveredBatch(QueueMessage("receipt", ""), "herald", place, 0, 0)


@pytest.fixture
def stream(laptop: Laptop) -> Stream:
    return Stream(laptop)


@pytest.fixture
def steps(stream: Stream) -> WorkflowStreamReader:
    return WorkflowStreamReader(stream.client, records_per_call=PAGE)


def sort_keys(rows: Sequence[Mapping[str, Any]] | None) -> Sequence[str]:
    assert rows is not None
    return [row["sk"]["S"] for row in rows]


@pytest.mark.cloud
def test_a_batch_is_read_from_its_first_to_its_last_record_over_all_pages(
    stream: Stream, steps: WorkflowStreamReader
) -> None:
    written = [stream.write(keys.audit(number, "a")) for number in range(4 * PAGE)]
    assert sort_keys(steps.read_batch(stream.batch())) == written
    assert sort_keys(steps.read_batch(stream.batch(2, 2))) == [written[2]]
    assert sort_keys(steps.read_batch(stream.batch(PAGE - 1, 2 * PAGE))) == written[PAGE - 1 : 2 * PAGE + 1]


@pytest.mark.cloud
def test_only_relayed_records_of_a_batch_are_read(stream: Stream, steps: WorkflowStreamReader) -> None:
    stream.write(keys.INPUT)
    woken = stream.write(keys.HEAD, **wake_attributes([Wake("wf_1")]))
    step = stream.write(keys.audit(1, "a"))
    stream.write(keys.HEAD)
    stream.remove(step)
    assert sort_keys(steps.read_batch(stream.batch())) == [woken, step]


@pytest.mark.cloud
def test_a_stream_that_has_ended_is_read_to_its_end(stream: Stream, steps: WorkflowStreamReader) -> None:
    step, batch = stream.write(keys.audit(1, "a")), stream.batch()
    stream.end()
    longer = replace(batch, place=replace(batch.place, last=batch.place.last + 1))
    assert sort_keys(steps.read_batch(batch)) == sort_keys(steps.read_batch(longer)) == [step]


@pytest.mark.cloud
@pytest.mark.parametrize("gone", [{"first": "1" * 21}, {"shard": "shardId-00000000000000000009-00000009"}])
def test_a_batch_that_the_stream_no_longer_has_is_reported_as_gone(
    stream: Stream, steps: WorkflowStreamReader, gone: Mapping[str, str]
) -> None:
    stream.write(keys.audit(1, "a"))
    batch = stream.batch()
    assert steps.read_batch(replace(batch, place=replace(batch.place, **gone))) is None


@pytest.mark.cloud
def test_a_batch_that_ends_beyond_the_stream_is_unavailable(stream: Stream, steps: WorkflowStreamReader) -> None:
    stream.write(keys.audit(1, "a"))
    batch = stream.batch()
    with pytest.raises(Unavailable):
        steps.read_batch(replace(batch, place=replace(batch.place, last=batch.place.last * 10)))


def matches(value: Any, pattern: Any) -> bool:
    """As Lambda compares, of what the template uses. What a record does not have compares as None."""
    if isinstance(pattern, dict):
        parts = cast("dict[str, Any]", pattern)
        return all(matches((value or {}).get(name), part) for name, part in parts.items())
    return any(is_accepted(value, accepted) for accepted in pattern)


def is_accepted(value: Any, accepted: Any) -> bool:
    if isinstance(accepted, str):
        return value == accepted
    if "prefix" in accepted:
        return value is not None and value.startswith(accepted["prefix"])
    return (value is not None) is accepted["exists"]


def every_kind_of_record() -> Iterator[Mapping[str, Any]]:
    wakes: Sequence[Mapping[str, Any]] = [{}, wake_attributes([Wake("wf_1")])]
    for event, name, wake in product(
        ("INSERT", "MODIFY", "REMOVE"), (keys.audit(1, "a"), keys.history(1), keys.HEAD), wakes
    ):
        key = keys.workflow_row("acme", "wf_1", name)
        image: Mapping[str, Any] = {} if event == "REMOVE" else {"NewImage": {**key, **wake}}
        yield {"eventName": event, "dynamodb": {"Keys": key, **image}}


def test_relayed_records_are_those_that_the_source_filter_passes() -> None:
    template: Any = parse_template(TEMPLATE.read_text())
    source = template["Resources"]["HeraldSource"]["Properties"]
    patterns = [json.loads(one["Pattern"]) for one in source["FilterCriteria"]["Filters"]]
    shown = [record for record in every_kind_of_record() if is_relayed(record)]
    assert shown == [
        record for record in every_kind_of_record() if any(matches(record, pattern) for pattern in patterns)
    ]
    assert len(shown) == 8
