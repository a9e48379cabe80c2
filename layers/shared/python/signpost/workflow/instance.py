"""One run of a definition, as a value: everything that decides what may happen next."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from hashlib import sha256
from typing import Literal, Self

from signpost.model import Json, JsonObject, Principal
from signpost.records import dataclass
from signpost.wakes import Wake
from signpost.workflow.definition import Definition
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
    lapsed: bool = False
    """Whether it was said already that nobody has answered in time."""
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


UNHEARD = 3600.0
"""Seconds after which somebody looks at a workflow that is waited for: that it ended may have been said to nobody."""
SOONEST, LATEST = 0.2, 60.0
"""Seconds after which whoever waits is told to look again."""

type Standing = Literal["running", "waiting", "in_doubt"]
type Awaited = Literal["executor", "retry", "workflow", "chain"]


@dataclass(frozen=True, slots=True)
class Job:
    """A move that is under way, for whoever has to take it up: all that the engine needs to come to the same point."""

    transition: str
    """`on_enter`, where a state is being entered."""
    arguments: JsonObject
    principal: Principal
    """Who wanted it. Whoever carries it on does so in that name."""
    is_hop: bool = False
    chained: int = 0
    """Hops that the chain had before it."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One owner of what comes next. Whoever else wants something has to wait, or to name the token."""

    token: str
    standing: Standing
    """Somebody executes it; it may be taken up from a time on; or it was executed and nobody knows what came of it."""
    job: Job
    since: float
    """When the last of its tries began."""
    until: float
    """Until then nobody else may have it."""
    candidate: int = 0
    attempt: int = 1
    busy_until: float = 0.0
    """Until then an earlier try may still go on, of which nobody hears any more."""
    repeatable: bool = False
    """Whether the author consented to its being executed again, whatever became of the last time."""
    resumable: bool = False
    """Whether whoever finds it left may take it up: there is that consent, or to begin it again does nothing twice."""
    tainted: bool = False
    """Whether something was executed of which nobody knows what came of it, whatever the last try says."""
    awaits: Awaited = "executor"
    child: str | None = None
    """The workflow that it consists in, if it is one."""
    gives_up_at: float | None = None
    """When that workflow is not waited for any more."""
    lost: int = 0
    """How often nobody heard what came of it."""
    handed_over: int = 0
    """How often it went to the queue."""
    message: str = ""
    """What is known of an outcome that is in doubt."""

    def is_held(self, now: float) -> bool:
        """Whether somebody may be executing it right now."""
        return self.standing == "running" and now < self.until

    def is_in_doubt(self, now: float) -> bool:
        """A lease that is over says so as well: whoever held it was not heard of again."""
        return self.standing == "in_doubt" or (
            self.standing == "running" and not self.resumable and not self.is_held(now)
        )

    @property
    def over_at(self) -> float:
        """When nothing of it can go on any more, so that what somebody says of it stays true."""
        return max(self.until, self.busy_until)

    @property
    def may_be_left(self) -> bool:
        """Whether nothing is lost with it: what may have happened has to be settled first."""
        return self.standing == "waiting" and not self.tainted

    @property
    def waits_for_a_workflow(self) -> bool:
        return self.standing == "waiting" and self.awaits == "workflow"

    def patience_ms(self, now: float) -> int:
        """After how long it makes sense to look again: what is executed is mostly over long before its lease."""
        is_soon = self.standing == "running" or self.waits_for_a_workflow
        left = 1.0 if is_soon else (self.over_at if self.standing == "in_doubt" else self.until) - now
        return round(min(max(left, SOONEST), LATEST) * 1000)

    def is_free(self, now: float) -> bool:
        """Whether anybody may go on with it."""
        return now >= self.until and not self.is_in_doubt(now)


@dataclass(frozen=True, slots=True)
class Fault:
    """What went wrong while nobody was waiting for the answer."""

    code: str
    message: str
    transition: str
    error_class: str | None
    at: float


