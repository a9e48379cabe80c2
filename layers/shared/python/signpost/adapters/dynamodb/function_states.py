"""Everything about a function that a call has to look at: five rows, read at once. And what lists of functions show."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.breakers import breaker_of
from signpost.adapters.dynamodb.directory import hosted_in, placement_in
from signpost.adapters.dynamodb.runtime_settings import settings_in
from signpost.contract import FunctionState, Hosted
from signpost.model import SettingValue

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


NOTHING_SET: Mapping[str, SettingValue] = {}


class DynamoFunctionStates:
    """`deployment` is what the deployment sets for tenants that set nothing themselves."""

    def __init__(
        self, client: "DynamoDBClient", table: str, deployment: Mapping[str, SettingValue] = NOTHING_SET
    ) -> None:
        self._client = client
        self._table = table
        self._deployment = deployment

    def read(self, tenant: str, function: str) -> FunctionState:
        wanted = (
            keys.placed_function(tenant, function),
            keys.placed_function(None, function),
            keys.settings(tenant, function),
            keys.settings(tenant, None),
            keys.breaker(tenant, function),
        )
        own, shipped, settings, tenant_settings, breaker = rows.get_each(self._client, self._table, wanted)
        return FunctionState(
            own=placement_in(own) if own else None,
            shipped=placement_in(shipped) if shipped else None,
            settings=settings_in(settings or {}),
            tenant_settings={**self._deployment, **settings_in(tenant_settings or {})},
            breaker=breaker_of(breaker) if breaker else None,
        )


class DynamoPlacedFunctions:
    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def functions(self, tenant: str | None) -> Sequence[Hosted]:
        return [hosted_in(row) for row in rows.query(self._client, self._table, keys.placed_functions_of(tenant))]
