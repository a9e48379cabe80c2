"""Whose content ever changed: a row each under one key, written with the first change. Nobody scans for them."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import batched
from typing import TYPE_CHECKING

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.content_head import Head, head_in
from signpost.adapters.dynamodb.rows import Attributes

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEYS_AT_ONCE = 100


def row_of_scope(tenant: str | None) -> Attributes:
    return {**keys.scope_row(tenant), **rows.schema()}


def scopes_in(client: "DynamoDBClient", table: str) -> Iterator[str | None]:
    for row in rows.query(client, table, keys.SCOPES):
        yield keys.owner_of(row["sk"]["S"])


def heads_of(client: "DynamoDBClient", table: str, tenants: Sequence[str | None]) -> Mapping[str | None, Head]:
    wanted = [keys.content_version(tenant) for tenant in tenants]
    found = [row for some in batched(wanted, KEYS_AT_ONCE, strict=False) for row in rows.get_all(client, table, some)]
    return {keys.owner_of(row["pk"]["S"]): head_in(row) for row in found}
