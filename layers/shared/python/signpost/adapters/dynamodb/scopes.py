"""The list of scopes whose content ever changed: a row for each, under one partition key.

The first change of a scope writes its row, so the list is one query and no scan of the table.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import batched
from typing import TYPE_CHECKING

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.content_head import ContentHead, head_in
from signpost.adapters.dynamodb.rows import Attributes

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEYS_AT_ONCE = 100


def row_of_scope(tenant: str | None) -> Attributes:
    return {**keys.scope_row(tenant), **rows.schema_attribute()}


def scopes_in(client: "DynamoDBClient", table: str) -> Iterator[str | None]:
    for row in rows.query(client, table, keys.SCOPES):
        yield keys.owner_of(row["sk"]["S"])


def heads_of(client: "DynamoDBClient", table: str, tenants: Sequence[str | None]) -> Mapping[str | None, ContentHead]:
    row_keys = [keys.content_version(tenant) for tenant in tenants]
    batches = batched(row_keys, KEYS_AT_ONCE, strict=False)
    heads = [row for batch in batches for row in rows.get_all(client, table, batch)]
    return {keys.owner_of(row["pk"]["S"]): head_in(row) for row in heads}
