"""The versions of everything that lists are made of, in memory."""

from signpost.adapters.memory.content_store import MemoryContentStore
from signpost.list_revisions import ListRevisions


class MemoryRevisionRows:
    """Reads the revisions of a content store and of its table of functions."""

    def __init__(self, content: MemoryContentStore) -> None:
        self._content = content

    def read(self, tenant: str) -> ListRevisions:
        own, shipped, catalogue, policies = self._content.versions(tenant)
        table = self._content.table
        with table.lock:
            return ListRevisions(
                content=own,
                shipped_content=shipped,
                catalogue=catalogue,
                policies=policies,
                placements=table.revisions[tenant],
                shipped_placements=table.revisions[None],
                own_settings=table.settings.get((tenant, None), {}),
                deployment_settings={**table.deployment, **table.settings.get((None, None), {})},
            )
