"""The registry's ports on its DynamoDB table. Decisions of more than one caller are conditional writes."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from signpost.adapters import keys
from signpost.adapters.aws import call, code_of
from signpost.model import (
    NOTHING_PUBLISHED,
    ApiKey,
    CatalogueItem,
    CataloguePointer,
    IssuerKeySet,
    JsonObject,
)
from signpost.registry import publication

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

type Row = Mapping[str, Any]
type Attributes = dict[str, Any]


class DynamoApiKeys:
    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def find(self, tenant: str, key_id: str) -> ApiKey | None:
        row = _get(self._client, self._table, keys.api_key(tenant, key_id))
        return _api_key(tenant, row) if row else None

    def of_tenant(self, tenant: str) -> Sequence[ApiKey]:
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": keys.api_keys_of(tenant)}},
            ConsistentRead=True,
        )
        found = [_api_key(tenant, row) for page in pages for row in page["Items"]]
        return sorted(found, key=lambda key: (key.created_at, key.key_id))

    def add(self, key: ApiKey) -> bool:
        row = {**keys.api_key(key.tenant, key.key_id), **_api_key_attributes(key)}
        return _succeeds(
            self._client.put_item, TableName=self._table, Item=row, ConditionExpression="attribute_not_exists(pk)"
        )

    def revoke(self, tenant: str, key_id: str, at: float) -> ApiKey | None:
        _succeeds(
            self._client.update_item,
            TableName=self._table,
            Key=keys.api_key(tenant, key_id),
            UpdateExpression="SET revoked_at = :at",
            ConditionExpression="attribute_exists(pk) AND attribute_not_exists(revoked_at)",
            ExpressionAttributeValues={":at": _number(at)},
        )
        return self.find(tenant, key_id)


class DynamoIssuerKeySets:
    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def read(self, issuer: str) -> IssuerKeySet | None:
        row = _get(self._client, self._table, keys.issuer_keys(issuer))
        if row is None or "keys" not in row:  # a claimed refresh leaves a row before there are keys
            return None
        return IssuerKeySet(
            keys=json.loads(row["keys"]["S"]),
            fetched_at=float(row["fetched_at"]["N"]),
            refresh_not_before=float(row["refresh_not_before"]["N"]),
        )

    def claim_refresh(self, issuer: str, now: float, until: float) -> bool:
        return _succeeds(
            self._client.update_item,
            TableName=self._table,
            Key=keys.issuer_keys(issuer),
            UpdateExpression="SET refresh_not_before = :until",
            ConditionExpression="attribute_not_exists(refresh_not_before) OR refresh_not_before <= :now",
            ExpressionAttributeValues={":until": _number(until), ":now": _number(now)},
        )

    def save(self, issuer: str, key_set: IssuerKeySet) -> None:
        call(
            self._client.update_item,
            TableName=self._table,
            Key=keys.issuer_keys(issuer),
            UpdateExpression="SET #keys = :keys, fetched_at = :at, refresh_not_before = :not_before, #schema = :schema",
            ExpressionAttributeNames={"#keys": "keys", "#schema": "schema"},
            ExpressionAttributeValues={
                ":keys": {"S": _text(key_set.keys)},
                ":at": _number(key_set.fetched_at),
                ":not_before": _number(key_set.refresh_not_before),
                ":schema": _number(keys.SCHEMA),
            },
        )


class DynamoCatalogue:
    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def pointer(self, tenant: str) -> CataloguePointer:
        row = _get(self._client, self._table, keys.catalogue_pointer(tenant))
        return CataloguePointer(int(row["version"]["N"]), row["digest"]["S"]) if row else NOTHING_PUBLISHED

    def items(self, tenant: str, digest: str) -> Sequence[CatalogueItem]:
        row = _get(self._client, self._table, keys.catalogue_snapshot(tenant, digest))
        if row is None:
            raise LookupError(f"the catalogue of {tenant} has no snapshot {digest}")
        return publication.from_text(row["items"]["S"])

    def publish(self, tenant: str, items: Sequence[CatalogueItem], replacing: int) -> bool:
        """The snapshot is known by its digest, so that losers of the race leave the winner's untouched."""
        text = publication.to_text(items)
        digest = publication.digest(text)
        snapshot: Attributes = {"items": {"S": text}, "schema": _number(keys.SCHEMA)}
        item = {**keys.catalogue_snapshot(tenant, digest), **snapshot}
        call(self._client.put_item, TableName=self._table, Item=item)
        pointer: Attributes = {
            "version": _number(replacing + 1),
            "digest": {"S": digest},
            "schema": _number(keys.SCHEMA),
        }
        return _succeeds(
            self._client.put_item,
            TableName=self._table,
            Item={**keys.catalogue_pointer(tenant), **pointer},
            ConditionExpression="version = :replacing" if replacing else "attribute_not_exists(pk)",
            **({"ExpressionAttributeValues": {":replacing": _number(replacing)}} if replacing else {}),
        )


def _get(client: "DynamoDBClient", table: str, key: keys.Key) -> Row | None:
    return call(client.get_item, TableName=table, Key=key, ConsistentRead=True).get("Item")


def _succeeds(write: Callable[..., object], **arguments: Any) -> bool:
    """False if the write's condition did not hold."""
    try:
        call(write, **arguments)
    except ClientError as fault:
        if code_of(fault) == "ConditionalCheckFailedException":
            return False
        raise
    return True


def _api_key(tenant: str, row: Row) -> ApiKey:
    return ApiKey(
        tenant=tenant,
        key_id=row["sk"]["S"],
        name=row["name"]["S"],
        secret_digest=row["secret_digest"]["S"],
        roles=frozenset(json.loads(row["roles"]["S"])),
        permissions=frozenset(json.loads(row["permissions"]["S"])),
        created_at=float(row["created_at"]["N"]),
        expires_at=_optional_number(row, "expires_at"),
        revoked_at=_optional_number(row, "revoked_at"),
    )


def _api_key_attributes(key: ApiKey) -> Attributes:
    times = {"created_at": key.created_at, "expires_at": key.expires_at, "revoked_at": key.revoked_at}
    return {
        "name": {"S": key.name},
        "secret_digest": {"S": key.secret_digest},
        "roles": {"S": _text(sorted(key.roles))},
        "permissions": {"S": _text(sorted(key.permissions))},
        "schema": _number(keys.SCHEMA),
        **{name: _number(value) for name, value in times.items() if value is not None},
    }


def _optional_number(row: Row, name: str) -> float | None:
    return float(row[name]["N"]) if name in row else None


def _number(value: float) -> Mapping[str, str]:
    return {"N": repr(value)}


def _text(value: JsonObject | Sequence[str]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
