"""The engine: computes the next step of an instance from its definition, its state, an event, and the time.

A transition, entry or deadline is a *move*, and all moves take one path (`moves.py`). If a move needs an executor, the
step ends with a pending execution; a report of the outcome continues it. Nothing here runs an executor.
"""

from dataclasses import replace

from signpost.model import JsonObject, Principal
from signpost.records import dataclass
from signpost.schema.validation import Validators
from signpost.workflow import audit_events
from signpost.workflow.deadlines import find_deadline, start_state_timeout
from signpost.workflow.definition import Definition
from signpost.workflow.engine.endings import apply_deadline, apply_expiries, cancel
from signpost.workflow.engine.moves import Walk
from signpost.workflow.engine.steps import (
    CancelRequest,
    ExecutorReport,
    InstanceEvent,
    Resumption,
    StatusCheck,
    Step,
    Submission,
    WakeUp,
)
from signpost.workflow.instance import FIRST_VERSION, Instance


@dataclass(frozen=True, slots=True)
class NewInstance:
    """The values that an instance begins with, beside its definition."""

    workflow_id: str
    digest: str
    """The digest of the definition."""
    input: JsonObject
    parent: str | None = None
    """The workflow that waits for it."""
    depth: int = 0
    is_task: bool = False
    """Whether a client follows it as a task."""


@dataclass(frozen=True, slots=True)
class Engine:
    """Starts and advances instances; `validators` check the arguments of submissions."""

    validators: Validators

    def start(self, definition: Definition, new_instance: NewInstance, principal: Principal, now: float) -> Step:
        """Start an instance. Its input satisfies the schema of the definition."""
        instance = Instance(
            id=new_instance.workflow_id,
            definition_id=definition.id,
            digest=new_instance.digest,
            state=definition.initial_state,
            version=FIRST_VERSION,
            context=definition.initial_context,
            input=new_instance.input,
            started_at=now,
            started_by=principal.subject,
            starter_issuer=principal.issuer,
            starter_owner=principal.owner,
            ends_at=now + definition.timeout_ms / 1000 if definition.timeout_ms and definition.timeout_target else None,
            parent=new_instance.parent,
            depth=new_instance.depth,
            readers=definition.written_readers,
            state_ends_at=start_state_timeout(definition, definition.initial_state, now),
            is_task=new_instance.is_task,
        )
        records = (audit_events.workflow_started(definition.id, instance.state, instance.version),)
        walk = Walk(definition, Step(instance, principal, now, records=records, since=FIRST_VERSION), now)
        walk.enter_initial_state()
        return walk.run_to_end()

    def submit_after_start(self, definition: Definition, step: Step, submission: Submission, now: float) -> Step:
        """Apply the submission that comes with a start, unless the start is pending or refused."""
        if step.pending is not None or step.refusal is not None:
            return step
        walk = Walk(definition, step, now)
        walk.submit(submission, self.validators)
        return walk.run_to_end()

    def advance(self, definition: Definition, instance: Instance, event: InstanceEvent, now: float) -> Step:
        match event:
            case ExecutorReport(pending, outcome):
                walk = Walk(definition, replace(pending.step, pending=None), now)
                walk.continue_after(pending, outcome)
            case Resumption(job):
                resumed_step = Step(replace(instance, claim=None), job.principal, now, since=instance.version)
                walk = Walk(definition, replace(resumed_step, chained=job.chained), now)
                walk.resume(event)
            case _:
                walk = Walk(definition, Step(instance, event.principal, now, since=instance.version), now)
                self._apply_event(walk, definition, event, now)
        return walk.run_to_end()

    def _apply_event(
        self, walk: Walk, definition: Definition, event: Submission | StatusCheck | CancelRequest | WakeUp, now: float
    ) -> None:
        """Apply the event. A deadline goes before any event but a cancellation, after which there is no deadline."""
        if isinstance(event, CancelRequest):
            walk.step = cancel(definition, walk.step, now)
        elif (deadline := find_deadline(definition, walk.step.instance)) is not None and now >= deadline.at:
            walk.step = apply_deadline(deadline, walk.step, now)
            walk.time_out(deadline)
        elif isinstance(event, Submission):
            walk.submit(event, self.validators)
        elif isinstance(event, WakeUp):
            walk.step = apply_expiries(walk.step, now)
