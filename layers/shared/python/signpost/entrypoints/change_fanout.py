"""Turns each change on the bus into one message for each trigger and webhook that subscribes to it: in the queue of
deliveries, or in that of the workflow worker if the trigger starts a workflow."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from signpost.caches import BoundedCache
from signpost.content.deliveries import deliveries_of, parse_change, to_text
from signpost.content.model import Subscription
from signpost.entrypoints.queue_batch import QueueBatches, QueueRecord
from signpost.list_revisions import RevisionRows
from signpost.model import JsonObject
from signpost.records import dataclass
from signpost.telemetry import RequestRecord, Telemetry

if TYPE_CHECKING:
    from signpost.content.ports import ContentStore, DeliveryQueue

REMEMBERED_TENANTS = 64


@dataclass(frozen=True, slots=True)
class _CachedSubscriptions:
    version: int
    """The content version up to which the subscriptions below are complete."""
    subscriptions: Sequence[Subscription]


class SubscriptionCache:
    """The subscriptions of tenants, cached until a later change arrives: a publication announces thousands of changes
    under one version."""

    def __init__(self, content: "ContentStore", revisions: RevisionRows) -> None:
        self._content = content
        self._revisions = revisions
        self._by_tenant = BoundedCache[str, _CachedSubscriptions](REMEMBERED_TENANTS)

    def read(self, tenant: str, version: int | None) -> Sequence[Subscription]:
        """The subscriptions as of this version of the content or a later one; for None, as of now."""
        cached = self._by_tenant.get(tenant)
        if cached is None or version is None or cached.version < version:
            current = self._revisions.read(tenant).content  # read first: the subscriptions can only be newer
            subscriptions = self._content.subscriptions(tenant)
            cached = self._by_tenant.put(tenant, _CachedSubscriptions(current, subscriptions))
        return cached.subscriptions


class ChangeFanout:
    def __init__(
        self, *, subscribers: SubscriptionCache, queue: "DeliveryQueue", work: "DeliveryQueue", telemetry: Telemetry
    ) -> None:
        """`work` is the queue of the workflow worker."""
        self._subscribers = subscribers
        self._queue = queue
        self._work = work
        self._batches = QueueBatches("changes", telemetry)

    def handle(self, event: Mapping[str, Any], request_id: str) -> JsonObject:
        """Enqueues the deliveries of each change. A repeated change yields deliveries with the same ids."""
        return self._batches.handle(event, request_id, self._enqueue_deliveries)

    def _enqueue_deliveries(self, message: QueueRecord, record: RequestRecord) -> bool:
        record.operation = "subscribe"
        change = parse_change(json.loads(message["body"]))
        if change is not None:
            for delivery in deliveries_of(change, self._subscribers.read(change.tenant, change.version)):
                queue = self._work if delivery.kind == "workflow" else self._queue
                queue.put(to_text(delivery))
        return True