@dataclass(frozen=True, slots=True)
class Cancelled:
    by: str
    at: float
    left: str | None = None
    """The transition that was under way."""


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
    starter_issuer: str = ""
    """Who vouched for whoever started it; empty where that was not kept yet."""
    entering: bool = False
    """Whether what its state does on being entered is still owed."""
    claim: Claim | None = None
    """What is under way."""
    parent: str | None = None
    """The workflow that waits for this one to end."""
    depth: int = 0
    """How many workflows wait for each other above it."""
    cancelled: Cancelled | None = None
    fault: Fault | None = None
    """Of what was last done without anybody waiting for it."""
    releases: int = 0
    """How often something that was claimed turned out not to have happened."""
    untold_since: float | None = None
    """When it ended, until it is known that whoever waits for that has heard of it."""

    @property
    def stand(self) -> "Stand":
        return Stand(self.version, self.claim.token if self.claim is not None else None, self.releases)

    def is_overdue(self, now: float) -> bool:
        return self.ends_at is not None and now >= self.ends_at

    @property
    def waits_for(self) -> Request | None:
        """The request that is still open."""
        if self.cancelled is not None:
            return None
        return self.request if self.request is not None and self.request.state == self.state else None

    def closes(self, after: Self) -> str | None:
        """The request that was open, and is not after a step."""
        before, now = self.waits_for, after.waits_for
        is_still_open = before is not None and now is not None and now.id == before.id and not now.lapsed
        return None if before is None or is_still_open else before.id

    @property
    def proven(self) -> Mapping[str, Tally]:
        """What guards may go by: approvals are of what the context shows, and of nothing else."""
        if self.request is None:
            return self.evidence
        tally = self.request.tally if self.request.is_about(self.context) else Tally()
        return {**self.evidence, HUMAN_APPROVAL: tally}


def is_over(definition: Definition, instance: Instance) -> bool:
    """What its last state does on being entered is part of it."""
    return _has_arrived(definition, instance) and not instance.entering


def has_ended(definition: Definition, instance: Instance) -> bool:
    """Whether whoever waits for it has nothing more to wait for. After a fault somebody may have gone on."""
    return is_over(definition, instance) or (instance.fault is not None and instance.claim is None)


def _has_arrived(definition: Definition, instance: Instance) -> bool:
    """Where it ends; also if something is left to do there."""
    return instance.cancelled is not None or definition.states[instance.state].terminal


def deadline(definition: Definition, instance: Instance) -> float | None:
    """When it times out. What is executed and not settled counts first, and nobody leaves the end."""
    is_bound = instance.claim is not None and not instance.claim.may_be_left
    return None if is_bound or _has_arrived(definition, instance) else instance.ends_at


def child_of(claim: Claim) -> str:
    """Each try has a child of its own."""
    return f"{claim.child}c{claim.candidate}t{claim.attempt}"


def due_at(definition: Definition, instance: Instance) -> float | None:
    """When something is over that nobody may be looking at: a lease, a pause, a deadline, the patience with people, or
    all of it, which somebody else waits for."""
    if is_over(definition, instance):
        return instance.untold_since
    request, claim = instance.waits_for, instance.claim
    times = [deadline(definition, instance), instance.untold_since if has_ended(definition, instance) else None]
    if request is not None and not request.lapsed:
        times.append(request.expires_at)
    if claim is not None and claim.standing != "in_doubt":
        times += (claim.gives_up_at, claim.until + UNHEARD) if claim.waits_for_a_workflow else (claim.until,)
    return min((time for time in times if time is not None), default=None)


@dataclass(frozen=True, slots=True)
class Stand:
    """What an instance must still stand at for a change of it to be made."""

    version: int
    token: str | None = None
    """Of its claim; None if nothing is under way."""
    releases: int = 0
    """How often a claim ended without another version. A claim that was held up must not meet a later stand."""


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
    at: float | None = None
    """When, if that was before it was written."""


def in_doubt(claim: Claim) -> Record:
    return Record("executor.in_doubt", {"transition": claim.job.transition, "attempt": claim.attempt})


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
    wakes: Sequence[Wake] = ()
    """What is to be looked at because of it."""
    due_at: float | None = None
    """When it has to be looked at again, whoever asks; None for never."""
    token: str = ""
    """The same for whoever writes the same again."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A request that is open, and where."""

    workflow_id: str
    definition_id: str
    request: Request
