"""Executes one step by its executor and the fallbacks, each as often and for as long as its author allows."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from signpost.errors import Unavailable
from signpost.model import JsonObject, as_object
from signpost.records import dataclass
from signpost.workflow import audit_events
from signpost.workflow.audit_events import ExecutionFields
from signpost.workflow.definition import ExecutorSpec
from signpost.workflow.engine.steps import (
    CHILD_WORKFLOW_KIND,
    HARMLESS_KINDS,
    NOOP_KIND,
    ExecutorFailure,
    ExecutorOutcome,
    PendingExecution,
)
from signpost.workflow.instance import AuditRecord, Claim, Instance, Job, child_id_of
from signpost.workflow.ports import Deferral, StepAttempt
from signpost.workflow.retry_policy import AttemptPosition, NextAttempt, retry_policy_of
from signpost.workflow.values import apply_mapping

if TYPE_CHECKING:
    from signpost.ports import Clock
    from signpost.workflow.ports import Pause, StepExecutor, StepOutcome, StepRights

SETTLE_SECONDS = 1.5
"""Seconds that are reserved for receiving the outcome and writing it."""
SHORTEST_ATTEMPT = 3.0
"""Seconds that must be left to begin an attempt of an executor without a timeout."""
SHORTEST_HOP_ATTEMPT = 15.0
LONGEST_LOCAL_PAUSE = 20.0
"""Seconds. A longer pause between two attempts is spent in the queue: the executing worker has other work to do."""
LONGEST_ATTEMPT = 800.0
"""Seconds that an attempt may take: the time that the worker has."""
CHILD_LEASE = 30.0
"""Seconds of the lease of a step that runs a child workflow. It may be short: a second worker that checks the same
child does nothing twice."""
PRIMARY = 0
ACCESS_LOST = "access_lost"
"""The error class of a step whose principal has lost the right to it."""
RIGHTS_PAUSE = 10.0
"""Seconds after which an attempt is tried again if the rights of its principal cannot be read now."""


type Renew = Callable[[Claim], Claim | None]
"""Renews the lease of a claim: returns the claim as it is held then, or None if another worker or request owns it."""


class LeaseLost(Exception):  # noqa: N818 - it names what happened
    """Another worker or request owns the claim of the step that is being executed."""


@dataclass(frozen=True, slots=True)
class ExecutionServices:
    """The services that every execution needs."""

    step_executors: Mapping[str, "StepExecutor"]
    """The step executors by kind."""
    clock: "Clock"
    pause: "Pause"
    lease_margin: float
    """Seconds of a lease beyond the time that an attempt may take."""
    rights: "StepRights"

    def find_claimed_executor(self, kind: str) -> "StepExecutor | None":
        """Find the step executor of a kind that is executed under a claim; None if there is none."""
        return None if kind in HARMLESS_KINDS else self.step_executors.get(kind)

    def perform_harmless(self, pending: PendingExecution) -> ExecutorOutcome | ExecutorFailure:
        """Perform an executor that does nothing outside of the instance: once, without a lease and without a trace in
        the audit."""
        now = self.clock.now()
        attempt = StepAttempt(
            executor=pending.executor,
            arguments=pending.arguments,
            instance=pending.step.instance,
            principal=pending.step.principal,
            claim=Claim("", "waiting", job_of(pending), since=now, until=now),
            ends_at=now,
        )
        # No executor of such a kind defers: nothing outside of the instance could end its wait.
        return cast("ExecutorOutcome | ExecutorFailure", self.step_executors[pending.executor.kind].perform(attempt))


@dataclass(frozen=True, slots=True)
class _Limits:
    seconds: float | None
    """The seconds that an attempt may take; None for all the time that is left."""
    linger_seconds: float
    """The seconds for which it may at most continue when no caller waits for it any more."""


class Execution:
    def __init__(self, services: ExecutionServices, pending: PendingExecution, claim: Claim, ends_at: float) -> None:
        self._services = services
        self._pending = pending
        self._policy = retry_policy_of(pending.executor, pending.reliability)
        self._ends_at = ends_at
        self._limits_by_candidate: dict[int, _Limits] = {}
        self.claim = claim
        self._awaited_child = child_id_of(claim) if claim.awaits == "workflow" else None
        if claim.standing == "running" and self._executor.kind != CHILD_WORKFLOW_KIND:
            self.claim = replace(claim, tainted=True)  # its holder was executing it and never reported
        self.records: list[AuditRecord] = []

    def plan_lease(self, begins_at: float | None = None) -> Claim | None:
        """Return the claim with the lease that the next attempt needs if it begins at `begins_at` (now if None); None
        if there is not enough time for the attempt."""
        now = self._services.clock.now() if begins_at is None else begins_at
        left, needed = self._ends_at - now - SETTLE_SECONDS, self._limits.seconds
        if left < (self._shortest_seconds if needed is None else needed):
            return None
        seconds = left if needed is None else needed
        is_child = self._executor.kind == CHILD_WORKFLOW_KIND
        if is_child:
            seconds = min(seconds, CHILD_LEASE)
        may_repeat = self._policy.may_repeat(self.claim.candidate)
        # The attempt may begin at the last moment and then linger, and all of that time is under the lease. A short
        # attempt must not bring the end of the lease before the end of an earlier attempt that may still be running.
        lease = max(self.claim.latest_end_at, now + seconds + self._limits.linger_seconds + self._services.lease_margin)
        running = replace(self.claim, standing="running", awaits="executor", until=lease)
        return replace(running, repeatable=may_repeat, resumable=may_repeat or is_child)

    def run(self, renew: Renew) -> "StepOutcome":
        """Run attempts until one of them gives the outcome of the step. The claim is held with the lease of the first
        attempt, and is renewed before each further one. Raises LeaseLost if it cannot be renewed."""
        while True:
            outcome = self._run_candidate(renew)
            next_attempt = self._find_next_attempt(outcome)
            if next_attempt is None or not isinstance(outcome, ExecutorFailure):
                return outcome
            if next_attempt.position.candidate == self.claim.candidate:  # the candidate was not attempted
                deferral = self._pause_before_next(next_attempt, renew)
            else:
                deferral = self._fall_back(next_attempt, outcome, renew)
            if deferral is not None:
                return deferral

    @property
    def _executor(self) -> ExecutorSpec:
        return self._policy.candidates[self.claim.candidate]

    def _run_candidate(self, renew: Renew) -> "StepOutcome":
        if (refused := self._refuse_lost_rights()) is not None:
            return refused
        if self._executor.kind == NOOP_KIND:
            return ExecutorOutcome({})  # a fallback that cannot fail
        step_executor = self._services.find_claimed_executor(self._executor.kind)
        if step_executor is None:
            return build_unknown_kind_failure(self._executor.kind)
        return step_executor.run_attempts(self._build_attempt(), lambda: self._run_attempts(step_executor, renew))

    def _fall_back(self, next_attempt: NextAttempt, failure: ExecutorFailure, renew: Renew) -> Deferral | None:
        now = self._services.clock.now()
        self.claim = self._claim_for_next(next_attempt, now)
        self._record(audit_events.fallback_selected(self._execution_fields, failure.message))
        return self._renew_lease(renew, now)

    def _run_attempts(self, step_executor: "StepExecutor", renew: Renew) -> "StepOutcome":
        """Run the attempts of one candidate."""
        while True:
            outcome = self._run_attempt(step_executor)
            next_attempt = self._find_next_attempt(outcome)
            if next_attempt is None or next_attempt.position.candidate != self.claim.candidate:
                return outcome
            if (deferral := self._pause_before_next(next_attempt, renew)) is not None:
                return deferral
            if (refused := self._refuse_lost_rights()) is not None:
                return refused

    def _refuse_lost_rights(self) -> "StepOutcome | None":
        """Return the failure of an attempt to which the principal has no right any more, or a deferral if its rights
        cannot be read; None if the attempt may be made. To look at a child workflow, it needs no right."""
        if self._awaited_child is not None and self._awaited_child == child_id_of(self.claim):
            return None
        job = self.claim.job
        try:
            loss = self._services.rights.find_loss(job.principal, self._pending.step.instance, job.transition)
        except Unavailable:
            return Deferral(self._services.clock.now() + RIGHTS_PAUSE, "retry")
        if loss is None:
            return None
        self._record(
            audit_events.executor_failed(self._execution_fields, 0, ACCESS_LOST, "none", loss, is_retried=False)
        )
        return ExecutorFailure(ACCESS_LOST, loss, counts=False)

    def _run_attempt(self, step_executor: "StepExecutor") -> "StepOutcome":
        attempt = self._build_attempt()
        self._record(audit_events.executor_started(self._execution_fields, attempt.idempotency_key))
        began = self._services.clock.now()
        outcome = step_executor.perform(attempt)
        elapsed = round((self._services.clock.now() - began) * 1000)
        if isinstance(outcome, ExecutorFailure):
            next_attempt = self._find_next_attempt(outcome)
            is_retried = next_attempt is not None and next_attempt.position.candidate == self.claim.candidate
            self._record(
                audit_events.executor_failed(
                    self._execution_fields,
                    elapsed,
                    outcome.error_class,
                    outcome.outcome,
                    outcome.message,
                    is_retried=is_retried,
                )
            )
            if outcome.outcome == "unknown":
                self.claim = self._taint(outcome)
        elif not isinstance(outcome, Deferral):
            self._record(audit_events.executor_succeeded(self._execution_fields, elapsed))
        elif (asked := outcome.questions) is not None:
            self._record(audit_events.executor_asked(self._execution_fields, asked.round, len(asked.requests)))
        return outcome

    def _taint(self, failure: ExecutorFailure) -> Claim:
        """Return the claim after an attempt with an unknown result. If the attempt may still be running, the claim is
        busy until the latest end of it."""
        repeatable = self._policy.may_repeat(self.claim.candidate, failure.error_class)
        tainted = replace(self.claim, tainted=True, repeatable=repeatable)
        if failure.has_ended:
            return replace(tainted, until=self._services.clock.now())
        return replace(tainted, busy_until=self.claim.latest_end_at)

    def _find_next_attempt(self, outcome: "StepOutcome") -> NextAttempt | None:
        if not isinstance(outcome, ExecutorFailure) or outcome.error_class == ACCESS_LOST:
            return None
        return self._policy.find_next_attempt(AttemptPosition(self.claim.candidate, self.claim.attempt), outcome)

    def _claim_for_next(self, next_attempt: NextAttempt, begins_at: float) -> Claim:
        candidate = next_attempt.position.candidate
        return replace(
            self.claim,
            candidate=candidate,
            attempt=next_attempt.position.attempt,
            since=begins_at,
            questions=self.claim.questions if candidate == self.claim.candidate else None,
        )

    def _pause_before_next(self, next_attempt: NextAttempt, renew: Renew) -> Deferral | None:
        """Pause before another attempt of the same candidate. The renewed lease covers the pause. Return None once the
        attempt may be made, or a deferral if the pause has to be spent in the queue."""
        resumes_at = self._services.clock.now() + next_attempt.pause
        self.claim = self._claim_for_next(next_attempt, resumes_at)
        if next_attempt.pause > LONGEST_LOCAL_PAUSE:
            return Deferral(resumes_at, "retry")
        deferral = self._renew_lease(renew, resumes_at)
        if deferral is None and next_attempt.pause:
            self._services.pause(next_attempt.pause)
        return deferral

    def _renew_lease(self, renew: Renew, begins_at: float) -> Deferral | None:
        """Renew the lease for the next attempt; return a deferral if there is no time for it, or if its timeout cannot
        be read now: the record of the attempts made so far must not be lost because of that."""
        try:
            planned = self.plan_lease(begins_at)
        except Unavailable:
            planned = None
        if planned is None:
            return Deferral(begins_at, "retry")
        held = renew(planned)
        if held is None:
            raise LeaseLost
        self.claim = held
        return None

    @property
    def _shortest_seconds(self) -> float:
        """The seconds that must be left to begin. A hop needs more: a worker, which has more time, can continue it."""
        may_be_continued_by_worker = self.claim.job.is_hop and self._executor.kind != CHILD_WORKFLOW_KIND
        return SHORTEST_HOP_ATTEMPT if may_be_continued_by_worker else SHORTEST_ATTEMPT

    @property
    def _limits(self) -> "_Limits":
        """The limits of the candidate. They are read once, so that nothing has to be read while it executes."""
        candidate = self.claim.candidate
        if candidate not in self._limits_by_candidate:
            self._limits_by_candidate[candidate] = self._read_limits()
        return self._limits_by_candidate[candidate]

    def _read_limits(self) -> "_Limits":
        step_executor, principal = self._services.find_claimed_executor(self._executor.kind), self.claim.job.principal
        if step_executor is None:
            return _Limits(0.0, 0.0)
        timeout = self._policy.timeout
        if timeout is None:
            timeout = step_executor.timeout_seconds(self._executor, principal)
        return _Limits(
            None if timeout is None else min(timeout, LONGEST_ATTEMPT),
            step_executor.linger_seconds(self._executor, principal),
        )

    def _build_attempt(self) -> StepAttempt:
        instance = self._pending.move.next_instance or self._pending.step.instance
        needed = self._limits.seconds
        latest = self._ends_at - SETTLE_SECONDS
        return StepAttempt(
            executor=self._executor,
            arguments=arguments_of(self._executor, self._pending.arguments, instance),
            instance=instance,
            principal=self.claim.job.principal,
            claim=self.claim,
            ends_at=latest if needed is None else min(self._services.clock.now() + needed, latest),
            idempotency_key=self._idempotency_key(),
            step=self._step_id,
            record_event=self._record,
        )

    @property
    def _step_id(self) -> str:
        instance = self._pending.step.instance
        return f"{instance.id}.{self._pending.audit_name}.{instance.version}"

    def _idempotency_key(self) -> str | None:
        """Return the key as the first candidate declares it. It is the same for all candidates, and for a worker that
        takes up the step again."""
        key = self._policy.candidates[PRIMARY].settings.get("idempotencyKey")
        if key is True:
            return self._step_id
        if not isinstance(key, str):
            return None
        instance = self._pending.step.instance
        parts = {"workflowId": instance.id, "transition": self._pending.audit_name, "version": str(instance.version)}
        for name, part in parts.items():
            key = key.replace(f"{{{name}}}", part)
        return key.replace("{correlationId}", parts["version"])

    @property
    def _execution_fields(self) -> ExecutionFields:
        claim = self.claim
        return ExecutionFields(self._pending.audit_name, claim.candidate, claim.attempt, self._executor.kind)

    def _record(self, record: AuditRecord) -> None:
        self.records.append(replace(record, at=self._services.clock.now()))


def job_of(pending: PendingExecution) -> Job:
    move = pending.move
    return Job(
        transition=move.transition,
        arguments=move.arguments,
        principal=pending.step.principal,
        is_hop=move.is_hop,
        chained=pending.step.chained,
    )


def build_unknown_kind_failure(kind: str) -> ExecutorFailure:
    return ExecutorFailure("permanent_error", f"This deployment has no executor of the kind {kind!r}.")


def arguments_of(executor: ExecutorSpec, arguments: JsonObject, instance: Instance) -> JsonObject:
    """Return the arguments that the executor maps; without a mapping, those of the transition."""
    mapping = executor.settings.get("arguments")
    if mapping is None:
        return arguments
    return apply_mapping(as_object(mapping), instance.value_sources(arguments), nested=executor.resolves_nested)
