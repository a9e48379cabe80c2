"""The store of executors that a tenant loads at run time.

Each load is one transaction. It writes the rows that a placement (`directory`) writes in several transactions, and the
outbox row of its event, under a condition on the scope's revision, which is read first.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.directory import (
    attributes_of,
    holder_row,
    hosted_in,
    placed_in,
    revision_in,
    scope_condition,
    scope_row,
)
from signpost.adapters.dynamodb.outbox import row_of_load
from signpost.adapters.dynamodb.scopes import row_of_scope
from signpost.contract import HostedFunction
from signpost.directory.model import DirectoryChange, DirectorySnapshot
from signpost.errors import Unavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

ATTEMPTS = 64
"""Attempts of a load. Of many concurrent loads one succeeds each time, and a caller waits up to a minute."""


class DynamoLoadedExecutors:
    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def read(self, tenant: str) -> DirectorySnapshot:
        all_placed = (placed_in(row) for row in rows.query(self._client, self._table, keys.EXECUTORS))
        placed = [executor for executor in all_placed if executor.tenant in (None, tenant)]
        return DirectorySnapshot(placed, self._read_hosted(tenant), self._read_hosted(None))

    def change[Refusal](
        self, tenant: str, decide: Callable[[DirectorySnapshot], DirectoryChange | Refusal]
    ) -> DirectoryChange | Refusal:
        for attempt in range(ATTEMPTS):
            revision = revision_in(rows.get(self._client, self._table, keys.placements(tenant)))
            decision = decide(self.read(tenant))
            if not isinstance(decision, DirectoryChange):
                return decision
            if rows.transact(self._client, list(self._writes(tenant, decision, revision))):
                return decision
            rows.pause(attempt)
        raise Unavailable("Other requests kept loading executors at the same time.")

    def _read_hosted(self, tenant: str | None) -> list[HostedFunction]:
        found = rows.query(self._client, self._table, keys.placed_functions_of(tenant))
        return [hosted_in(row) for row in found]

    def _writes(self, tenant: str, change: DirectoryChange, revision: int) -> Iterator[Any]:
        executor, hosted = change.executor, change.hosted
        yield rows.build_put(self._table, scope_row(tenant, revision + 1), scope_condition(revision))
        if hosted:
            ids = [function.function for function in hosted]
            yield rows.build_put(self._table, holder_row(tenant, executor, ids, revision + 1, change.terms))
        else:
            yield rows.build_delete(self._table, keys.executor(tenant, executor.arn))
        for each in hosted:
            yield rows.build_put(
                self._table, {**keys.placed_function(tenant, each.function), **attributes_of(executor, each)}
            )
        for function in change.removed:
            yield rows.build_delete(self._table, keys.placed_function(tenant, function))
        if change.notices:
            yield rows.build_put(self._table, row_of_load(tenant, revision + 1, change.notices))
            yield rows.build_put(self._table, row_of_scope(tenant))
