"""The store of token issuers' key sets: one row of the registry table for each issuer."""

import json
from typing import TYPE_CHECKING

from signpost.adapters import keys
from signpost.adapters.aws import call
from signpost.adapters.dynamodb import rows
from signpost.identity.credentials import IssuerKeySet

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoIssuerKeySets:
    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def read(self, issuer: str) -> IssuerKeySet | None:
        row = rows.get(self._client, self._table, keys.issuer_keys(issuer))
        if row is None or "keys" not in row:  # a claimed refresh leaves a row before there are keys
            return None
        return IssuerKeySet(
            keys=json.loads(row["keys"]["S"]),
            fetched_at=float(row["fetched_at"]["N"]),
            refresh_not_before=float(row["refresh_not_before"]["N"]),
        )

    def claim_refresh(self, issuer: str, now: float, until: float) -> bool:
        return rows.write_if(
            self._client.update_item,
            TableName=self._table,
            Key=keys.issuer_keys(issuer),
            UpdateExpression="SET refresh_not_before = :until",
            ConditionExpression="attribute_not_exists(refresh_not_before) OR refresh_not_before <= :now",
            ExpressionAttributeValues={":until": rows.number(until), ":now": rows.number(now)},
        )

    def save(self, issuer: str, key_set: IssuerKeySet) -> None:
        call(
            self._client.update_item,
            TableName=self._table,
            Key=keys.issuer_keys(issuer),
            UpdateExpression="SET #keys = :keys, fetched_at = :at, refresh_not_before = :not_before, #schema = :schema",
            ExpressionAttributeNames={"#keys": "keys", "#schema": "schema"},
            ExpressionAttributeValues={
                ":keys": {"S": rows.text(key_set.keys)},
                ":at": rows.number(key_set.fetched_at),
                ":not_before": rows.number(key_set.refresh_not_before),
                ":schema": rows.number(keys.SCHEMA),
            },
        )
