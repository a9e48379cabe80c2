"""From a change on the bus to a message for each trigger and webhook that wants to hear of it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from signpost.content import Subscription
from signpost.model import JsonObject
from signpost.ports import ContentStore, DeliveryQueue, RevisionRows
from signpost.queued import shown
from signpost.records import dataclass
from signpost.registry.deliveries import change_in, deliveries_of, to_text
from signpost.telemetry import Telemetry

REMEMBERED_TENANTS = 64


@dataclass(frozen=True, slots=True)
class _Known:
    version: int
    """No change up to this one is missing in what follows."""
    subscriptions: Sequence[Subscription]


class Subscribers:
    """Who listens, in memory for as long as no later change is told: a publication tells thousands of one version."""

    def __init__(self, content: ContentStore, revisions: RevisionRows) -> None:
        self._content = content
        self._revisions = revisions
        self._by_tenant: dict[str, _Known] = {}

    def of(self, tenant: str, version: int | None) -> Sequence[Subscription]:
        """Everybody who had subscribed when this version of the content came about, and perhaps later ones; of None,
        everybody who has by now."""
        known = self._by_tenant.get(tenant)
        if known is None or version is None or known.version < version:
            now = self._revisions.read(tenant).content  # before what it stands for, which can only be newer
            known = _Known(now, self._content.subscriptions(tenant))
            if len(self._by_tenant) >= REMEMBERED_TENANTS:
                self._by_tenant.clear()
            self._by_tenant[tenant] = known
        return known.subscriptions


class SubscriberDoor:
    def __init__(self, *, subscribers: Subscribers, queue: DeliveryQueue, telemetry: Telemetry) -> None:
        self._subscribers = subscribers
        self._queue = queue
        self._telemetry = telemetry

    def handle(self, event: Mapping[str, Any], request_id: str) -> JsonObject:
        """A delivery that was asked for twice has the same id."""
        return shown(event, lambda message: self._told(message, request_id))

    def _told(self, message: Mapping[str, Any], request_id: str) -> bool:
        with self._telemetry.request(request_id, "QUEUE", "changes") as record:
            record.operation = "subscribe"
            try:
                self._ask(json.loads(message["body"]))
            except Exception as fault:  # noqa: BLE001 - the boundary: the other changes have nothing to do with it
                record.failed(fault)
                record.answered(503)
                return False
            record.answered(200)
        return True

    def _ask(self, event: Mapping[str, Any]) -> None:
        change = change_in(event)
        if change is None:
            return
        for one in deliveries_of(change, self._subscribers.of(change.tenant, change.version)):
            self._queue.put(to_text(one))
