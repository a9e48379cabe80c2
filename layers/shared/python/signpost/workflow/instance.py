"""The instance of a workflow definition, as a value: all of the state that decides which moves are possible."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Literal, Self

from signpost.model import Json, JsonObject, Principal
from signpost.records import dataclass
from signpost.workflow.definition import Definition
from signpost.workflow.guards import GuardInput, Tally
from signpost.workflow.hash_links import HashLink
from signpost.workflow.paths import ValueSources
from signpost.workflow.run_summary import RunSummary
from signpost.workflow.task_ends import TaskEnd
from signpost.workflow.wakes import Wake

if TYPE_CHECKING:
    from signpost.workflow.step_questions import StepQuestions

FIRST_VERSION = 1
HUMAN_REQUEST, HUMAN_APPROVAL = "human_request", "human_approval"
"""Kinds of evidence. A request is no approval: that people were asked does not mean that they agreed."""


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A request that people approve parts of the context."""

    id: str
    queue: str
    asked_by: str
    asked_at: float
    expires_at: float | None = None
    state: str = ""
    """The state in which the answer is expected; empty if the request is closed."""
    shown: Sequence[str] = ()
    """The names of the context values that are to be approved; empty for the whole context."""
    digest: str = ""
    """The digest of these values at the time of the request."""
    approved_by: frozenset[str] = frozenset()
    answers: frozenset[str] = frozenset()
    """The names of the context values that the first approval has added, such as the name of the approver. Later
    approvals may write them, and nothing else, if all are to count."""
    lapsed: bool = False
    """Whether the expiry of the request was recorded already."""
    asked_before_by: frozenset[str] = frozenset()
    """Subjects that asked for exactly this before. Like the asker they do not count as distinct approvers, so that no
    person can approve their own request by having another person ask again."""

    @property
    def tally(self) -> Tally:
        """The approvals as evidence: each person counts once; where distinct persons are required, askers do not."""
        return Tally(len(self.approved_by), self.approved_by - self.askers)

    @property
    def askers(self) -> frozenset[str]:
        return self.asked_before_by | {self.asked_by}

    @property
    def after_rejection(self) -> "ApprovalRequest":
        """The request once it was rejected: it is closed, and earlier approvals of it are void."""
        return replace(self, state="", approved_by=frozenset(), answers=frozenset())

    def has_expired(self, now: float) -> bool:
        return self.expires_at is not None and now >= self.expires_at

    def is_about(self, context: JsonObject) -> bool:
        """Return whether the context still has the values for which approval was requested, and no other ones if the
        whole of it is to be approved."""
        return self.digest == digest_of(self.select_values(context))

    def select_values(self, context: JsonObject) -> JsonObject:
        """Return the values of the context that are to be approved."""
        if not self.shown:
            return {name: context[name] for name in sorted(context)}
        return {name: context.get(name) for name in self.shown}


