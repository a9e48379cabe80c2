"""How far everything has changed, in memory."""

from signpost.adapters.memory.content_store import MemoryContentStore
from signpost.content import Revisions


class MemoryRevisionRows:
    """Of a content store, and of the table that it takes."""

    def __init__(self, content: MemoryContentStore) -> None:
        self._content = content

    def read(self, tenant: str) -> Revisions:
        own, shipped, catalogue, policies = self._content.versions(tenant)
        table = self._content.table
        with table.lock:
            return Revisions(
                content=own,
                shipped_content=shipped,
                catalogue=catalogue,
                policies=policies,
                placements=table.revisions[tenant],
                shipped_placements=table.revisions[None],
                settings=table.of_tenant(tenant),
            )
