"""The records of effects: a partition of the registry table for each thread, a row for each effect."""

from typing import TYPE_CHECKING

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.rows import Attributes, Row
from signpost.calling.effects import EffectKey, EffectOutcome, EffectRecord

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

OF_CLAIM = "claim = :claim AND attribute_not_exists(outcome)"


class DynamoEffectRecords:
    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def add(self, key: EffectKey, record: EffectRecord) -> EffectRecord:
        standing = self._put(key, record, "attribute_not_exists(pk)")
        return record if standing is None else _record_in(standing)

    def replace(self, key: EffectKey, claim: str, record: EffectRecord) -> EffectRecord | None:
        standing = self._put(key, record, OF_CLAIM, {":claim": {"S": claim}})
        return None if standing is None else _record_in(standing)

    def remove(self, key: EffectKey, claim: str) -> None:
        rows.write_if(
            self._client.delete_item,
            TableName=self._table,
            Key=_row_key(key),
            ConditionExpression=OF_CLAIM,
            ExpressionAttributeValues={":claim": {"S": claim}},
        )

    def _put(
        self, key: EffectKey, record: EffectRecord, condition: str, values: Attributes | None = None
    ) -> Row | None:
        row = {**_row_key(key), **_attributes_of(record)}
        return rows.put_if(self._client, self._table, row, condition, values)


def _row_key(key: EffectKey) -> keys.RowKey:
    return keys.effect(key.tenant, key.thread, key.digest)


def _attributes_of(record: EffectRecord) -> Attributes:
    outcome = record.outcome
    recorded: Attributes = (
        {}
        if outcome is None
        else {"outcome": {"S": outcome.text}, "awaited": {"BOOL": outcome.is_awaited}, "loss": {"S": outcome.loss}}
    )
    times = rows.numbers({"claimed_until": record.claimed_until, "expires_at": record.kept_until})
    return {"claim": {"S": record.claim}, **times, **recorded, **rows.schema_attribute()}


def _record_in(row: Row) -> EffectRecord:
    outcome = EffectOutcome(row["outcome"]["S"], row["awaited"]["BOOL"], row["loss"]["S"]) if "outcome" in row else None
    return EffectRecord(
        row["claim"]["S"], float(row["claimed_until"]["N"]), outcome, rows.optional_number(row, "expires_at")
    )
