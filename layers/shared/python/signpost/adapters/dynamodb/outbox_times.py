"""Reads the outbox rows of all scopes by the time at which they were written."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.outbox import RETENTION_SECONDS
from signpost.adapters.dynamodb.rows import Row
from signpost.adapters.dynamodb.scopes import scopes_in

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

type Period = tuple[float, float]


class DynamoOutboxTimes:
    retention = RETENTION_SECONDS

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def read_periods(self, periods: Sequence[Period]) -> Iterator[tuple[str, Sequence[Row]]]:
        """Yield each scope whose content ever changed, with its outbox rows of the periods."""
        for tenant in scopes_in(self._client, self._table):
            yield tenant or "shipped content", list(self._rows_of(tenant, periods))

    def _rows_of(self, tenant: str | None, periods: Sequence[Period]) -> Iterator[Row]:
        for row in rows.query(self._client, self._table, keys.outbox_of(tenant)):
            if any(first <= write_time_of(row) <= last for first, last in periods):
                yield row


def write_time_of(row: Row) -> float:
    """Return the time of the write by the writer's clock, in whole seconds."""
    return int(row["expires_at"]["N"]) - RETENTION_SECONDS
