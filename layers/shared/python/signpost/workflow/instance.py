"""One run of a definition, as a value: everything that decides what may happen next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from signpost.model import Json, JsonObject
from signpost.workflow.guards import Tally

FIRST_VERSION = 1


@dataclass(frozen=True, slots=True)
class Instance:
    id: str
    definition_id: str
    digest: str
    """Of the definition that it was started with. It follows that one to its end."""
    state: str
    version: int
    context: JsonObject
    input: JsonObject
    started_at: float
    ends_at: float | None = None
    """When it times out, in seconds since the epoch; None if it does not, or has."""
    evidence: Mapping[str, Tally] = field(default_factory=dict[str, Tally])

    def is_overdue(self, now: float) -> bool:
        return self.ends_at is not None and now >= self.ends_at


@dataclass(frozen=True, slots=True)
class Hop:
    """A transition that was taken."""

    from_state: str
    transition: str
    to_state: str
    version: int
    """The one that it led to."""


@dataclass(frozen=True, slots=True)
class Record:
    """Something that happened, for the audit."""

    type: str
    payload: JsonObject


@dataclass(frozen=True, slots=True)
class EvidenceItem:
    kind: str
    subject: str
    """Who gave it."""
    fields: JsonObject = field(default_factory=dict[str, Json])


def with_evidence(evidence: Mapping[str, Tally], items: Sequence[EvidenceItem]) -> Mapping[str, Tally]:
    tallies = dict(evidence)
    for item in items:
        before = tallies.get(item.kind, Tally())
        tallies[item.kind] = replace(before, count=before.count + 1, subjects=before.subjects | {item.subject})
    return tallies


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """A record, with when it happened, in which call, and who was behind it."""

    record: Record
    at: float
    correlation_id: str
    subject: str


@dataclass(frozen=True, slots=True)
class Entry:
    """What one call added to an instance. All of it is kept, or none."""

    instance: Instance
    """As it is now."""
    hops: Sequence[Hop] = ()
    evidence: Sequence[EvidenceItem] = ()
    events: Sequence[AuditEvent] = ()
