"""The state of one function, read for a call in five rows at once, and the list of all placed functions."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.breakers import breakers_in
from signpost.adapters.dynamodb.directory import hosted_in, placement_in
from signpost.adapters.dynamodb.runtime_settings import settings_in
from signpost.contract import FunctionState, HostedFunction, OpenBreakers
from signpost.model import SettingValue

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


NO_SETTINGS: Mapping[str, SettingValue] = {}


class DynamoFunctionStates:
    """Reads the state of a function. `deployment` holds the settings of tenants that set nothing themselves."""

    def __init__(
        self, client: "DynamoDBClient", table: str, deployment: Mapping[str, SettingValue] = NO_SETTINGS
    ) -> None:
        self._client = client
        self._table = table
        self._deployment = deployment

    def read(self, tenant: str, function: str) -> FunctionState:
        row_keys = (
            keys.placed_function(tenant, function),
            keys.placed_function(None, function),
            keys.settings(tenant, function),
            keys.settings(tenant, None),
            keys.breaker(tenant, function),
        )
        own, shipped, settings, tenant_settings, breaker = rows.get_each(self._client, self._table, row_keys)
        return FunctionState(
            own=placement_in(own) if own else None,
            shipped=placement_in(shipped) if shipped else None,
            settings=settings_in(settings or {}),
            tenant_settings={**self._deployment, **settings_in(tenant_settings or {})},
            breakers=breakers_in(breaker) if breaker else OpenBreakers(),
        )


class DynamoPlacedFunctions:
    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def functions(self, tenant: str | None) -> Sequence[HostedFunction]:
        return [hosted_in(row) for row in rows.query(self._client, self._table, keys.placed_functions_of(tenant))]
