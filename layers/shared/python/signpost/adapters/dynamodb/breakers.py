"""Breakers that are not closed, as rows of the registry table."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from signpost.adapters import keys
from signpost.adapters.aws import call, code_of
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.rows import Attributes, Row
from signpost.contract import BreakerState

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def breaker_of(row: Row) -> BreakerState:
    return BreakerState(
        opened_until=float(row["opened_until"]["N"]),
        failures=int(row["failures"]["N"]),
        last_failure=row["last_failure"]["S"],
        probing_until=rows.optional_number(row, "probing_until"),
    )


class DynamoBreakers:
    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def of_tenant(self, tenant: str) -> Mapping[str, BreakerState]:
        found = rows.query(self._client, self._table, keys.breakers_of(tenant))
        return {row["sk"]["S"]: breaker_of(row) for row in found}

    def open(self, tenant: str, function: str, state: BreakerState) -> None:
        row = {**keys.breaker(tenant, function), **_attributes(state)}
        call(self._client.put_item, TableName=self._table, Item=row)

    def claim_probe(self, tenant: str, function: str, now: float, until: float) -> bool:
        """Whose answer was lost finds its own claim in the way, and nobody probes until it expires."""
        try:
            call(
                self._client.update_item,
                TableName=self._table,
                Key=keys.breaker(tenant, function),
                UpdateExpression="SET probing_until = :until",
                ConditionExpression=(
                    "opened_until <= :now AND (attribute_not_exists(probing_until) OR probing_until <= :now)"
                ),
                ExpressionAttributeValues={":until": rows.number(until), ":now": rows.number(now)},
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ClientError as fault:
            if code_of(fault) == "ConditionalCheckFailedException":
                return "Item" not in fault.response  # without the row the breaker is closed
            raise
        return True

    def close(self, tenant: str, function: str) -> bool:
        key = keys.breaker(tenant, function)
        answer = call(self._client.delete_item, TableName=self._table, Key=key, ReturnValues="ALL_OLD")
        return bool(answer.get("Attributes"))


def _attributes(state: BreakerState) -> Attributes:
    times = {"opened_until": state.opened_until, "failures": state.failures, "probing_until": state.probing_until}
    return {"last_failure": {"S": state.last_failure}, **rows.numbers(times), **rows.schema()}
