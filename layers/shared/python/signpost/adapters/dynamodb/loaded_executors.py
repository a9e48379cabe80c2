"""Executors that a tenant loads at run time: each load is one transaction of the rows that a placement writes by many
(`directory`), with the row that tells subscribers. It conditions on the scope's revision, read before anything else."""

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
    scope_is,
    scope_row,
)
from signpost.adapters.dynamodb.outbox import row_of_load
from signpost.adapters.dynamodb.rows import Attributes
from signpost.adapters.dynamodb.scopes import row_of_scope
from signpost.contract import Hosted
from signpost.errors import Unavailable
from signpost.loads import Holding, Loading

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

ATTEMPTS = 64
"""Of many who load at once one succeeds each time; whoever waits has a minute."""


class DynamoLoadedExecutors:
    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def look(self, tenant: str) -> Holding:
        found = (placed_in(row) for row in rows.query(self._client, self._table, keys.EXECUTORS))
        placed = [one for one in found if one.tenant in (None, tenant)]
        return Holding(placed, self._hosted(tenant), self._hosted(None))

    def change[Refusal](self, tenant: str, decide: Callable[[Holding], Loading | Refusal]) -> Loading | Refusal:
        for attempt in range(ATTEMPTS):
            revision = revision_in(rows.get(self._client, self._table, keys.placements(tenant)))
            decided = decide(self.look(tenant))
            if not isinstance(decided, Loading):
                return decided
            if rows.transact(self._client, list(self._writes(tenant, decided, revision))):
                return decided
            rows.pause(attempt)
        raise Unavailable("Others are loading executors all the time.")

    def _hosted(self, tenant: str | None) -> list[Hosted]:
        found = rows.query(self._client, self._table, keys.placed_functions_of(tenant))
        return [hosted_in(row) for row in found]

    def _writes(self, tenant: str, loading: Loading, revision: int) -> Iterator[Any]:
        executor, hosted = loading.executor, loading.hosted
        yield self._put(scope_row(tenant, revision + 1), scope_is(revision))
        if hosted:
            ids = [one.function for one in hosted]
            yield self._put(holder_row(tenant, executor, ids, revision + 1, loading.terms))
        else:
            yield self._delete(keys.executor(tenant, executor.arn))
        for one in hosted:
            yield self._put({**keys.placed_function(tenant, one.function), **attributes_of(executor, one)})
        for function in loading.gone:
            yield self._delete(keys.placed_function(tenant, function))
        if loading.told:
            yield self._put(row_of_load(tenant, revision + 1, loading.told))
            yield self._put(row_of_scope(tenant))

    def _put(self, row: Attributes, condition: Attributes | None = None) -> Any:
        return {"Put": {"TableName": self._table, "Item": row, **(condition or {})}}

    def _delete(self, key: keys.Key) -> Any:
        return {"Delete": {"TableName": self._table, "Key": key}}
