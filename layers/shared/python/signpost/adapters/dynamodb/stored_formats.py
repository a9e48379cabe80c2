"""Reads the versions of the forms in which rows are stored, from a few rows of each kind."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.rows import Row

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

ROWS_OF_EACH_KIND = 100


class StoredFormats:
    """The forms of the registry's rows. A row without a version has the first one."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def read(self, tenants: Sequence[str | None]) -> Mapping[str, int]:
        """Return the latest form of each kind of row, of the deployment and of these tenants."""
        latest: dict[str, int] = {}
        for kind, partition in _list_partitions(tenants):
            for row in islice(rows.query(self._client, self._table, partition), ROWS_OF_EACH_KIND):
                latest[kind] = max(latest.get(kind, 0), _form_of(row))
        return latest


def _list_partitions(tenants: Sequence[str | None]) -> Iterator[tuple[str, str]]:
    yield "executors", keys.EXECUTORS
    yield "scopes of content", keys.SCOPES
    yield "settings", keys.settings_of(None)
    for tenant in tenants:
        yield "functions", keys.placed_functions_of(tenant)
        yield "content heads", keys.content_version(tenant)["pk"]["S"]
        if tenant is not None:
            yield "settings", keys.settings_of(tenant)
            yield "API keys", keys.api_keys_of(tenant)


def _form_of(row: Row) -> int:
    return int(row["schema"]["N"]) if "schema" in row else 1
