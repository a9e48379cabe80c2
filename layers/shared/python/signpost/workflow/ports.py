"""The ports of workflows: stores, definitions, executors, queue and waker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from signpost.model import JsonObject, Principal
from signpost.records import dataclass
from signpost.workflow.definition import Definition, ExecutorSpec
from signpost.workflow.engine.steps import ExecutorFailure, ExecutorOutcome
from signpost.workflow.instance import (
    AuditEvent,
    AuditRecord,
    Claim,
    Instance,
    InstanceWrite,
    OpenApproval,
    StoredTask,
    WaitReason,
    WriteCondition,
)
from signpost.workflow.run_summary import RunSummary
from signpost.workflow.task_ends import TaskEnd

if TYPE_CHECKING:
    from collections.abc import Mapping

    from signpost.content.deliveries import Delivery
    from signpost.workflow.schedules import Schedule
    from signpost.workflow.step_questions import StepQuestions
    from signpost.workflow.timetable import Timetable
    from signpost.workflow.wakes import QueuedWake, WakeMessage


class InstanceStore(Protocol):
    def load(self, tenant: str, workflow_id: str, may_see: Callable[[Instance], bool] | None = None) -> Instance | None:
        """Return the instance, or None if there is none. Like all methods here it raises Unavailable if the store
        cannot answer now.

        `may_see` judges the head: the instance without context, input and claim. If it is false, there is no instance,
        and no more is read than for an id that does not exist."""
        ...

    def save(self, tenant: str, entry: InstanceWrite, *, replacing: WriteCondition | None) -> bool:
        """Save all of the entry or nothing; return False unless the stored instance still meets `replacing`, which is
        None for an instance that is not stored yet. A caller that repeats an entry because it did not hear the first
        result gets True if that entry was saved."""
        ...

    def hold(
        self, tenant: str, workflow_id: str, claim: Claim, *, replacing: WriteCondition, due_at: float | None
    ) -> Claim | None:
        """Store the claim if the instance still meets `replacing`. Return the claim that the instance has afterwards:
        this one if it was stored, else the claim of another owner, or None if the instance is at another version."""
        ...

    def note(self, tenant: str, workflow_id: str, events: Sequence[AuditEvent]) -> None:
        """Add events to the audit without changing the instance."""
        ...

    def find_task(self, tenant: str, workflow_id: str, may_see: Callable[[Instance], bool]) -> StoredTask | None:
        """Return the same instance as `load`, with the end of its task."""
        ...

    def end_task(self, tenant: str, workflow_id: str, end: TaskEnd) -> TaskEnd:
        """Keep the end of a task, unless one was kept before. Return the end that is kept."""
        ...


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run in a list of runs."""

    position: str
    """Its place in the list, which never changes: the time of its start, and its id."""
    summary: RunSummary


@dataclass(frozen=True, slots=True)
class ListedRequest:
    """An open approval request in the list of a tenant."""

    position: str
    approval: OpenApproval
    summary: RunSummary | None
    """The summary of its run; None if an earlier release wrote the row."""


@dataclass(frozen=True, slots=True)
class ListPage[Entry]:
    entries: Sequence[Entry]
    is_last: bool
    """Whether the list ends with this page."""


class RunLists(Protocol):
    """Lists the runs and the open approval requests of a tenant, newest first, by one query a page."""

    def list_runs(self, tenant: str, starter: str | None, *, after: str, most: int) -> ListPage[ListedRun]:
        """Return at most `most` runs behind a position, or from the newest on if it is empty. `starter` is the starter
        key of a principal; None for the runs of all."""
        ...

    def list_requests(self, tenant: str, *, after: str, most: int) -> ListPage[ListedRequest]: ...

    def find_request(self, tenant: str, request_id: str) -> ListedRequest | None: ...


@dataclass(frozen=True, slots=True)
class PublishedDefinition:
    """A definition and its digest, under which instances find it."""

    definition: Definition
    digest: str


class DefinitionSource(Protocol):
    def find_current(self, tenant: str, definition_id: str) -> PublishedDefinition | None:
        """Return the definition that a start uses now; None if none may be started."""
        ...

    def load_pinned(self, tenant: str, definition_id: str, digest: str) -> Definition: ...

    def list_ids(self, tenant: str) -> Sequence[str]:
        """Return the ids of the definitions that may be started."""
        ...

    def find_offered(
        self, principal: Principal, definition_id: str, capability: str | None = None
    ) -> PublishedDefinition | None:
        """Return the same as `find_current`, of the definitions that policy allows the principal. For a callable skill,
        of which `proxy_default` has no transition, return the definition that a start of it follows."""
        ...

    def find_explained(self, principal: Principal, definition_id: str, transition: str | None) -> Definition | None:
        """Return the same as `find_offered`, with the callable skills among the capabilities."""
        ...

    def list_capability_ids(self, principal: Principal) -> Sequence[str]:
        """Return the names that the principal may start as capabilities, callable skills included."""
        ...

    def list_offered_ids(self, principal: Principal) -> Sequence[str]: ...

    def remove_denied_capabilities(
        self, principal: Principal, published: PublishedDefinition, kept: str | None
    ) -> Definition:
        """Return the definition without the capabilities that policy denies. The denied capability of a move that is
        under way (`kept`) stays and is marked as denied."""
        ...

    def may_find(self, principal: Principal, run: RunSummary) -> bool:
        """Return whether policy lets the principal find the workflow of a run, or the capability or function that it
        was started for."""
        ...


