"""One run of a definition, as a value: everything that decides what may happen next."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from hashlib import sha256
from typing import Self

from signpost.model import Json, JsonObject
from signpost.records import dataclass
from signpost.workflow.guards import Tally

FIRST_VERSION = 1
HUMAN_REQUEST, HUMAN_APPROVAL = "human_request", "human_approval"
"""Kinds of evidence. That people were asked does not mean that they agreed."""


@dataclass(frozen=True, slots=True)
class Request:
    """People are asked to approve what the context shows."""

    id: str
    queue: str
    asked_by: str
    asked_at: float
    expires_at: float | None = None
    state: str = ""
    """Where their answer is waited for."""
    shown: Sequence[str] = ()
    """The parts of the context that are to be approved."""
    digest: str = ""
    """Of what these parts were when they were asked."""
    approved_by: frozenset[str] = frozenset()
    asked_before_by: frozenset[str] = frozenset()
    """Who has asked for exactly this already: nobody approves their own by having somebody else ask again."""

    @property
    def tally(self) -> Tally:
        """Each person counts once; where distinct persons are wanted, whoever asked does not count."""
        return Tally(len(self.approved_by), self.approved_by - self.askers)

    @property
    def askers(self) -> frozenset[str]:
        return self.asked_before_by | {self.asked_by}

    @property
    def rejected(self) -> "Request":
        """It waits for nobody any more, and what was approved of it is not."""
        return replace(self, state="", approved_by=frozenset())

    def has_expired(self, now: float) -> bool:
        return self.expires_at is not None and now >= self.expires_at

    def is_about(self, context: JsonObject) -> bool:
        """Whether the context still shows what was to be approved."""
        return self.digest == digest_of({name: context.get(name) for name in self.shown})


def digest_of(value: JsonObject) -> str:
    return sha256(json.dumps(value, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


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
    request: Request | None = None
    """The last time that people were asked to approve something."""
    started_by: str = ""

    def is_overdue(self, now: float) -> bool:
        return self.ends_at is not None and now >= self.ends_at

    @property
    def waits_for(self) -> Request | None:
        """The request that is still open."""
        return self.request if self.request is not None and self.request.state == self.state else None

    def closes(self, after: Self) -> str | None:
        """The request that was open, and is not after a step."""
        before, now = self.waits_for, after.waits_for
        return None if before is None or (now is not None and now.id == before.id) else before.id

    @property
    def proven(self) -> Mapping[str, Tally]:
        """What guards may go by: approvals are of what the context shows, and of nothing else."""
        if self.request is None:
            return self.evidence
        tally = self.request.tally if self.request.is_about(self.context) else Tally()
        return {**self.evidence, HUMAN_APPROVAL: tally}


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
    closed: str | None = None
    """The request that nobody has to answer any more."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A request that is open, and where."""

    workflow_id: str
    definition_id: str
    request: Request
