"""The values of the engine: the events of an instance, and the steps that follow from them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from signpost.errors import StepRefusalCode
from signpost.model import Json, JsonObject, Principal
from signpost.records import dataclass
from signpost.workflow.audit_events import STATE_TIMED_OUT, TIMED_OUT
from signpost.workflow.definition import ExecutorSpec
from signpost.workflow.instance import ApprovalRequest, AuditRecord, EvidenceItem, Hop, Instance, Job
from signpost.workflow.task_ends import TaskReply

NOOP_KIND = "noop"
HUMAN_KIND = "human"
"""The kind of the executor that asks people for approval."""
FUNCTION_KIND = "function"
"""The kind of the executor that calls a function."""
CHILD_WORKFLOW_KIND = "workflow"
"""The kind of the executor that starts another workflow and waits for its end."""
HARMLESS_KINDS = frozenset({NOOP_KIND, HUMAN_KIND})
"""Kinds that do nothing outside of the instance: their outcome is saved with the step, or it never happened."""
ON_ENTER = "on_enter"
"""The name of an entry into a state where a transition would be named."""
TIMEOUT_MOVE = "timeout"
"""The name in the trace of the move to the target of a timeout."""


@dataclass(frozen=True, slots=True)
class Refusal:
    code: StepRefusalCode
    message: str
    transition: str | None = None
    error_class: str | None = None
    retry_after_ms: int | None = None
    in_doubt: bool = False
    """Whether the result of an execution is unknown."""
    is_write_unknown: bool = False
    """Whether the result of a write is unknown: it may still be made."""


@dataclass(frozen=True, slots=True)
class Submission:
    expected_version: int
    transition: str
    arguments: JsonObject
    principal: Principal


@dataclass(frozen=True, slots=True)
class QuestionAnswers:
    """The answers of a client to questions of a parked step. Those that were not asked or do not fit are left out."""

    responses: Mapping[str, Json]
    principal: Principal


@dataclass(frozen=True, slots=True)
class StatusCheck:
    """A caller reads the instance. This changes it only if its deadline has passed."""

    principal: Principal


@dataclass(frozen=True, slots=True)
class ExecutorOutcome:
    """The answer of an executor that has done its work."""

    output: Json = None
    evidence: Sequence[EvidenceItem] = ()
    request: ApprovalRequest | None = None
    """The approval request, if the executor asked people to approve something."""
    task_reply: TaskReply | None = None
    """The reply for the client of a task; None if there is no task, or if no client may be shown the reply."""


@dataclass(frozen=True, slots=True)
class ExecutorFailure:
    """The failure of an executor."""

    error_class: str
    message: str
    outcome: Literal["none", "unknown"] = "none"
    """`none` if it certainly did nothing, else `unknown`."""
    retry_after_ms: int | None = None
    code: str = ""
    """The code of the failure in `calling/failures.py`, if it has one."""
    has_ended: bool = True
    """Whether no part of it can still be running."""
    counts: bool = True
    """False if the failure is no sign that the executor does not work."""
    task_reply: TaskReply | None = None
    """The reply for the client of a task, if the function itself refused or failed in words of its own."""


@dataclass(frozen=True, slots=True)
class WakeUp:
    """A worker looks at the instance because something of it is due; no caller asked."""

    principal: Principal


@dataclass(frozen=True, slots=True)
class CancelRequest:
    """A principal that may do so cancels the instance."""

    principal: Principal


@dataclass(frozen=True, slots=True)
class Resumption:
    """A move that was decided before continues: no part of it is decided again."""

    job: Job
    is_taken_over: bool = False
    """Whether it is taken over from a worker or request that was executing it and never reported."""


@dataclass(frozen=True, slots=True)
class ExecutorReport:
    pending: "PendingExecution"
    outcome: ExecutorOutcome | ExecutorFailure


type InstanceEvent = Submission | StatusCheck | WakeUp | CancelRequest | Resumption | ExecutorReport


@dataclass(frozen=True, slots=True)
class Move:
    """One transition, entry or deadline while the engine applies it."""

    transition: str
    arguments: JsonObject
    is_hop: bool = False
    """Whether it is a hop of a chain, which follows by itself."""
    target: str | None = None
    """The state that it leads to, once that is known: then only the `onEnter` of that state is left to do."""
    next_instance: Instance | None = None
    """The instance as it will be in the target. Until the target is entered, the instance of the step is unchanged."""
    gathered: Sequence[EvidenceItem] = ()
    """The evidence that people and executors gave on the way."""
    is_owed: bool = False
    """Whether the state was reached by an earlier step and only its `onEnter` is left to do."""
    has_acted: bool = False
    """Whether something that cannot be taken back was executed already."""


@dataclass(frozen=True, slots=True)
class PendingExecution:
    """The executor that must run before the step can continue."""

    executor: ExecutorSpec
    reliability: JsonObject
    arguments: JsonObject
    move: Move
    step: "Step"

    @property
    def audit_name(self) -> str:
        """The name of the move in the audit."""
        return ON_ENTER if self.move.next_instance is not None else self.move.transition


@dataclass(frozen=True, slots=True)
class Step:
    instance: Instance
    principal: Principal
    at: float
    """The time by which the whole step was decided."""
    hops: Sequence[Hop] = ()
    """All hops that were taken, in their order; those that followed by themselves are the chain."""
    chained: int = 0
    evidence: Sequence[EvidenceItem] = ()
    records: Sequence[AuditRecord] = ()
    pending: PendingExecution | None = None
    refusal: Refusal | None = None
    since: int = 0
    """The version that it began with; 0 for an instance that did not exist."""

    @property
    def chain(self) -> Sequence[Hop]:
        """The hops of the chain that this step has taken."""
        return self.hops[max(0, len(self.hops) - self.chained) :]

    @property
    def has_moved(self) -> bool:
        return self.instance.version != self.since

    @property
    def has_timed_out(self) -> bool:
        """Whether a deadline was applied. A submission in this step came too late."""
        return any(record.type in (TIMED_OUT, STATE_TIMED_OUT) for record in self.records)


def add_record(step: Step, record: AuditRecord) -> Step:
    return replace(step, records=(*step.records, record))
