"""The catalogue of a tenant: snapshots by digest, and the row that points to the current one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from signpost.adapters import keys
from signpost.adapters.aws import call
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.rows import Attributes
from signpost.model import NOTHING_PUBLISHED, CatalogueItem, CataloguePointer
from signpost.registry import publication

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoCatalogue:
    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def pointer(self, tenant: str) -> CataloguePointer:
        row = rows.get(self._client, self._table, keys.catalogue_pointer(tenant))
        return CataloguePointer(int(row["version"]["N"]), row["digest"]["S"]) if row else NOTHING_PUBLISHED

    def items(self, tenant: str, digest: str) -> Sequence[CatalogueItem]:
        row = rows.get(self._client, self._table, keys.catalogue_snapshot(tenant, digest))
        if row is None:
            raise LookupError(f"the catalogue of {tenant} has no snapshot {digest}")
        return publication.from_text(row["items"]["S"])

    def publish(self, tenant: str, items: Sequence[CatalogueItem], replacing: int) -> bool:
        """The snapshot is known by its digest, so that losers of the race leave the winner's untouched."""
        text = publication.to_text(items)
        digest = publication.digest(text)
        snapshot: Attributes = {"items": {"S": text}, **rows.schema()}
        item = {**keys.catalogue_snapshot(tenant, digest), **snapshot}
        call(self._client.put_item, TableName=self._table, Item=item)
        pointer: Attributes = {"version": rows.number(replacing + 1), "digest": {"S": digest}, **rows.schema()}
        return rows.succeeds(
            self._client.put_item,
            TableName=self._table,
            Item={**keys.catalogue_pointer(tenant), **pointer},
            ConditionExpression="version = :replacing" if replacing else "attribute_not_exists(pk)",
            **({"ExpressionAttributeValues": {":replacing": rows.number(replacing)}} if replacing else {}),
        )
