"""The store of grants: one row of the registry table for each principal that holds any."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.rows import Attributes, Row
from signpost.calling.breaker import digest_of
from signpost.calling.grants import GrantHolder, Grants, HeldGrant, add_grant, drop_expired, last_expiry
from signpost.errors import Unavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from signpost.model import Principal


class DynamoGrants:
    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def of(self, principal: "Principal") -> Grants:
        return _grants_in(self._read(principal))

    def of_tenant(self, tenant: str) -> Sequence[GrantHolder]:
        found = rows.query(self._client, self._table, keys.grants_of(tenant))
        return [GrantHolder(row["issuer"]["S"], row["subject"]["S"], _grants_in(row)) for row in found]

    def give(self, principal: "Principal", grant: HeldGrant) -> bool:
        for attempt in range(rows.ATTEMPTS):
            row = self._read(principal)
            after = add_grant(_grants_in(row), grant)
            if after is None:
                return False
            if self._write(principal, row, after):
                return True
            rows.pause(attempt)
        raise Unavailable("Other requests kept changing the grants of this principal at the same time.")

    def take(self, principal: "Principal", name: str, now: float) -> bool:
        for attempt in range(rows.ATTEMPTS):
            row = self._read(principal)
            held = drop_expired(_grants_in(row), now)
            if name not in held:
                return False
            if self._write(principal, row, {other: grant for other, grant in held.items() if other != name}):
                return True
            rows.pause(attempt)
        raise Unavailable("Other requests kept changing the grants of this principal at the same time.")

    def _read(self, principal: "Principal") -> Row | None:
        return rows.get(self._client, self._table, keys.grants(principal.tenant, digest_of(principal)))

    def _write(self, principal: "Principal", before: Row | None, grants: Grants) -> bool:
        """Write the row, or delete it with its last grant, unless another request has changed it since it was read."""
        condition = _unchanged_condition(before)
        if not grants:
            key = keys.grants(principal.tenant, digest_of(principal))
            return rows.write_if(self._client.delete_item, TableName=self._table, Key=key, **condition)
        row = _row_of(principal, _version_in(before) + 1, grants)
        return rows.write_if(self._client.put_item, TableName=self._table, Item=row, **condition)


def _row_of(principal: "Principal", version: int, grants: Grants) -> Attributes:
    end = last_expiry(grants)
    return {
        **keys.grants(principal.tenant, digest_of(principal)),
        **rows.schema_attribute(),
        "issuer": {"S": principal.issuer},
        "subject": {"S": principal.subject},
        "grants": {"S": rows.text({name: _fields_of(grant) for name, grant in grants.items()})},
        "version": rows.number(version),
        # The time to live of the row: it is deleted once all of its grants are over.
        **rows.numbers({"expires_at": None if end is None else int(end) + 1}),
    }


def _fields_of(grant: HeldGrant) -> dict[str, Any]:
    end = {} if grant.expires_at is None else {"expires_at": grant.expires_at}
    return {"at": grant.granted_at, "by": grant.granted_by, **end}


def _grants_in(row: Row | None) -> Grants:
    held: dict[str, Any] = json.loads(row["grants"]["S"]) if row is not None else {}
    return {
        name: HeldGrant(name, fields["at"], fields["by"], fields.get("expires_at")) for name, fields in held.items()
    }


def _version_in(row: Row | None) -> int:
    return int(row["version"]["N"]) if row is not None else 0


def _unchanged_condition(row: Row | None) -> Attributes:
    if row is None:
        return {"ConditionExpression": "attribute_not_exists(pk)"}
    # The version of a row that was deleted meanwhile begins anew, so the grants are compared as well.
    return {
        "ConditionExpression": "version = :version AND grants = :grants",
        "ExpressionAttributeValues": {":version": rows.number(_version_in(row)), ":grants": row["grants"]},
    }