def digest_of(value: JsonObject) -> str:
    return sha256(json.dumps(value, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


CHILD_CHECK_INTERVAL = 3600.0
"""Seconds after which a worker checks a child workflow that a parent waits for: the wake at its end may be lost."""
SHORTEST_RETRY_AFTER, LONGEST_RETRY_AFTER = 0.2, 60.0
"""Bounds, in seconds, of the time after which a waiting client is told to ask again."""

type ClaimStatus = Literal["running", "waiting", "in_doubt"]
type WaitReason = Literal["executor", "retry", "workflow", "chain", "answers"]


@dataclass(frozen=True, slots=True)
class Job:
    """A move that is under way, with all that the engine needs to reach the same point when a worker takes it up."""

    transition: str
    """The name of the transition; `on_enter` while a state is being entered."""
    arguments: JsonObject
    principal: Principal
    """The principal that submitted it. A worker that continues it acts in the name of this principal."""
    is_hop: bool = False
    chained: int = 0
    """The number of hops in the chain before this one."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The record that one worker or request owns the next move. Any other caller has to wait, or to name the token."""

    token: str
    standing: ClaimStatus
    """`running`: a worker or request executes it; `waiting`: it may be taken up from `until` on; `in_doubt`: it was
    executed and its result is unknown."""
    job: Job
    since: float
    """When the last attempt began."""
    until: float
    """Until this time no other worker or request may take the claim."""
    candidate: int = 0
    attempt: int = 1
    busy_until: float = 0.0
    """Until this time an earlier attempt may still be running, although no result of it can be received any more."""
    repeatable: bool = False
    """Whether the author consented to another execution even if the result of the last one is unknown."""
    resumable: bool = False
    """Whether a worker that finds it abandoned may take it up: the author consented to repetition, or beginning it
    again does nothing twice."""
    tainted: bool = False
    """Whether the result of some execution under it is unknown, even if the last attempt reports a certain one."""
    awaits: WaitReason = "executor"
    child: str | None = None
    """The start of the id of its child workflows, if the step runs them; `child_id_of` completes it."""
    gives_up_at: float | None = None
    """When this instance stops waiting for the child workflow."""
    lost: int = 0
    """How often it was executed without a result being received."""
    handed_over: int = 0
    """How often it was handed over to the work queue."""
    message: str = ""
    """A sentence about an outcome that is in doubt."""
    questions: "StepQuestions | None" = None
    """The questions of the function that is executed, and their answers; None if it has asked nothing."""

    def is_held(self, now: float) -> bool:
        """Return whether a worker or request may be executing it right now."""
        return self.standing == "running" and now < self.until

    def is_in_doubt(self, now: float) -> bool:
        """Return whether the result of an execution is unknown. An expired lease that may not be resumed means this as
        well: its holder has not reported."""
        return self.standing == "in_doubt" or (
            self.standing == "running" and not self.resumable and not self.is_held(now)
        )

    @property
    def latest_end_at(self) -> float:
        """When no attempt of it can still be running, so that a statement about its result stays true."""
        return max(self.until, self.busy_until)

    @property
    def may_be_abandoned(self) -> bool:
        """Whether dropping it loses nothing: an execution that may have happened has to be settled first."""
        return self.standing == "waiting" and not self.tainted

    @property
    def is_parked(self) -> bool:
        """Whether the function has asked questions and only their answers continue it: no time does."""
        return self.standing == "waiting" and self.awaits == "answers"

    @property
    def is_waiting_for_child(self) -> bool:
        return self.standing == "waiting" and self.awaits == "workflow"

    def retry_after_ms(self, now: float) -> int:
        """Return after how long it makes sense to ask again: an execution mostly ends long before its lease."""
        if self.is_parked:
            return round(LONGEST_RETRY_AFTER * 1000)
        is_soon = self.standing == "running" or self.is_waiting_for_child
        left = 1.0 if is_soon else (self.latest_end_at if self.standing == "in_doubt" else self.until) - now
        return round(min(max(left, SHORTEST_RETRY_AFTER), LONGEST_RETRY_AFTER) * 1000)

    def is_free(self, now: float) -> bool:
        """Return whether any worker may continue it."""
        return now >= self.until and not self.is_in_doubt(now) and not self.is_parked


@dataclass(frozen=True, slots=True)
class InstanceFault:
    """A failure that happened while no caller was waiting for the answer."""

    code: str
    message: str
    transition: str
    error_class: str | None
    at: float


@dataclass(frozen=True, slots=True)
class Cancellation:
    by: str
    at: float
    left: str | None = None
    """The transition that was under way."""


@dataclass(frozen=True, slots=True)
class Instance:
    id: str
    definition_id: str
    digest: str
    """The digest of the definition that it was started with. It follows that definition to its end."""
    state: str
    version: int
    context: JsonObject
    input: JsonObject
    started_at: float
    ends_at: float | None = None
    """When it times out, in seconds since the epoch; None if it does not, or has."""
    evidence: Mapping[str, Tally] = field(default_factory=dict[str, Tally])
    request: ApprovalRequest | None = None
    """The latest approval request."""
    started_by: str = ""
    starter_issuer: str = ""
    """The issuer of the principal that started it; empty if it was stored before issuers were kept."""
    starter_owner: str = ""
    """The owner of the API key that started it; empty if it has none."""
    entering: bool = False
    """Whether the `onEnter` of its state is still owed."""
    claim: Claim | None = None
    """The claim on the move that is under way."""
    parent: str | None = None
    """The workflow that waits for this one to end."""
    depth: int = 0
    """The number of workflows above it, each waiting for the next."""
    cancelled: Cancellation | None = None
    fault: InstanceFault | None = None
    """The fault of the last move that failed while no caller was waiting for it."""
    releases: int = 0
    """How often a claim ended without another version, because the claimed move turned out not to have happened."""
    end_unreported_since: float | None = None
    """When it ended; kept until it is known that the parent that waits for the end has heard of it."""
    link: HashLink | None = None
    """The newest link of its hash chain; None if it was written last by a release without hashes."""
    readers: Json = None
    """The `readers` of its definition as they are written; None if it has none, or if they are not kept."""
    state_ends_at: float | None = None
    """When the timeout of its state is over, in seconds since the epoch; None if the state has none."""
    is_task: bool = False
    """Whether a client follows it as a task."""

    @property
    def write_condition(self) -> "WriteCondition":
        return WriteCondition(self.version, self.claim.token if self.claim is not None else None, self.releases)

    @property
    def next_deadline(self) -> float | None:
        """The earlier of its own deadline and that of its state."""
        return min((at for at in (self.ends_at, self.state_ends_at) if at is not None), default=None)

    def is_overdue(self, now: float) -> bool:
        return self.next_deadline is not None and now >= self.next_deadline

    @property
    def open_request(self) -> ApprovalRequest | None:
        """The approval request if it is still open."""
        if self.cancelled is not None:
            return None
        return self.request if self.request is not None and self.request.state == self.state else None

    def find_closed_request(self, after: Self) -> str | None:
        """Return the id of the request that was open and is closed in `after`."""
        before, now = self.open_request, after.open_request
        is_still_open = before is not None and now is not None and now.id == before.id and not now.lapsed
        return None if before is None or is_still_open else before.id

    @property
    def guard_evidence(self) -> Mapping[str, Tally]:
        """The evidence that guards use: approvals count only while the context shows the values that were approved."""
        if self.request is None:
            return self.evidence
        tally = self.request.tally if self.request.is_about(self.context) else Tally()
        return {**self.evidence, HUMAN_APPROVAL: tally}

    def guard_input(self, principal: Principal, arguments: JsonObject) -> GuardInput:
        """Return the input of the guards of a transition that the principal takes with these arguments."""
        return GuardInput(self.value_sources(arguments), principal, self.guard_evidence)

    def value_sources(self, arguments: JsonObject, output: Json = None) -> ValueSources:
        """Return the values that paths of this instance lead into."""
        return ValueSources(self.context, arguments, self.input, output)


def is_over(definition: Definition, instance: Instance) -> bool:
    """Return whether the instance has come to its end. The `onEnter` of the last state is part of the run."""
    return has_arrived(definition, instance) and not instance.entering


def has_ended(definition: Definition, instance: Instance) -> bool:
    """Return whether a waiting parent has nothing more to wait for: it is over or stopped by a fault. A claim after a
    fault means that a caller has continued it."""
    return is_over(definition, instance) or (instance.fault is not None and instance.claim is None)


def has_arrived(definition: Definition, instance: Instance) -> bool:
    """Return whether it is cancelled or in a terminal state, even if the `onEnter` of that state is still owed."""
    return instance.cancelled is not None or definition.states[instance.state].terminal


def child_id_of(claim: Claim) -> str:
    """Return the id of the child workflow of the current attempt: each attempt has a child of its own."""
    return f"{claim.child}c{claim.candidate}t{claim.attempt}"


@dataclass(frozen=True, slots=True)
class WriteCondition:
    """The version, claim token and release count that must still be stored for a write to succeed."""

    version: int
    token: str | None = None
    """The token of the claim; None if nothing is under way."""
    releases: int = 0
    """How often a claim ended without another version. Without this count, a delayed write of an old claim could match
    a later state of the instance that has the same version and no claim."""


@dataclass(frozen=True, slots=True)
class Hop:
    """A transition that was taken."""

    from_state: str
    transition: str
    to_state: str
    version: int
    """The version that it led to."""


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One entry of the audit: something that happened."""

    type: str
    payload: JsonObject
    at: float | None = None
    """When it happened; None for the time at which it is written."""


@dataclass(frozen=True, slots=True)
class EvidenceItem:
    kind: str
    subject: str
    """The person of the principal that gave it: its subject, or the owner of its API key."""
    fields: JsonObject = field(default_factory=dict[str, Json])


def add_evidence(evidence: Mapping[str, Tally], items: Sequence[EvidenceItem]) -> Mapping[str, Tally]:
    tallies = dict(evidence)
    for item in items:
        before = tallies.get(item.kind, Tally())
        tallies[item.kind] = replace(before, count=before.count + 1, subjects=before.subjects | {item.subject})
    return tallies


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """An audit record with its time, the correlation id of its call and the subject of its principal."""

    record: AuditRecord
    at: float
    correlation_id: str
    subject: str


@dataclass(frozen=True, slots=True)
class InstanceWrite:
    """Everything that one write adds to an instance. The store keeps all of it, or nothing."""

    instance: Instance
    """The instance as it is after the write."""
    hops: Sequence[Hop] = ()
    evidence: Sequence[EvidenceItem] = ()
    events: Sequence[AuditEvent] = ()
    closed_request_id: str | None = None
    """The approval request that needs no answer any more."""
    wakes: Sequence[Wake] = ()
    """The wakes that the write causes."""
    due_at: float | None = None
    """When a worker has to look at it even if no caller asks; None for never."""
    token: str = ""
    """The id of the write; a repetition of the same write has the same token."""
    recorded: JsonObject = field(default_factory=dict[str, Json])
    """The further fields of its row of the history: the state, and the digests of definition, context and input."""
    link: HashLink | None = None
    """Its link in the hash chain; None if it adds no row, or does not exclude other writes."""
    summary: RunSummary | None = None
    """The summary of the instance in lists of runs; None to leave the lists unchanged."""
    task_end: TaskEnd | None = None
    """The end of the task. It is kept only if the task has not ended before."""


@dataclass(frozen=True, slots=True)
class StoredTask:
    """An instance that a client follows as a task."""

    instance: Instance
    end: TaskEnd | None = None
    """The end that was kept first; None for a task that has not ended."""


@dataclass(frozen=True, slots=True)
class OpenApproval:
    """An open approval request, and the instance that it belongs to."""

    workflow_id: str
    definition_id: str
    request: ApprovalRequest
