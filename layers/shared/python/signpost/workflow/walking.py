"""A step on its way through a workflow, move by move: what a caller submits, what follows by itself, what a state does
on being entered and what a deadline leads to all take this one path."""

from dataclasses import replace

from signpost.model import Json, JsonObject
from signpost.schema.validation import Validators
from signpost.workflow.admission import admitted, rejected
from signpost.workflow.asking import answered, approval, asked
from signpost.workflow.bounds import too_much
from signpost.workflow.definition import Definition, Executor, OnEnter, State, Transition
from signpost.workflow.guards import Situation, passes
from signpost.workflow.instance import Hop, Instance, Record, Request, with_evidence
from signpost.workflow.paths import Known
from signpost.workflow.steps import (
    BY_DEADLINE,
    HARMLESS,
    NOTHING_TO_RUN,
    ON_ENTER,
    PEOPLE,
    Doing,
    Failed,
    Move,
    Outcome,
    Refusal,
    Resumed,
    Step,
    Submitted,
    with_record,
)
from signpost.workflow.values import mapped


class Walk:
    """Carries a step forward until something has to be run or nothing follows by itself."""

    def __init__(self, definition: Definition, step: Step, now: float) -> None:
        self._definition = definition
        self._now = now
        self.step = step
        self._has_arrived = False
        """Where something may follow by itself."""

    def to_its_end(self) -> Step:
        while self._has_arrived:
            self._has_arrived = False
            self._follow()
        return self.step

    @property
    def _state(self) -> State:
        return self._definition.states[self.step.instance.state]

    def enter_first(self) -> None:
        """The initial state is entered without a move, and so without another version."""
        on_enter = self._state.on_enter
        if on_enter is not None and on_enter.executor.kind not in HARMLESS:
            self.step = replace(self.step, instance=replace(self.step.instance, entering=True))
            self._enter_owed()
        else:
            self._enter(Move("", {}, entering=self._state.name, carrying=self.step.instance))

    def time_out(self, target: str) -> None:
        """It has timed out once and for all: what comes after has all the time it needs."""
        after = replace(self.step.instance, ends_at=None)
        self._enter(Move(BY_DEADLINE, {}, entering=target, carrying=after, acted=True))

    def submit(self, submitted: Submitted, validators: Validators) -> None:
        instance = self.step.instance
        self._record(
            "transition.requested",
            transition=submitted.transition,
            expectedVersion=submitted.expected_version,
            fromState=instance.state,
        )
        admission = admitted(self._definition, instance, submitted, validators, self._now)
        self.step = replace(self.step, records=(*self.step.records, *admission.records))
        match admission.found:
            case Refusal() as refusal:
                self._refuse(refusal)
            case None:
                self._enter_owed()
            case transition:
                self._answer(transition)
                self._take(transition, self._by(transition, admission.arguments))

    def _answer(self, transition: Transition) -> None:
        """What a person says to what people were asked."""
        request = self.step.instance.waits_for
        if transition.actor == "human" and transition.decision is not None and request is not None:
            self._record("human.approval.resolved", approval_id=request.id, outcome=transition.decision)

    def _by(self, transition: Transition, arguments: JsonObject) -> Move:
        gathered = approval(transition, self.step.instance, self.step.principal.subject)
        return Move(transition.name, arguments, gathered=gathered)

    def resume(self, resumed: Resumed) -> None:
        job = resumed.job
        if resumed.is_taken_over:
            self._record("executor.taken_over", transition=job.transition)
        if self.step.instance.entering:
            self._enter_owed(is_hop=job.is_hop)
            return
        transition = self._state.transitions[job.transition]
        self._take(transition, replace(self._by(transition, job.arguments), is_hop=job.is_hop))

    def go_on(self, doing: Doing, outcome: Outcome | Failed) -> None:
        if isinstance(outcome, Failed):
            self._fail(doing.move, outcome)
        elif doing.move.carrying is None:
            acted = doing.executor.kind not in HARMLESS
            self._settle(replace(doing.move, acted=acted), outcome)
        else:
            self._has_entered(doing.move, doing.move.carrying, outcome)

    def _situation(self, instance: Instance, arguments: JsonObject) -> Situation:
        known = Known(context=instance.context, arguments=arguments, input=instance.input)
        return Situation(known, self.step.principal, instance.proven)

    def _take(self, transition: Transition, move: Move) -> None:
        if transition.executor is None:
            self._settle(move, Outcome({}))
        else:
            self._run(transition.executor, transition.reliability, move)

    def _run(self, executor: Executor, reliability: JsonObject, move: Move) -> None:
        if executor.kind != NOTHING_TO_RUN:
            arguments: JsonObject = {} if move.carrying else move.arguments
            self.step = replace(self.step, doing=Doing(executor, reliability, arguments, move, self.step))
            return
        name = ON_ENTER if move.carrying else move.transition
        about: JsonObject = {"transition": name, "candidate": 0, "attempt": 1, "kind": executor.kind}
        self._record("executor.started", **about)
        self._record("executor.succeeded", **about)
        self.go_on(Doing(executor, reliability, {}, move, self.step), Outcome({}))

    def _settle(self, move: Move, outcome: Outcome) -> None:
        """What the executor answered counts: in the context, as evidence, and for where it leads."""
        before, transition = self.step.instance, self._state.transitions[move.transition]
        known = Known(before.context, move.arguments, before.input, outcome.output)
        gathered = (*move.gathered, *outcome.evidence)
        after = replace(
            before,
            context={**before.context, **mapped(transition.output, known)},
            evidence=with_evidence(before.evidence, gathered),
            request=answered(before, transition, move.gathered),
        )
        target = self._branch(transition, after, move.arguments)
        after = self._asking(after, outcome.request, target, move.transition)
        self._enter(replace(move, entering=target, carrying=after, gathered=gathered))

    def _asking(self, after: Instance, request: Request | None, target: str, by: str) -> Instance:
        """With what people are asked, if they are."""
        if request is None:
            return after
        self._record("human.approval.requested", queue=request.queue, requestId=request.id, transition=by)
        if self.step.timed_out:
            # Whoever noticed the deadline has asked for nothing.
            asker = after.request.asked_by if after.request is not None else after.started_by
            request = replace(request, asked_by=asker)
        return replace(after, request=asked(request, target, after))

    def _branch(self, transition: Transition, after: Instance, arguments: JsonObject) -> str:
        situation = self._situation(after, arguments)
        for index, branch in enumerate(transition.branches):
            if passes(branch.when, situation):
                self._record(
                    "transition.branched", branchIndex=index, fromState=self._state.name, toState=branch.target
                )
                return branch.target
        return transition.target

    def _enter(self, move: Move) -> None:
        after = move.carrying or self.step.instance
        on_enter = self._definition.states[str(move.entering)].on_enter
        if on_enter is None or (on_enter.executor.kind == PEOPLE and self._still_asks(after, str(move.entering))):
            self._arrive(move, replace(after, entering=False))
        elif self._owes(move, on_enter, after):
            self._arrive(move, replace(after, entering=True))
        elif self._may_enter(on_enter, after, move):
            self._run(on_enter.executor, on_enter.reliability, move)
        else:
            message = f"A guard of what {move.entering} does on being entered did not pass."
            self._fail(move, Failed("permanent_error", message))

    def _owes(self, move: Move, on_enter: OnEnter, after: Instance) -> bool:
        """Whether the move stands before its entry does: what was executed for it cannot be taken back."""
        return move.acted and (on_enter.executor.kind not in HARMLESS or not self._may_enter(on_enter, after, move))

    def _enter_owed(self, *, is_hop: bool = False) -> None:
        """Also for what followed by itself: then it is the chain that fails."""
        instance = self.step.instance
        self._enter(Move(ON_ENTER, {}, is_hop=is_hop, entering=instance.state, carrying=instance, is_owed=True))

    def _may_enter(self, on_enter: OnEnter, after: Instance, move: Move) -> bool:
        situation = self._situation(after, move.arguments)
        return all(passes(guard, situation) for guard in on_enter.guards)

    def _has_entered(self, move: Move, before: Instance, outcome: Outcome) -> None:
        entered = str(move.entering)
        on_enter = self._definition.states[entered].on_enter
        known = Known(before.context, {}, before.input, outcome.output)
        after = replace(
            before,
            context={**before.context, **mapped(on_enter.output if on_enter else {}, known)},
            evidence=with_evidence(before.evidence, outcome.evidence),
        )
        after = self._asking(replace(after, entering=False), outcome.request, entered, ON_ENTER)
        acted = on_enter is not None and on_enter.executor.kind not in HARMLESS
        self._arrive(replace(move, gathered=(*move.gathered, *outcome.evidence), acted=acted), after)

    def _still_asks(self, after: Instance, entered: str) -> bool:
        """Whether people are being asked the same already: who approves and stays in a state enters it again."""
        open_one = after.request
        return (
            open_one is not None
            and open_one.state == entered == self.step.instance.state
            and open_one.is_about(after.context)
            and not open_one.has_expired(self._now)
        )

    def _arrive(self, move: Move, after: Instance) -> None:
        if (message := too_much(move, after)) is not None:
            self._fail(move, Failed("permanent_error", message, "unknown" if move.acted else "none"))
            return
        self.step = replace(self.step, evidence=(*self.step.evidence, *move.gathered))
        if move.is_owed:
            self._have_entered(after)
        elif move.transition:
            self._move(move, after)
        else:
            self.step = replace(self.step, instance=after)
        if after.entering:
            self._enter_owed(is_hop=move.is_hop)
            return
        if self._state.terminal:
            self._record("workflow.completed", state=self._state.name)
        self._has_arrived = True

    def _have_entered(self, after: Instance) -> None:
        arrived = replace(after, version=after.version + 1, fault=None)
        self.step = replace(self.step, instance=arrived)
        self._record("workflow.entered", state=arrived.state, version=arrived.version)

    def _move(self, move: Move, after: Instance) -> None:
        target = str(move.entering)
        arrived = replace(after, state=target, version=after.version + 1, fault=None)
        hop = Hop(after.state, move.transition, target, arrived.version)
        chained = self.step.chained + 1 if move.is_hop else 0
        self.step = replace(self.step, instance=arrived, hops=(*self.step.hops, hop), chained=chained)
        payload: dict[str, Json] = {"transition": hop.transition, "state": target, "version": arrived.version}
        if move.is_hop:
            payload |= {"deterministic": True, "chainDepth": chained}
            self._record("chain.step", transition=hop.transition, fromState=hop.from_state, chainDepth=chained)
        self._record("workflow.transitioned", **payload)

    def _follow(self) -> None:
        """What follows by itself, as long as there is one way on and only one."""
        is_closed = self.step.instance.cancelled is not None
        if is_closed or not self._state.runs_by_itself or self.step.chained >= self._definition.most_hops:
            self._end_chain()
            return
        situation = self._situation(self.step.instance, {})
        ready = [
            one for one in self._state.transitions.values() if all(passes(guard, situation) for guard in one.guards)
        ]
        if len(ready) == 1:
            self._take(ready[0], Move(ready[0].name, {}, is_hop=True))
            return
        names = ", ".join(one.name for one in ready) or "none"
        message = f"In the state {self._state.name} one transition has to follow by itself, but {names} may."
        self._break_chain(Refusal("CHAIN_FAILED", message, error_class="selection_error"))

    def _end_chain(self) -> None:
        if self.step.chained:
            self._record("chain.completed", steps=self.step.chained, finalState=self._state.name)

    def _break_chain(self, refusal: Refusal) -> None:
        self._record(
            "chain.failed",
            transition=refusal.transition,
            fromState=self._state.name,
            chainDepth=self.step.chained,
            errorClass=refusal.error_class,
            message=refusal.message,
        )
        self.step = replace(self.step, refusal=refusal)

    def _fail(self, move: Move, failed: Failed) -> None:
        """Where it stood before the move that failed, it stands."""
        refusal = Refusal(
            "EXECUTOR_FAILED",
            failed.message,
            move.transition or None,
            failed.error_class,
            failed.retry_after_ms,
            in_doubt=failed.outcome == "unknown",
        )
        if move.is_hop:
            self._break_chain(replace(refusal, code="CHAIN_FAILED"))
        else:
            self._refuse(refusal)

    def _refuse(self, refusal: Refusal) -> None:
        records = (*self.step.records, rejected(refusal, self.step.instance))
        self.step = replace(self.step, records=records, refusal=refusal)

    def _record(self, kind: str, /, **payload: Json) -> None:
        self.step = with_record(self.step, Record(kind, payload, self._now))
