"""The store of the lists of the deployment: one row of the registry table."""

import json
from typing import TYPE_CHECKING

from signpost.adapters import keys
from signpost.adapters.aws import call
from signpost.adapters.dynamodb import rows
from signpost.deployment_lists import DeploymentLists

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoDeploymentLists:
    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def read(self) -> DeploymentLists:
        row = rows.get(self._client, self._table, keys.deployment_lists())
        if row is None:
            return DeploymentLists()
        # A row of an earlier release has no claims.
        texts = (row[name]["S"] if name in row else "[]" for name in ("origins", "executors", "claims"))
        return DeploymentLists(*(tuple(json.loads(text)) for text in texts))

    def write(self, lists: DeploymentLists) -> None:
        row = {
            **keys.deployment_lists(),
            **rows.schema_attribute(),
            "origins": {"S": rows.text(lists.origins)},
            "executors": {"S": rows.text(lists.executors)},
            "claims": {"S": rows.text(lists.claims)},
        }
        call(self._client.put_item, TableName=self._table, Item=row)
