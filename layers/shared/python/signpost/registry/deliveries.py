"""What a subscriber is told of a change, and how long it is tried again."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

from signpost.content import SubscriberKind, Subscription, TriggerType
from signpost.model import JsonObject, Principal, as_object
from signpost.records import dataclass
from signpost.registry.subscriptions import TRIGGER_TYPES

COUNTED_APART: frozenset[TriggerType] = frozenset({"skills::registry"})
"""Changes of the directory of functions, which has numbers of its own."""
SEQUENCE, TENANT = "urn:signpost:seq:", "urn:signpost:tenant:"


class NoChangeError(Exception):
    """An event that says of itself to be a change of ours, and is none."""


@dataclass(frozen=True, slots=True)
class ToldChange:
    """A change of a tenant, as the bus tells it."""

    tenant: str
    sequence: int
    type: TriggerType
    payload: JsonObject

    @property
    def version(self) -> int | None:
        """Of the content, which subscriptions are part of; None where the number of the change is none of it."""
        return None if self.type in COUNTED_APART else self.sequence


@dataclass(frozen=True, slots=True)
class Delivery:
    """A change on its way to one of those who want to hear of it."""

    tenant: str
    sequence: int
    type: TriggerType
    payload: JsonObject
    kind: SubscriberKind
    target: str

    @property
    def id(self) -> str:
        """The same whenever the same change is told to the same subscriber: the bus may tell it twice, and an attempt
        whose answer was lost is made again. The payload is in it for a table that was restored counts anew."""
        identity = [self.tenant, self.sequence, self.type, self.payload, self.kind, self.target]
        return f"msg_{hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:40]}"


@dataclass(frozen=True, slots=True)
class Backoff:
    """How many seconds to wait after an attempt that failed: twice as long each time."""

    first: int
    longest: int

    def after(self, attempts: int) -> int:
        return min(self.first << min(attempts - 1, 30), self.longest)


def change_in(event: Mapping[str, Any]) -> ToldChange | None:
    """None for what is shipped: it is nobody's own. Raises NoChangeError."""
    resources, detail, of_type = event.get("resources"), as_object(event.get("detail")), event.get("detail-type")
    if not isinstance(resources, list) or of_type not in TRIGGER_TYPES or not detail:
        raise NoChangeError
    names = [name for name in cast("list[Any]", resources) if isinstance(name, str)]
    sequence = _one(names, SEQUENCE)
    if sequence is None or not sequence.isdecimal():
        raise NoChangeError
    tenant = _one(names, TENANT)
    return None if tenant is None else ToldChange(tenant, int(sequence), of_type, detail)


def deliveries_of(change: ToldChange, subscriptions: Sequence[Subscription]) -> Iterator[Delivery]:
    for one in subscriptions:
        if one.trigger_type == change.type:
            yield Delivery(change.tenant, change.sequence, change.type, change.payload, one.kind, one.target)


def to_text(delivery: Delivery) -> str:
    return json.dumps(asdict(delivery), ensure_ascii=False)


def from_text(text: str) -> Delivery:
    members = json.loads(text)
    return Delivery(**{name: members[name] for name in Delivery.__dataclass_fields__})


def body_of(delivery: Delivery) -> bytes:
    """What a webhook is posted."""
    body = {
        "type": delivery.type,
        "tenant": delivery.tenant,
        "sequence": delivery.sequence,
        "payload": delivery.payload,
    }
    return json.dumps(body, ensure_ascii=False).encode()


def subscriber(delivery: Delivery) -> Principal:
    """In whose name a trigger's function is called: nobody's but the tenant's, and without any rights."""
    return Principal(subject="trigger", tenant=delivery.tenant, issuer="signpost:events")


def _one(names: Sequence[str], prefix: str) -> str | None:
    return next((name.removeprefix(prefix) for name in names if name.startswith(prefix)), None)
