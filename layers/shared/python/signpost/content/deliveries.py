"""Deliveries: the message about one change to one subscriber, its text form, and the delay before a retry."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, field
from typing import Any, cast

from signpost.content.changes import EVENTS
from signpost.content.model import SubscriberKind, Subscription, TriggerType
from signpost.content.subscriptions import TRIGGER_TYPES
from signpost.model import Json, JsonObject, Principal, as_object
from signpost.records import dataclass

TRIGGER_ISSUER = "signpost:events"
"""The issuer of the principal of triggers."""
SEQUENCE, TENANT = "urn:signpost:seq:", "urn:signpost:tenant:"


class InvalidChangeError(Exception):
    """Raised for an event from the bus that does not have the form of a content change."""


@dataclass(frozen=True, slots=True)
class TenantChange:
    """One change of a tenant, as received from the event bus."""

    tenant: str
    sequence: int
    type: TriggerType
    payload: JsonObject

    @property
    def version(self) -> int | None:
        """The version of the tenant's content, which includes its subscriptions, after this change; None if the change
        belongs to the directory, whose sequence numbers are separate."""
        return None if EVENTS[self.type].is_separately_numbered else self.sequence


@dataclass(frozen=True, slots=True)
class Delivery:
    """One change on its way to one subscriber."""

    tenant: str
    sequence: int
    type: TriggerType
    payload: JsonObject
    kind: SubscriberKind
    target: str
    metadata: JsonObject = field(default_factory=dict[str, Json])
    timeout_ms: int | None = None

    @property
    def arguments(self) -> JsonObject:
        """The arguments of a function, or the input of a workflow: the payload, with the author's metadata if there
        are any."""
        return {**self.payload, "metadata": self.metadata} if self.metadata else self.payload

    @property
    def id(self) -> str:
        """The id of the message, equal for every delivery of the same change to the same subscriber: the bus may send
        a change twice, and an attempt without a known answer is repeated. The id covers the payload because a restored
        table assigns the same sequence numbers again."""
        identity = [self.tenant, self.sequence, self.type, self.payload, self.kind, self.target]
        return f"msg_{hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:40]}"


@dataclass(frozen=True, slots=True)
class Backoff:
    """The delay in seconds after a failed attempt. It doubles with each attempt, up to `longest`."""

    first: int
    longest: int

    def delay_after(self, attempts: int) -> int:
        return min(self.first << min(attempts - 1, 30), self.longest)


def parse_change(event: Mapping[str, Any]) -> TenantChange | None:
    """Read a change from an event of the bus. Returns None for a change of shipped content, which has no tenant.
    Raises InvalidChangeError."""
    resources, detail, of_type = event.get("resources"), as_object(event.get("detail")), event.get("detail-type")
    if not isinstance(resources, list) or of_type not in TRIGGER_TYPES or not detail:
        raise InvalidChangeError
    names = [name for name in cast("list[Any]", resources) if isinstance(name, str)]
    sequence = _find_suffix(names, SEQUENCE)
    if sequence is None or not sequence.isdecimal():
        raise InvalidChangeError
    tenant = _find_suffix(names, TENANT)
    return None if tenant is None else TenantChange(tenant, int(sequence), of_type, detail)


def deliveries_of(change: TenantChange, subscriptions: Sequence[Subscription]) -> Iterator[Delivery]:
    for subscription in subscriptions:
        if subscription.trigger_type == change.type:
            yield Delivery(
                change.tenant,
                change.sequence,
                change.type,
                change.payload,
                subscription.kind,
                subscription.target,
                subscription.metadata,
                subscription.timeout_ms,
            )


def to_text(delivery: Delivery) -> str:
    return json.dumps(asdict(delivery), ensure_ascii=False)


def from_text(text: str) -> Delivery:
    """Read a delivery. One that an earlier release has queued has fewer members."""
    members = json.loads(text)
    return Delivery(**{name: members[name] for name in Delivery.__dataclass_fields__ if name in members})


def find_workflow_delivery(text: str) -> Delivery | None:
    """Read a message of the workflow worker's queue if it is a delivery; None for a wake."""
    members = json.loads(text)
    return from_text(text) if isinstance(members, Mapping) and "sequence" in members else None


def body_of(delivery: Delivery) -> bytes:
    """Build the body of the POST request to a webhook."""
    body = {
        "type": delivery.type,
        "tenant": delivery.tenant,
        "sequence": delivery.sequence,
        "payload": delivery.payload,
    }
    return json.dumps(body, ensure_ascii=False).encode()


def principal_of(delivery: Delivery) -> Principal:
    """Return the principal as which a trigger's function is called or its workflow is started: it stands for the
    tenant alone and has no permissions."""
    return Principal(subject="trigger", tenant=delivery.tenant, issuer=TRIGGER_ISSUER)


def _find_suffix(names: Sequence[str], prefix: str) -> str | None:
    return next((name.removeprefix(prefix) for name in names if name.startswith(prefix)), None)
