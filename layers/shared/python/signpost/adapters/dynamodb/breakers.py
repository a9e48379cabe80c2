"""The store of breakers: one row of the registry table for each breaker that is not closed."""

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


def breaker_in(row: Row) -> BreakerState:
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
        breaker_rows = rows.query(self._client, self._table, keys.breakers_of(tenant))
        return {row["sk"]["S"]: breaker_in(row) for row in breaker_rows}

    def open(self, tenant: str, function: str, state: BreakerState) -> None:
        row = {**keys.breaker(tenant, function), **_attributes_of(state)}
        call(self._client.put_item, TableName=self._table, Item=row)

    def claim_probe(self, tenant: str, function: str, now: float, until: float) -> bool:
        """Claim the probe of an open breaker until a time; False if another caller has claimed it.

        A caller that claims, loses the answer and repeats the call is refused by its own claim. No caller probes then
        until that claim expires.
        """
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
                return "Item" not in fault.response  # no row: the breaker is closed
            raise
        return True

    def close(self, tenant: str, function: str) -> bool:
        key = keys.breaker(tenant, function)
        answer = call(self._client.delete_item, TableName=self._table, Key=key, ReturnValues="ALL_OLD")
        return bool(answer.get("Attributes"))


def _attributes_of(state: BreakerState) -> Attributes:
    times = {"opened_until": state.opened_until, "failures": state.failures, "probing_until": state.probing_until}
    return {"last_failure": {"S": state.last_failure}, **rows.numbers(times), **rows.schema_attribute()}
