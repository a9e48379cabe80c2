"""The rows that every change of what lists show moves, read at once."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.content_head import head_in
from signpost.adapters.dynamodb.directory import revision_in
from signpost.adapters.dynamodb.function_states import NOTHING_SET
from signpost.adapters.dynamodb.runtime_settings import settings_in
from signpost.content import Revisions
from signpost.model import SettingValue

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoRevisionRows:
    """`deployment` is what the deployment sets for tenants that set nothing themselves."""

    def __init__(
        self, client: "DynamoDBClient", table: str, deployment: Mapping[str, SettingValue] = NOTHING_SET
    ) -> None:
        self._client = client
        self._table = table
        self._deployment = deployment

    def read(self, tenant: str) -> Revisions:
        wanted = (
            keys.content_version(tenant),
            keys.content_version(None),
            keys.placements(tenant),
            keys.placements(None),
            keys.settings(tenant, None),
        )
        content, shipped, placements, shipped_placements, settings = rows.get_each(self._client, self._table, wanted)
        head = head_in(content)
        return Revisions(
            content=head.version,
            shipped_content=head_in(shipped).version,
            catalogue=head.catalogue,
            policies=head.policies,
            placements=revision_in(placements),
            shipped_placements=revision_in(shipped_placements),
            settings={**self._deployment, **settings_in(settings or {})},
        )
