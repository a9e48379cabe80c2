"""The lists of runs and of open approval requests, in memory."""

from collections.abc import Mapping, Sequence

from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.workflow.ports import ListedRequest, ListedRun, ListPage
from signpost.workflow.running import serialization
from signpost.workflow.running.summaries import summary_of


class MemoryRunLists:
    def __init__(self, instances: MemoryInstanceStore) -> None:
        self._instances = instances

    def list_runs(self, tenant: str, starter: str | None, *, after: str, most: int) -> ListPage[ListedRun]:
        texts = self._instances.run_summaries(tenant, starter)
        positions, is_last = _page_before(texts, after, most)
        return ListPage([ListedRun(position, summary_of(texts[position])) for position in positions], is_last)

    def list_requests(self, tenant: str, *, after: str, most: int) -> ListPage[ListedRequest]:
        requests = self._requests(tenant)
        positions, is_last = _page_before(requests, after, most)
        return ListPage([requests[position] for position in positions], is_last)

    def find_request(self, tenant: str, request_id: str) -> ListedRequest | None:
        return self._requests(tenant).get(request_id)

    def _requests(self, tenant: str) -> Mapping[str, ListedRequest]:
        return {
            name: ListedRequest(
                name, serialization.open_approval_of(text), None if run is None else summary_of(run)
            )
            for name, (text, run) in self._instances.open_requests(tenant).items()
        }  # fmt: skip


def _page_before(entries: Mapping[str, object], after: str, most: int) -> tuple[Sequence[str], bool]:
    """Return the positions of a page, the newest first, and whether it is the last page."""
    rest = sorted((position for position in entries if not after or position < after), reverse=True)
    return rest[:most], len(rest) <= most
