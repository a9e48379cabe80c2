"""Outbox rows by when they were written, of whomever they are."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.outbox import KEPT_FOR
from signpost.adapters.dynamodb.rows import Row
from signpost.adapters.dynamodb.scopes import scopes_in

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

type Period = tuple[float, float]


class DynamoOutboxTimes:
    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def written_in(self, periods: Sequence[Period]) -> Iterator[tuple[str, Sequence[Row]]]:
        """Of all whose content ever changed."""
        for tenant in scopes_in(self._client, self._table):
            yield tenant or "what is shipped", list(self._of(tenant, periods))

    def _of(self, tenant: str | None, periods: Sequence[Period]) -> Iterator[Row]:
        for row in rows.query(self._client, self._table, keys.outbox_of(tenant)):
            if any(first <= written_at(row) <= last for first, last in periods):
                yield row


def written_at(row: Row) -> float:
    """By the clock of whoever wrote it, in whole seconds."""
    return int(row["expires_at"]["N"]) - KEPT_FOR
