"""What a stack publishes and what it answers, in memory."""

from collections.abc import Sequence
from threading import Lock

from signpost.model import NOTHING_PUBLISHED, CatalogueItem, CataloguePointer
from signpost.registry import publication


class MemoryCatalogue:
    def __init__(self) -> None:
        self._lock = Lock()
        self._pointers: dict[str, CataloguePointer] = {}
        self._snapshots: dict[tuple[str, str], str] = {}

    def pointer(self, tenant: str) -> CataloguePointer:
        return self._pointers.get(tenant, NOTHING_PUBLISHED)

    def items(self, tenant: str, digest: str) -> Sequence[CatalogueItem]:
        return publication.from_text(self._snapshots[tenant, digest])

    def publish(self, tenant: str, items: Sequence[CatalogueItem], replacing: int) -> bool:
        text = publication.to_text(items)
        with self._lock:
            if self.pointer(tenant).version != replacing:
                return False
            digest = publication.digest(text)
            self._snapshots[tenant, digest] = text
            self._pointers[tenant] = CataloguePointer(replacing + 1, digest)
            return True


class MemoryAnswers:
    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    def keep(self, tenant: str, text: str) -> str:
        address = f"memory://{tenant}/answers/{len(self.kept)}"
        self.kept[address] = text
        return address

    def address(self, key: str) -> str:
        return f"memory://{key}"
