"""The store of run-time settings of operators: a row for each function, one for all functions of a tenant, and one for
all tenants."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from signpost.adapters import keys
from signpost.adapters.aws import call
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.rows import Row
from signpost.model import SettingValue

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PREFIX = "setting:"
"""The start of the name of each setting's attribute, which keeps settings apart from the row's own attributes."""


def settings_in(row: Row) -> Mapping[str, SettingValue]:
    return {
        name.removeprefix(PREFIX): _value_of(attribute)
        for name, attribute in sorted(row.items())
        if name.startswith(PREFIX)
    }


def _value_of(attribute: Mapping[str, str]) -> SettingValue:
    return int(attribute["N"]) if "N" in attribute else attribute["S"]


def _attribute_of(value: SettingValue) -> Mapping[str, str]:
    return {"S": value} if isinstance(value, str) else rows.number(value)


class DynamoRuntimeSettings:
    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def of_tenant(self, tenant: str | None) -> Mapping[str | None, Mapping[str, SettingValue]]:
        setting_rows = rows.query(self._client, self._table, keys.settings_of(tenant))
        by_function = {row["sk"]["S"]: settings_in(row) for row in setting_rows}
        return {
            None if function == keys.ALL_FUNCTIONS else function: settings
            for function, settings in by_function.items()
            if settings  # unsetting the last setting leaves an empty row
        }

    def set(self, tenant: str | None, function: str | None, name: str, value: SettingValue) -> None:
        call(
            self._client.update_item,
            TableName=self._table,
            Key=keys.settings(tenant, function),
            UpdateExpression="SET #setting = :value, #schema = :schema",
            ExpressionAttributeNames={"#setting": f"{PREFIX}{name}", "#schema": "schema"},
            ExpressionAttributeValues={":value": _attribute_of(value), ":schema": rows.number(keys.SCHEMA)},
        )

    def unset(self, tenant: str | None, function: str | None, name: str) -> None:
        rows.write_if(
            self._client.update_item,
            TableName=self._table,
            Key=keys.settings(tenant, function),
            UpdateExpression="REMOVE #setting",
            ConditionExpression="attribute_exists(pk)",
            ExpressionAttributeNames={"#setting": f"{PREFIX}{name}"},
        )