@dataclass(frozen=True, slots=True)
class StepAttempt:
    """One attempt of one executor, with all that the executor may use."""

    executor: ExecutorSpec
    arguments: JsonObject
    instance: Instance
    """The instance without the result of this attempt."""
    principal: Principal
    claim: Claim
    """The claim of the step. That of an executor without effect outside of the instance is never stored."""
    ends_at: float
    """When the caller that waits for it continues without it."""
    idempotency_key: str | None = None
    step: str = ""
    """The id of the step in its workflow, the same for all attempts."""
    record_event: Callable[[AuditRecord], None] = lambda _record: None
    """Adds a record to the audit."""


@dataclass(frozen=True, slots=True)
class Deferral:
    """The outcome of an attempt that is not over and that no caller has to wait for."""

    until: float
    awaits: WaitReason
    child: str | None = None
    gives_up_at: float | None = None
    questions: StepQuestions | None = None
    """The questions of the function; only for `answers`."""


type Pause = Callable[[float], None]
"""Sleeps for the seconds."""
type StepOutcome = ExecutorOutcome | ExecutorFailure | Deferral


class StepExecutor(Protocol):
    """Runs the executors of one kind. A subclass performs attempts; unless it overrides the rest, they have no timeout
    of their own and end with their caller."""

    def timeout_seconds(self, executor: ExecutorSpec, principal: Principal) -> float | None:
        """Return how long an attempt may take, if an author or operator has set it."""
        del executor, principal
        return None

    def linger_seconds(self, executor: ExecutorSpec, principal: Principal) -> float:
        """Return the seconds for which an attempt may at most continue after its caller has stopped waiting."""
        del executor, principal
        return 0.0

    def run_attempts(self, attempt: StepAttempt, run: Callable[[], StepOutcome]) -> StepOutcome:
        """Run all attempts of one executor in one step; or return a failure without any, if it is not to be called
        now."""
        del attempt
        return run()

    def perform(self, attempt: StepAttempt) -> StepOutcome: ...


class StepRights(Protocol):
    """Decides before each attempt whether the principal of a step still has the right to it."""

    def find_loss(self, principal: Principal, instance: Instance, transition: str) -> str | None:
        """Return a sentence that says which right the principal has lost; None if it has it still. Raises Unavailable
        if that cannot be read now."""
        ...


class PrincipalCheck(Protocol):
    def find_loss(self, principal: Principal) -> str | None:
        """Return a sentence that says why the principal is not accepted any more; None if it is, or if that cannot be
        looked up."""
        ...


class StepPolicy(Protocol):
    def allows(self, principal: Principal, instance: Instance, transition: str) -> bool:
        """Return whether the current rules allow the principal to begin the work that this transition goes on with."""
        ...


class WorkQueue(Protocol):
    """The queue of the instances that a worker is to look at."""

    def put(self, posted: QueuedWake) -> None: ...


class DueInstances(Protocol):
    """Finds the instances that are due, also those that no wake message names any more."""

    def find_due(self, now: float, most: int) -> Sequence[WakeMessage]:
        """Return at most `most` instances, those that have waited longest first."""
        ...


class InstanceWaker(Protocol):
    def wake(self, tenant: str, workflow_id: str, ends_at: float) -> None:
        """Load an instance and do the work that is due, which may be nothing. Ends by `ends_at`."""
        ...


class ScheduleSource(Protocol):
    def list_active(self, tenant: str) -> Mapping[str, Schedule]:
        """Return the schedules that may start workflows now, by id, as of the latest publication."""
        ...


class Timetables(Protocol):
    """The rows by which tenants with schedules are found when an occasion is due. A publication that changes schedules
    makes the row due at once, in its own transaction."""

    def load(self, tenant: str) -> Timetable | None:
        """Return the timetable; None if the tenant never had a schedule."""
        ...

    def save(self, tenant: str, timetable: Timetable, *, replacing: int) -> bool:
        """Save the timetable; False unless the stored one still has the revision `replacing`."""
        ...


class ScheduleWaker(Protocol):
    def start_due(self, tenant: str) -> None:
        """Start the workflows of the tenant's schedules that are due, each occasion once. Raises a fault after all
        other schedules were looked at."""
        ...


class EventStarter(Protocol):
    def start_for(self, delivery: Delivery) -> str | None:
        """Start the workflow of a trigger, once for each delivery. Return the code of the reason if it was not
        started."""
        ...
