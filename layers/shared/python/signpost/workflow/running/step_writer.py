"""Writes one step: claims it before an executor runs, settles it with the outcome, and continues with the next move.

The engine decides the step (`engine/engine.py`), and an execution runs its executors (`attempts.py`). This module fixes
the order in which both are written, so that a worker or request that crashes between two writes, or loses its claim to
another one, leaves an instance that can be continued.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from signpost.errors import Unavailable
from signpost.records import dataclass
from signpost.workflow.audit_events import executor_in_doubt
from signpost.workflow.deadlines import due_at
from signpost.workflow.definition import Definition
from signpost.workflow.engine.admission import build_busy_refusal, build_rejection_record
from signpost.workflow.engine.engine import Engine
from signpost.workflow.engine.steps import (
    CHILD_WORKFLOW_KIND,
    HARMLESS_KINDS,
    ExecutorFailure,
    ExecutorOutcome,
    ExecutorReport,
    PendingExecution,
    Refusal,
    Step,
    add_record,
)
from signpost.workflow.instance import (
    AuditEvent,
    AuditRecord,
    Claim,
    Instance,
    InstanceFault,
    InstanceWrite,
    WaitReason,
    has_ended,
)
from signpost.workflow.ports import Deferral
from signpost.workflow.retry_policy import retry_policy_of
from signpost.workflow.running.attempts import (
    Execution,
    ExecutionServices,
    LeaseLost,
    build_unknown_kind_failure,
    job_of,
)
from signpost.workflow.running.caused_wakes import build_wakes, has_end_to_report
from signpost.workflow.running.linked_writes import link_write, order_times
from signpost.workflow.running.resume import StepResumer
from signpost.workflow.running.summaries import build_summary
from signpost.workflow.running.task_endings import find_task_end
from signpost.workflow.step_questions import StepQuestions

if TYPE_CHECKING:
    from signpost.ports import Ids
    from signpost.workflow.ports import InstanceStore

MAX_HAND_OVERS = 100
"""After so many hand-overs to the queue the step fails, and a person should look at it."""
MAX_LOST_ATTEMPTS = 5
"""How often a step is executed again after its result was not received, where repetition is allowed."""
WRITE_RETRY_PAUSE = 0.2
"""Seconds after which a write that the store could not take is repeated."""


@dataclass(frozen=True, slots=True)
class StepContext:
    """The request or wake that advances an instance."""

    definition: Definition
    tenant: str
    correlation_id: str
    ends_at: float
    """When the caller has to have its answer."""
    is_awaited: bool = True
    """Whether a caller receives the outcome."""
    questions: StepQuestions | None = None
    """The answers that the function of the first step was given before the instance was started."""


@dataclass(frozen=True, slots=True)
class WrittenStep:
    step: Step
    is_kept: bool = True
    """Whether there is a stored instance; False for a start that failed before its first write."""


@dataclass(frozen=True, slots=True)
class StepWriter:
    """Claims, executes, settles and writes steps."""

    instances: "InstanceStore"
    services: ExecutionServices
    engine: Engine
    ids: "Ids"

    @property
    def resumer(self) -> StepResumer:
        return StepResumer(self.engine, self.services)

    def write_step(
        self, context: StepContext, step: Step, before: Instance | None, claim: Claim | None = None
    ) -> WrittenStep | None:
        """Execute and write a decided step, under `claim` if it takes one over. Return the step as it was written; None
        if another worker or request has changed the instance first."""
        try:
            return _StepRun(self, context, before).run(step, claim)
        except LeaseLost:
            return None

    def write_claim(self, context: StepContext, step: Step, before: Instance) -> Instance | None:
        """Write a step that only changes the claim. Return the instance as it was written; None if another worker or
        request has changed it first."""
        try:
            return _StepRun(self, context, before).write_claim(step)
        except LeaseLost:
            return None

    def extend_wait(self, context: StepContext, before: Instance, claim: Claim) -> None:
        """Record that the instance was checked and has to wait on: the next check is counted from now."""
        _StepRun(self, context, before).renew_claim(replace(claim, until=self.services.clock.now()))

    def clear_unreported_end(self, context: StepContext, before: Instance) -> None:
        """Record that no parent waits any more to hear of the end of the instance."""
        _StepRun(self, context, before).clear_unreported_end()


class _StepRun:
    """Writes the step of one call. Each write succeeds only if the stored instance is the one that was written last."""

    def __init__(self, writer: StepWriter, context: StepContext, before: Instance | None) -> None:
        self._writer = writer
        self._context = context
        self._clock = writer.services.clock
        self._last_written = before
        """The instance as it was written last; None if it was not written yet."""
        self._written_hops = self._written_evidence = self._written_records = 0
        """How many hops, evidence items and records of the step have been written."""
        self._executed_claim: Claim | None = None
        """The claim of the last execution."""
        self._outcome: ExecutorOutcome | ExecutorFailure | None = None
        """The outcome of the last execution."""

    def run(self, step: Step, claim: Claim | None) -> WrittenStep:
        while (pending := step.pending) is not None:
            outcome = self._find_immediate_outcome(pending, claim)
            if outcome is None:
                execution = self._begin_execution(step, pending, claim or self._build_claim(pending))
                if isinstance(execution, WrittenStep):
                    return execution
                outcome = execution.run(self.renew_claim)
                pending = _add_records(pending, execution.records)
                if isinstance(outcome, Deferral):
                    return self._put_off(pending.step, _build_waiting_claim(execution.claim, outcome))
                if isinstance(outcome, ExecutorFailure) and execution.claim.tainted:
                    outcome = replace(outcome, outcome="unknown")  # even if the last attempt is certain of its own
                self._executed_claim = execution.claim
            self._outcome = outcome
            step, claim = self._advance(pending, outcome), None
        return self._settle(step)

    def write_claim(self, step: Step) -> Instance | None:
        self._write(step, step.instance)
        return self._last_written

    def _find_immediate_outcome(
        self, pending: PendingExecution, claim: Claim | None
    ) -> ExecutorOutcome | ExecutorFailure | None:
        """Return the outcome of an executor that is not executed under a claim: it is harmless, no executor of its kind
        exists, or it was begun too often. None if it is to be executed."""
        if pending.executor.kind in HARMLESS_KINDS:
            return self._writer.services.perform_harmless(pending)
        candidates = retry_policy_of(pending.executor, pending.reliability).candidates
        if all(self._writer.services.find_claimed_executor(candidate.kind) is None for candidate in candidates):
            return build_unknown_kind_failure(pending.executor.kind)
        if claim is not None and (claim.lost > MAX_LOST_ATTEMPTS or claim.handed_over > MAX_HAND_OVERS):
            message = f"{pending.audit_name} was attempted repeatedly and never reported a result."
            return ExecutorFailure("timeout", message, "unknown" if claim.tainted or claim.lost else "none")
        return None

    def _advance(self, pending: PendingExecution, outcome: ExecutorOutcome | ExecutorFailure) -> Step:
        event, now = ExecutorReport(pending, outcome), self._clock.now()
        return self._writer.engine.advance(self._context.definition, pending.step.instance, event, now)

    def _build_claim(self, pending: PendingExecution) -> Claim:
        now, ids = self._clock.now(), self._writer.ids
        kinds = {candidate.kind for candidate in retry_policy_of(pending.executor, pending.reliability).candidates}
        child = f"wf_{ids.new()}" if CHILD_WORKFLOW_KIND in kinds else None
        questions = self._context.questions if self._last_written is None else None
        return Claim(ids.new(), "waiting", job_of(pending), since=now, until=now, child=child, questions=questions)

    def _begin_execution(self, step: Step, pending: PendingExecution, claim: Claim) -> Execution | WrittenStep:
        """Claim the execution for this call, with the lease that it needs. Return the written step instead if there is
        not enough time, or if another worker or request holds a claim."""
        execution = Execution(self._writer.services, pending, claim, self._context.ends_at)
        planned = execution.plan_lease()
        if planned is None:
            awaits: WaitReason = "chain" if claim.job.is_hop else "executor"
            waiting = replace(execution.claim, standing="waiting", until=self._clock.now(), awaits=awaits)
            return self._put_off(step, waiting)
        if self._last_written is None or step.instance.version != self._last_written.version:
            self._write(step, replace(step.instance, claim=planned))
        else:
            stored_claim = self._hold_claim(self._last_written, planned)
            if stored_claim is None:
                raise LeaseLost
            if stored_claim.token != planned.token:
                return self._refuse_as_busy(step, stored_claim, pending.audit_name)
        execution.claim = planned
        return execution

    def _refuse_as_busy(self, step: Step, claim: Claim, transition: str) -> WrittenStep:
        """Refuse the step because another worker or request has begun a move at this version."""
        instance, now = replace(step.instance, claim=claim), self._clock.now()
        refusal = build_busy_refusal(claim, instance.version, transition, now)
        refused = Step(
            instance,
            step.principal,
            now,
            records=(*step.records, build_rejection_record(refusal, instance)),
            refusal=refusal,
        )
        if self._context.is_awaited:
            self._writer.instances.note(self._context.tenant, instance.id, self._build_events(refused))
        return WrittenStep(replace(refused, since=instance.version))

    def renew_claim(self, claim: Claim) -> Claim | None:
        """Renew the claim under another token: a worker that was just about to take over the claim as it was before
        must not match the claim as it is now."""
        assert self._last_written is not None  # noqa: S101 - a claim is held on a stored instance
        renewed = replace(claim, token=self._writer.ids.new())
        stored_claim = self._hold_claim(self._last_written, renewed)
        return renewed if stored_claim is not None and stored_claim.token == renewed.token else None

    def clear_unreported_end(self) -> None:
        """Remove the mark of an unreported end. If another write comes first, this is left to the next check."""
        assert self._last_written is not None  # noqa: S101 - an instance that has ended is stored
        last = self._last_written
        write = InstanceWrite(replace(last, end_unreported_since=None), token=self._writer.ids.new())
        self._writer.instances.save(self._context.tenant, write, replacing=last.write_condition)

    def _hold_claim(self, last: Instance, claim: Claim) -> Claim | None:
        held = replace(last, claim=claim)
        due = due_at(self._context.definition, held)
        # The margin of the lease covers the delay of this write too: a lease written later would end too soon.
        until = min(self._context.ends_at, self._clock.now() + self._writer.services.lease_margin)
        stored_claim = self._write_with_retries(
            lambda: self._writer.instances.hold(
                self._context.tenant, last.id, claim, replacing=last.write_condition, due_at=due
            ),
            until,
        )
        if stored_claim is not None and stored_claim.token == claim.token:
            self._last_written = held
        return stored_claim

    def _put_off(self, step: Step, claim: Claim) -> WrittenStep:
        """Hand the step over to the queue: this call waits for it no longer."""
        is_counted = claim.awaits in ("executor", "chain")  # attempts and pauses are counted on their own
        claim = replace(claim, token=self._writer.ids.new(), handed_over=claim.handed_over + is_counted)
        instance = replace(step.instance, claim=claim)
        self._write(step, instance)
        return WrittenStep(replace(step, instance=instance, pending=None, at=self._clock.now()))

    def _settle(self, step: Step) -> WrittenStep:
        refusal, instance = step.refusal, self._attach_fault(step)
        if refusal is not None and refusal.in_doubt:
            doubtful = self._build_doubtful_claim(refusal)
            instance, step = (
                replace(instance, claim=doubtful),
                add_record(step, executor_in_doubt(doubtful.job.transition, doubtful.attempt)),
            )
        if (
            self._last_written is None
            and refusal is not None
            and not step.has_moved
            and refusal.code == "EXECUTOR_FAILED"
        ):
            return WrittenStep(step, is_kept=False)
        if self._has_changed(instance):
            self._write(step, instance)
        elif events := self._build_events(step):
            self._writer.instances.note(self._context.tenant, instance.id, events)
        return WrittenStep(replace(step, instance=instance))

    def _has_changed(self, instance: Instance) -> bool:
        """Return whether the instance differs from what was written last. Only a write changes its link."""
        last = self._last_written
        return last is None or (instance is not last and replace(instance, link=last.link) != last)

    def _build_doubtful_claim(self, refusal: Refusal) -> Claim:
        claim = self._executed_claim or (self._last_written.claim if self._last_written is not None else None)
        assert claim is not None  # noqa: S101 - an executor never runs without a claim
        token = self._writer.ids.new()
        return replace(claim, token=token, standing="in_doubt", awaits="executor", message=refusal.message)

    def _attach_fault(self, step: Step) -> Instance:
        """Return the instance with the fault of the step, if no caller hears of it that could react."""
        refusal, instance = step.refusal, step.instance
        is_reported = self._context.is_awaited and refusal is not None and refusal.code != "CHAIN_FAILED"
        if refusal is None or is_reported or refusal.in_doubt:
            return instance
        if refusal.code not in ("CHAIN_FAILED", "EXECUTOR_FAILED"):
            return instance
        now = self._clock.now()
        fault = InstanceFault(refusal.code, refusal.message, refusal.transition or "", refusal.error_class, now)
        return replace(instance, fault=fault)

    def _write(self, step: Step, instance: Instance) -> None:
        """Write the part of the step that was not written yet. Raises LeaseLost if another worker or request has
        changed the instance since the last write, so that this call may not write it any more."""
        last = self._last_written
        if last is not None and last.claim is not None and instance.claim is None and instance.version == last.version:
            instance = replace(instance, releases=last.releases + 1)
        definition = self._context.definition
        has_new_end = has_end_to_report(definition, last, instance)
        if has_new_end or not has_ended(definition, instance):
            instance = replace(instance, end_unreported_since=self._clock.now() if has_new_end else None)
        write = InstanceWrite(
            instance=instance,
            hops=step.hops[self._written_hops :],
            evidence=step.evidence[self._written_evidence :],
            events=self._build_events(step),
            closed_request_id=last.find_closed_request(instance) if last is not None else None,
            wakes=build_wakes(definition, last, instance, self._clock.now()),
            due_at=due_at(definition, instance),
            token=self._writer.ids.new(),
            summary=build_summary(definition, instance, self._clock.now()),
            task_end=find_task_end(instance, self._outcome, self._clock.now()),
        )
        write = link_write(self._context.tenant, last, write, self._clock.now())
        condition = last.write_condition if last is not None else None
        tenant, ends_at = self._context.tenant, self._context.ends_at
        if not self._write_with_retries(
            lambda: self._writer.instances.save(tenant, write, replacing=condition), ends_at
        ):
            raise LeaseLost
        self._written_hops, self._written_evidence = len(step.hops), len(step.evidence)
        self._written_records = len(step.records)
        self._last_written = write.instance

    def _write_with_retries[Written](self, write: Callable[[], Written], until: float) -> Written:
        """Write, and repeat while there is time and the store is unavailable: the record of an execution that may have
        happened must not be lost. The store recognises a repeated write by its token."""
        while True:
            try:
                return write()
            except Unavailable:
                if self._clock.now() + WRITE_RETRY_PAUSE >= until:
                    raise
            self._writer.services.pause(WRITE_RETRY_PAUSE)

    def _build_events(self, step: Step) -> Sequence[AuditEvent]:
        now, subject = self._clock.now(), step.principal.subject
        correlation = self._context.correlation_id
        unwritten = step.records[self._written_records :]
        newest = None if self._last_written is None else self._last_written.link
        times = order_times([record.at for record in unwritten], now, newest)
        return [AuditEvent(record, at, correlation, subject) for record, at in zip(unwritten, times, strict=True)]


def _add_records(pending: PendingExecution, records: Sequence[AuditRecord]) -> PendingExecution:
    return replace(pending, step=replace(pending.step, records=(*pending.step.records, *records)))


def _build_waiting_claim(claim: Claim, deferral: Deferral) -> Claim:
    return replace(
        claim,
        standing="waiting",
        until=deferral.until,
        awaits=deferral.awaits,
        gives_up_at=deferral.gives_up_at,
        lost=0,
        questions=deferral.questions or claim.questions,
    )
