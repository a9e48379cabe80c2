"""Advances a step through a workflow, move by move: submissions, the hops of a chain, the `onEnter` of a state and the
target of a deadline all take this one path."""

from collections.abc import Sequence
from dataclasses import replace

from signpost.model import JsonObject
from signpost.schema.validation import Validators
from signpost.workflow import audit_events
from signpost.workflow.deadlines import Deadline, start_state_timeout
from signpost.workflow.definition import Definition, ExecutorSpec, OnEnter, State, Transition
from signpost.workflow.engine.admission import admit, build_rejection_record
from signpost.workflow.engine.approvals import answer_request, approval_evidence_of, open_approval_request
from signpost.workflow.engine.size_limits import find_size_violation
from signpost.workflow.engine.steps import (
    HARMLESS_KINDS,
    HUMAN_KIND,
    NOOP_KIND,
    ON_ENTER,
    TIMEOUT_MOVE,
    ExecutorFailure,
    ExecutorOutcome,
    Move,
    PendingExecution,
    Refusal,
    Resumption,
    Step,
    Submission,
    add_record,
)
from signpost.workflow.guards import passes
from signpost.workflow.instance import ApprovalRequest, AuditRecord, Hop, Instance, add_evidence
from signpost.workflow.values import apply_mapping


class Walk:
    """Advances a step until an executor has to run, or until no hop follows by itself."""

    def __init__(self, definition: Definition, step: Step, now: float) -> None:
        self._definition = definition
        self._now = now
        self.step = step
        self._has_arrived = False
        """Whether a state was reached from which a hop may follow by itself."""

    def run_to_end(self) -> Step:
        while self._has_arrived:
            self._has_arrived = False
            self._follow_chain()
        return self.step

    @property
    def _state(self) -> State:
        return self._definition.states[self.step.instance.state]

    def enter_initial_state(self) -> None:
        """Enter the initial state. This is no move, so the version stays the same."""
        on_enter = self._state.on_enter
        if on_enter is not None and on_enter.executor.kind not in HARMLESS_KINDS:
            self.step = replace(self.step, instance=replace(self.step.instance, entering=True))
            self._enter_owed()
        else:
            self._enter(Move("", {}, target=self._state.name, next_instance=self.step.instance))

    def time_out(self, deadline: Deadline) -> None:
        """Enter the target of a timeout. That of the workflow happens once: the moves after it have all the time that
        they need. That of a state happens at each stay in the state."""
        instance = self.step.instance
        after = instance if deadline.is_of_state else replace(instance, ends_at=None)
        self._enter(Move(TIMEOUT_MOVE, {}, target=deadline.target, next_instance=after, has_acted=True))

    def submit(self, submission: Submission, validators: Validators) -> None:
        instance = self.step.instance
        self._record(
            audit_events.transition_requested(submission.transition, submission.expected_version, instance.state)
        )
        admission = admit(self._definition, instance, submission, validators, self._now)
        self.step = replace(self.step, records=(*self.step.records, *admission.records))
        match admission.found:
            case Refusal() as refusal:
                self._refuse(refusal)
            case None:
                self._enter_owed()
            case transition:
                self._record_decision(transition)
                self._take(transition, self._build_move(transition, admission.arguments))

    def _record_decision(self, transition: Transition) -> None:
        """Record the answer of a person to the open approval request."""
        request = self.step.instance.open_request
        if transition.actor == "human" and transition.decision is not None and request is not None:
            self._record(audit_events.approval_resolved(request.id, transition.decision))

    def _build_move(self, transition: Transition, arguments: JsonObject) -> Move:
        gathered = approval_evidence_of(transition, self.step.instance, self.step.principal.person)
        return Move(transition.name, arguments, gathered=gathered)

    def resume(self, resumption: Resumption) -> None:
        job = resumption.job
        if resumption.is_taken_over:
            self._record(audit_events.executor_taken_over(job.transition))
        if self.step.instance.entering:
            self._enter_owed(is_hop=job.is_hop)
            return
        transition = self._state.transitions[job.transition]
        self._take(transition, replace(self._build_move(transition, job.arguments), is_hop=job.is_hop))

    def continue_after(self, pending: PendingExecution, outcome: ExecutorOutcome | ExecutorFailure) -> None:
        if isinstance(outcome, ExecutorFailure):
            self._fail(pending.move, outcome)
        elif pending.move.next_instance is None:
            has_acted = pending.executor.kind not in HARMLESS_KINDS
            self._settle(replace(pending.move, has_acted=has_acted), outcome)
        else:
            self._complete_entry(pending.move, pending.move.next_instance, outcome)

    def _take(self, transition: Transition, move: Move) -> None:
        if transition.executor is None:
            self._settle(move, ExecutorOutcome({}))
        else:
            self._run(transition.executor, transition.reliability, move)

    def _run(self, executor: ExecutorSpec, reliability: JsonObject, move: Move) -> None:
        if executor.kind != NOOP_KIND:
            arguments: JsonObject = {} if move.next_instance else move.arguments
            self.step = replace(self.step, pending=PendingExecution(executor, reliability, arguments, move, self.step))
            return
        name = ON_ENTER if move.next_instance else move.transition
        execution = audit_events.ExecutionFields(name, 0, 1, executor.kind)
        self._record(audit_events.executor_started(execution))
        self._record(audit_events.executor_succeeded(execution))
        self.continue_after(PendingExecution(executor, reliability, {}, move, self.step), ExecutorOutcome({}))

    def _settle(self, move: Move, outcome: ExecutorOutcome) -> None:
        """Apply the outcome of the executor to the context and the evidence, and choose the target by them."""
        before, transition = self.step.instance, self._state.transitions[move.transition]
        sources = before.value_sources(move.arguments, outcome.output)
        gathered = (*move.gathered, *outcome.evidence)
        kept = apply_mapping(transition.output, sources, nested=transition.resolves_nested)
        context: JsonObject = {**before.context, **kept}
        after = replace(
            before,
            context=context,
            evidence=add_evidence(before.evidence, gathered),
            request=answer_request(before, transition, move.gathered, context),
        )
        target = self._choose_target(transition, after, move.arguments)
        after = self._attach_request(after, outcome.request, target, move.transition)
        self._enter(replace(move, target=target, next_instance=after, gathered=gathered))

    def _attach_request(
        self, after: Instance, request: ApprovalRequest | None, target: str, transition_name: str
    ) -> Instance:
        """Return the instance with the approval request, if the executor made one."""
        if request is None:
            return after
        self._record(audit_events.approval_requested(request.queue, request.id, transition_name))
        if self.step.has_timed_out:
            # The caller that noticed the deadline has not asked for this approval.
            starter = after.starter_owner or after.started_by
            asker = after.request.asked_by if after.request is not None else starter
            request = replace(request, asked_by=asker)
        return replace(after, request=open_approval_request(request, target, after))

    def _choose_target(self, transition: Transition, after: Instance, arguments: JsonObject) -> str:
        guard_input = after.guard_input(self.step.principal, arguments)
        for index, branch in enumerate(transition.branches):
            if passes(branch.when, guard_input):
                self._record(audit_events.transition_branched(index, self._state.name, branch.target))
                return branch.target
        return transition.target

    def _enter(self, move: Move) -> None:
        after = move.next_instance or self.step.instance
        on_enter = self._definition.states[str(move.target)].on_enter
        if on_enter is None or (
            on_enter.executor.kind == HUMAN_KIND and self._is_still_asking(after, str(move.target))
        ):
            self._arrive(move, replace(after, entering=False))
        elif self._is_entry_owed(move, on_enter, after):
            self._arrive(move, replace(after, entering=True))
        elif self._may_enter(on_enter, after, move):
            self._run(on_enter.executor, on_enter.reliability, move)
        else:
            message = f"A guard of the onEnter of {move.target} did not pass."
            self._fail(move, ExecutorFailure("permanent_error", message))

    def _is_entry_owed(self, move: Move, on_enter: OnEnter, after: Instance) -> bool:
        """Return whether the move is kept before its entry is done: its execution cannot be taken back."""
        return move.has_acted and (
            on_enter.executor.kind not in HARMLESS_KINDS or not self._may_enter(on_enter, after, move)
        )

    def _enter_owed(self, *, is_hop: bool = False) -> None:
        """Do the owed `onEnter` of the current state. For a hop as well: then a failure breaks the chain."""
        instance = self.step.instance
        self._enter(Move(ON_ENTER, {}, is_hop=is_hop, target=instance.state, next_instance=instance, is_owed=True))

    def _may_enter(self, on_enter: OnEnter, after: Instance, move: Move) -> bool:
        guard_input = after.guard_input(self.step.principal, move.arguments)
        return all(passes(guard, guard_input) for guard in on_enter.guards)

    def _complete_entry(self, move: Move, before: Instance, outcome: ExecutorOutcome) -> None:
        entered = str(move.target)
        on_enter = self._definition.states[entered].on_enter
        sources = before.value_sources({}, outcome.output)
        kept: JsonObject = {}
        if on_enter is not None:
            kept = apply_mapping(on_enter.output, sources, nested=on_enter.resolves_nested)
        after = replace(
            before,
            context={**before.context, **kept},
            evidence=add_evidence(before.evidence, outcome.evidence),
        )
        after = self._attach_request(replace(after, entering=False), outcome.request, entered, ON_ENTER)
        has_acted = on_enter is not None and on_enter.executor.kind not in HARMLESS_KINDS
        self._arrive(replace(move, gathered=(*move.gathered, *outcome.evidence), has_acted=has_acted), after)

    def _is_still_asking(self, after: Instance, entered: str) -> bool:
        """Return whether the same request is open already: an approval that stays in a state enters it again."""
        request = after.request
        return (
            request is not None
            and request.state == entered == self.step.instance.state
            and request.is_about(after.context)
            and not request.has_expired(self._now)
        )

    def _arrive(self, move: Move, after: Instance) -> None:
        if (message := find_size_violation(move, after)) is not None:
            self._fail(move, ExecutorFailure("permanent_error", message, "unknown" if move.has_acted else "none"))
            return
        self.step = replace(self.step, evidence=(*self.step.evidence, *move.gathered))
        if move.is_owed:
            self._record_entry(after)
        elif move.transition:
            self._move(move, after)
        else:
            self.step = replace(self.step, instance=after)
        if after.entering:
            self._enter_owed(is_hop=move.is_hop)
            return
        if self._state.terminal:
            self._record(audit_events.workflow_completed(self._state.name))
        self._has_arrived = True

    def _record_entry(self, after: Instance) -> None:
        arrived = replace(after, version=after.version + 1, fault=None)
        self.step = replace(self.step, instance=arrived)
        self._record(audit_events.workflow_entered(arrived.state, arrived.version))

    def _move(self, move: Move, after: Instance) -> None:
        target = str(move.target)
        ends_at = start_state_timeout(self._definition, target, self._now)
        arrived = replace(after, state=target, version=after.version + 1, fault=None, state_ends_at=ends_at)
        hop = Hop(after.state, move.transition, target, arrived.version)
        chained = self.step.chained + 1 if move.is_hop else 0
        self.step = replace(self.step, instance=arrived, hops=(*self.step.hops, hop), chained=chained)
        if move.is_hop:
            self._record(audit_events.chain_step(hop.transition, hop.from_state, chained))
        depth = chained if move.is_hop else None
        self._record(audit_events.workflow_transitioned(hop.transition, target, arrived.version, depth))

    def _follow_chain(self) -> None:
        """Take the next hop of the chain, as long as exactly one transition may follow by itself."""
        is_closed = self.step.instance.cancelled is not None
        if is_closed or not self._state.runs_by_itself or self.step.chained >= self._definition.most_hops:
            self._end_chain()
            return
        guard_input = self.step.instance.guard_input(self.step.principal, {})
        ready = [
            transition
            for transition in self._state.transitions.values()
            if all(passes(guard, guard_input) for guard in transition.guards)
        ]
        if len(ready) == 1:
            self._take(ready[0], Move(ready[0].name, {}, is_hop=True))
            return
        message = _describe_selection(self._state, ready)
        self._break_chain(Refusal("CHAIN_FAILED", message, error_class="selection_error"))

    def _end_chain(self) -> None:
        if self.step.chained:
            self._record(audit_events.chain_completed(self.step.chained, self._state.name))

    def _break_chain(self, refusal: Refusal) -> None:
        self._record(
            audit_events.chain_failed(
                refusal.transition, self._state.name, self.step.chained, refusal.error_class, refusal.message
            )
        )
        self.step = replace(self.step, refusal=refusal)

    def _fail(self, move: Move, failure: ExecutorFailure) -> None:
        """Refuse the failed move, or break the chain if it is a hop. The instance stays as it was before the move."""
        refusal = Refusal(
            "EXECUTOR_FAILED",
            failure.message,
            move.transition or None,
            failure.error_class,
            failure.retry_after_ms,
            in_doubt=failure.outcome == "unknown",
        )
        if move.is_hop:
            self._break_chain(replace(refusal, code="CHAIN_FAILED"))
        else:
            self._refuse(refusal)

    def _refuse(self, refusal: Refusal) -> None:
        records = (*self.step.records, build_rejection_record(refusal, self.step.instance))
        self.step = replace(self.step, records=records, refusal=refusal)

    def _record(self, record: AuditRecord) -> None:
        self.step = add_record(self.step, replace(record, at=self._now))


def _describe_selection(state: State, ready: Sequence[Transition]) -> str:
    """Describe why the engine takes none of the automatic transitions of a state: several are possible, or none is."""
    listed = ", ".join(transition.name for transition in ready or state.transitions.values())
    if ready:
        problem = f"The choice is ambiguous: {len(ready)} automatic transitions of the state {state.name} are possible"
    else:
        problem = f"No automatic transition of the state {state.name} is possible, since the guards of each reject it"
    return f"{problem} ({listed}). The engine continues only if exactly one is."
