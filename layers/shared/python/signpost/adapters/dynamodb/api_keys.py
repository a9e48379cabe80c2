"""The store of API keys: one row of the registry table for each key."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.rows import Attributes, Row
from signpost.identity.credentials import ApiKey

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEPT_AFTER_EXPIRY = 90 * 86_400
"""Seconds for which the row of an expired key stays for audits. Then the table deletes it: `expires_at` is the time to
live of a row, and `valid_until` the expiry of the key. Rows of earlier releases have only `expires_at`."""


class DynamoApiKeys:
    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def find(self, tenant: str, key_id: str) -> ApiKey | None:
        row = rows.get(self._client, self._table, keys.api_key(tenant, key_id))
        return _api_key_in(tenant, row) if row else None

    def of_tenant(self, tenant: str) -> Sequence[ApiKey]:
        api_keys = [_api_key_in(tenant, row) for row in rows.query(self._client, self._table, keys.api_keys_of(tenant))]
        return sorted(api_keys, key=lambda key: (key.created_at, key.key_id))

    def list_kept_after_expiry(self, tenant: str) -> Sequence[tuple[ApiKey, float]]:
        """Return the keys whose rows outlive their expiry, with the end of the row. Earlier releases take the end of a
        row for the expiry of its key."""
        found = rows.query(self._client, self._table, keys.api_keys_of(tenant))
        return [(_api_key_in(tenant, row), float(row["expires_at"]["N"])) for row in found if "valid_until" in row]

    def add(self, key: ApiKey) -> bool:
        row = {**keys.api_key(key.tenant, key.key_id), **_attributes_of(key)}
        return rows.write_if(
            self._client.put_item, TableName=self._table, Item=row, ConditionExpression="attribute_not_exists(pk)"
        )

    def revoke(self, tenant: str, key_id: str, at: float) -> ApiKey | None:
        rows.write_if(
            self._client.update_item,
            TableName=self._table,
            Key=keys.api_key(tenant, key_id),
            UpdateExpression="SET revoked_at = :at",
            ConditionExpression="attribute_exists(pk) AND attribute_not_exists(revoked_at)",
            ExpressionAttributeValues={":at": rows.number(at)},
        )
        return self.find(tenant, key_id)


def _api_key_in(tenant: str, row: Row) -> ApiKey:
    return ApiKey(
        tenant=tenant,
        key_id=row["sk"]["S"],
        name=row["name"]["S"],
        secret_digest=row["secret_digest"]["S"],
        roles=rows.set_of_texts(row, "roles"),
        permissions=rows.set_of_texts(row, "permissions"),
        created_at=float(row["created_at"]["N"]),
        expires_at=rows.optional_number(row, "valid_until" if "valid_until" in row else "expires_at"),
        revoked_at=rows.optional_number(row, "revoked_at"),
        owner=row["owner"]["S"] if "owner" in row else "",
    )


def _attributes_of(key: ApiKey) -> Attributes:
    times = {
        "created_at": key.created_at,
        "valid_until": key.expires_at,
        "expires_at": None if key.expires_at is None else key.expires_at + KEPT_AFTER_EXPIRY,
        "revoked_at": key.revoked_at,
    }
    return {
        "name": {"S": key.name},
        "secret_digest": {"S": key.secret_digest},
        "roles": rows.text_set(key.roles),
        "permissions": rows.text_set(key.permissions),
        **({"owner": {"S": key.owner}} if key.owner else {}),
        **rows.schema_attribute(),
        **rows.numbers(times),
    }
