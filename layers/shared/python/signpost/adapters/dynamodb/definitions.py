"""The store of published workflow definitions: texts under their digests. A stored text never changes."""

from hashlib import sha256
from typing import TYPE_CHECKING

from signpost.adapters import keys
from signpost.adapters.aws import call
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.rows import Attributes

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from signpost.ports import TextStore

LONGEST_IN_A_ROW = 100_000
"""Characters that fit into a row; a longer text goes to the content bucket. The gateway caches what it has read."""


class DynamoDefinitionTexts:
    def __init__(self, client: "DynamoDBClient", table: str, values: "TextStore") -> None:
        self._client = client
        self._table = table
        self._values = values

    def keep(self, tenant: str, text: str) -> str:
        digest = sha256(text.encode()).hexdigest()
        value: Attributes = {"text": {"S": text}}
        if len(text) > LONGEST_IN_A_ROW:
            value = {"kept": {"S": self._values.keep(tenant, text)}}
        row = {**keys.definition(tenant, digest), **value, **rows.schema_attribute()}
        call(self._client.put_item, TableName=self._table, Item=row)
        return digest

    def read(self, tenant: str, digest: str) -> str:
        row = rows.get(self._client, self._table, keys.definition(tenant, digest))
        if row is None:
            raise LookupError(f"The tenant {tenant} has no definition {digest}.")
        return row["text"]["S"] if "text" in row else self._values.read(tenant, row["kept"]["S"])
