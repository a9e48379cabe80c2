"""The versions of everything that lists are made of, read at once: every change moves one of these rows."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.content_head import head_in
from signpost.adapters.dynamodb.directory import revision_in
from signpost.adapters.dynamodb.function_states import NO_SETTINGS
from signpost.adapters.dynamodb.runtime_settings import settings_in
from signpost.list_revisions import ListRevisions
from signpost.model import SettingValue

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoRevisionRows:
    """Reads the revisions. `deployment` holds the settings that are parameters of the deployment."""

    def __init__(
        self, client: "DynamoDBClient", table: str, deployment: Mapping[str, SettingValue] = NO_SETTINGS
    ) -> None:
        self._client = client
        self._table = table
        self._deployment = deployment

    def read(self, tenant: str) -> ListRevisions:
        row_keys = (
            keys.content_version(tenant),
            keys.content_version(None),
            keys.placements(tenant),
            keys.placements(None),
            keys.settings(tenant, None),
            keys.settings(None, None),
        )
        content, shipped, placements, shipped_placements, own, everywhere = rows.get_each(
            self._client, self._table, row_keys
        )
        head = head_in(content)
        return ListRevisions(
            content=head.version,
            shipped_content=head_in(shipped).version,
            catalogue=head.catalogue,
            policies=head.policies,
            placements=revision_in(placements),
            shipped_placements=revision_in(shipped_placements),
            own_settings=settings_in(own or {}),
            deployment_settings={**self._deployment, **settings_in(everywhere or {})},
        )
