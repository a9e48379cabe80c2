"""Everything about a function that a call has to look at: five rows, read at once."""

from typing import TYPE_CHECKING

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.breakers import breaker_of
from signpost.adapters.dynamodb.directory import placement_in
from signpost.adapters.dynamodb.runtime_settings import settings_in
from signpost.contract import FunctionState

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoFunctionStates:
    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def read(self, tenant: str, function: str) -> FunctionState:
        wanted = (
            keys.placed_function(tenant, function),
            keys.placed_function(None, function),
            keys.settings(tenant, function),
            keys.settings(tenant, None),
            keys.breaker(tenant, function),
        )
        by_key = {(row["pk"]["S"], row["sk"]["S"]): row for row in rows.get_all(self._client, self._table, wanted)}
        own, shipped, settings, tenant_settings, breaker = (
            by_key.get((key["pk"]["S"], key["sk"]["S"])) for key in wanted
        )
        return FunctionState(
            own=placement_in(own) if own else None,
            shipped=placement_in(shipped) if shipped else None,
            settings=settings_in(settings or {}),
            tenant_settings=settings_in(tenant_settings or {}),
            breaker=breaker_of(breaker) if breaker else None,
        )
