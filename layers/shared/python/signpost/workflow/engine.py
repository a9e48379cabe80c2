"""What becomes of an instance: a function of its definition, where it stands, what happens to it, and the time.

Whoever takes part in it takes one path: what a caller submits, what follows by itself, what a state does on being
entered and what a deadline does are all *moves*. Where a move needs an executor, the step says so and ends; with what
came of that it is taken up again. Nothing here runs anything.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from signpost.model import Json, JsonObject, Principal
from signpost.records import dataclass
from signpost.schema.defaults import with_defaults
from signpost.schema.validation import Validators
from signpost.workflow.definition import Definition, Executor, OnEnter, State, Transition
from signpost.workflow.guards import Guard, Situation, passes
from signpost.workflow.instance import (
    FIRST_VERSION,
    HUMAN_APPROVAL,
    EvidenceItem,
    Hop,
    Instance,
    Record,
    Request,
    digest_of,
    with_evidence,
)
from signpost.workflow.paths import Known
from signpost.workflow.steps import (
    BY_DEADLINE,
    NOTHING_TO_RUN,
    ON_ENTER,
    PEOPLE,
    TIMED_OUT,
    Doing,
    Event,
    Failed,
    Move,
    Outcome,
    Performed,
    Refusal,
    Step,
    Submitted,
)
from signpost.workflow.values import mapped

LARGEST_CONTEXT = 1_000_000
"""Characters. Every answer shows it, and an answer has a few megabytes at most."""


@dataclass(frozen=True, slots=True)
class Engine:
    """`advance`, with what it holds arguments against."""

    validators: Validators = field(default_factory=Validators)

    def started(
        self, definition: Definition, digest: str, workflow_id: str, given: JsonObject, principal: Principal, now: float
    ) -> Step:
        """The input satisfies the definition's schema."""
        instance = Instance(
            id=workflow_id,
            definition_id=definition.id,
            digest=digest,
            state=definition.initial_state,
            version=FIRST_VERSION,
            context=definition.initial_context,
            input=given,
            started_at=now,
            started_by=principal.subject,
            ends_at=now + definition.timeout_ms / 1000 if definition.timeout_ms and definition.timeout_target else None,
        )
        born: JsonObject = {"definitionId": definition.id, "state": instance.state, "version": instance.version}
        walk = _Walk(definition, Step(instance, principal, now, records=(Record("workflow.started", born),)), now)
        walk.enter_first()
        return walk.to_its_end()

    def advance(self, definition: Definition, instance: Instance, event: Event, now: float) -> Step:
        if isinstance(event, Performed):
            walk = _Walk(definition, replace(event.doing.step, doing=None), now)
            walk.go_on(event.doing, event.outcome)
            return walk.to_its_end()
        walk = _Walk(definition, Step(instance, event.principal, now), now)
        if not walk.times_out() and isinstance(event, Submitted):
            walk.submit(event, self.validators)
        return walk.to_its_end()


class _Walk:
    """Carries a step forward, move by move, until something has to be run or nothing follows by itself."""

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
        self._enter(Move("", {}, entering=self._state.name, carrying=self.step.instance))

    def times_out(self) -> bool:
        instance, target = self.step.instance, self._definition.timeout_target
        if target is None or not instance.is_overdue(self._now) or self._state.terminal:
            return False
        elapsed = round((self._now - instance.started_at) * 1000)
        self._record(
            TIMED_OUT,
            elapsedMs=elapsed,
            timeoutMs=self._definition.timeout_ms,
            fromState=instance.state,
            toState=target,
            applied=True,
        )
        # It has timed out once and for all: what comes after has all the time it needs.
        self._enter(Move(BY_DEADLINE, {}, entering=target, carrying=replace(instance, ends_at=None)))
        return True

    def submit(self, submitted: Submitted, validators: Validators) -> None:
        instance = self.step.instance
        self._record(
            "transition.requested",
            transition=submitted.transition,
            expectedVersion=submitted.expected_version,
            fromState=instance.state,
        )
        found = self._chosen(submitted, validators)
        if isinstance(found, Refusal):
            self._refuse(found)
            return
        transition, arguments = found
        self._take(transition, Move(transition.name, arguments, gathered=self._decision(transition)))

    def _decision(self, transition: Transition) -> Sequence[EvidenceItem]:
        """What a person says to what people were asked."""
        request = self.step.instance.waits_for
        if transition.actor != "human" or transition.decision is None or request is None:
            return ()
        subject = self.step.principal.subject
        self._record("human.approval.resolved", approval_id=request.id, outcome=transition.decision)
        if transition.decision == "reject" or not request.is_about(self.step.instance.context):
            return ()
        return (EvidenceItem(HUMAN_APPROVAL, subject, {"id": request.id, "digest": request.digest}),)

    def go_on(self, doing: Doing, outcome: Outcome | Failed) -> None:
        if isinstance(outcome, Failed):
            self._fail(doing.move, outcome)
        elif doing.move.carrying is None:
            self._settle(doing.move, outcome)
        else:
            self._has_entered(doing.move, doing.move.carrying, outcome)

    def _chosen(self, submitted: Submitted, validators: Validators) -> tuple[Transition, JsonObject] | Refusal:
        """In the order in which the checks are promised."""
        instance, name = self.step.instance, submitted.transition
        if submitted.expected_version != instance.version:
            return stale(instance, submitted)
        transition = None if self._state.terminal else self._state.transitions.get(name)
        if transition is None:
            message = f"There is no transition {name} in the state {instance.state}."
            return Refusal("INVALID_TRANSITION", f"{message} The links name those there are.", name)
        if transition.actor == "human" and not submitted.principal.human:
            return Refusal("ACTOR_MISMATCH", f"Only a person may take {name}. Wait until somebody has.", name)
        asked = instance.waits_for
        if transition.actor == "human" and asked is not None and asked.has_expired(self._now):
            message = "Nobody has answered in time; what was asked has expired. Ask again."
            return Refusal("GUARD_REJECTED", message, name)
        return self._checked(transition, submitted.arguments, validators)

    def _checked(
        self, transition: Transition, given: JsonObject, validators: Validators
    ) -> tuple[Transition, JsonObject] | Refusal:
        arguments = given
        if transition.input_schema is not None:
            arguments = filled(transition.input_schema, given)
            if violation := validators.violation(transition.input_schema, arguments):
                place = f"`{violation.field}`" if violation.field else "the arguments"
                message = f"{place} did not satisfy the schema of {transition.name}: {violation.message}."
                return Refusal("INPUT_SCHEMA_VIOLATION", message, transition.name)
        if not self._pass(transition.guards, arguments):
            return Refusal("GUARD_REJECTED", f"A guard of {transition.name} did not pass.", transition.name)
        return transition, arguments

    def _pass(self, guards: Sequence[Guard], arguments: JsonObject) -> bool:
        """Up to the first that does not pass."""
        situation = self._situation(self.step.instance, arguments)
        for index, guard in enumerate(guards):
            passed = passes(guard, situation)
            self._record("guard.evaluated", guardIndex=index, guard=type(guard).__name__, passed=passed)
            if not passed:
                return False
        return True

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
        about: JsonObject = {"transition": name, "candidate": "primary", "attempt": 1, "kind": executor.kind}
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
            request=_answered(before, transition, move.gathered),
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
        return replace(after, request=_asked(request, target, after))

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
            self._arrive(move, after)
        elif self._may_enter(on_enter, after, move):
            self._run(on_enter.executor, on_enter.reliability, move)
        else:
            message = f"A guard of what {move.entering} does on being entered did not pass."
            self._fail(move, Failed("permanent_error", message))

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
        after = self._asking(after, outcome.request, entered, ON_ENTER)
        self._arrive(replace(move, gathered=(*move.gathered, *outcome.evidence)), after)

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
        if move.transition and (size := len(json.dumps(after.context))) > LARGEST_CONTEXT:
            message = f"The context would have {size} characters, and {LARGEST_CONTEXT} are the most that are kept."
            self._fail(move, Failed("permanent_error", message))
            return
        self.step = replace(self.step, evidence=(*self.step.evidence, *move.gathered))
        if move.transition:
            self._move(move, after)
        else:
            self.step = replace(self.step, instance=after)
        if self._state.terminal:
            self._record("workflow.completed", state=self._state.name)
        self._has_arrived = True

    def _move(self, move: Move, after: Instance) -> None:
        target = str(move.entering)
        arrived = replace(after, state=target, version=after.version + 1)
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
        if not self._state.runs_by_itself or self.step.chained >= self._definition.most_hops:
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
        refusal = Refusal("EXECUTOR_FAILED", failed.message, move.transition or None, failed.error_class)
        if move.is_hop:
            self._break_chain(replace(refusal, code="CHAIN_FAILED"))
        else:
            self._refuse(refusal)

    def _refuse(self, refusal: Refusal) -> None:
        error_class: dict[str, Json] = {"errorClass": refusal.error_class} if refusal.error_class else {}
        self._record(
            "transition.rejected",
            transition=refusal.transition,
            code=refusal.code,
            message=refusal.message,
            fromState=self._state.name,
            **error_class,
        )
        self.step = replace(self.step, refusal=refusal)

    def _record(self, kind: str, /, **payload: Json) -> None:
        self.step = replace(self.step, records=(*self.step.records, Record(kind, payload)))


def stale(instance: Instance, submitted: Submitted) -> Refusal:
    said = f"You expected version {submitted.expected_version}, but the workflow is at version {instance.version}."
    return Refusal("STALE_WORKFLOW_VERSION", f"{said} Follow the links of this answer.", submitted.transition)


def filled(schema: JsonObject, given: JsonObject) -> JsonObject:
    """With the defaults of the schema."""
    value = with_defaults(schema, given)
    return value if isinstance(value, Mapping) else given


def _asked(request: Request, state: str, after: Instance) -> Request:
    """With what is to be approved, as it is now."""
    shown = tuple(request.shown) or tuple(sorted(after.context))
    digest = digest_of({name: after.context.get(name) for name in shown})
    earlier = after.request
    before = earlier.askers if earlier is not None and earlier.digest == digest else frozenset[str]()
    return replace(request, state=state, shown=shown, digest=digest, asked_before_by=before)


def _answered(before: Instance, transition: Transition, gathered: Sequence[EvidenceItem]) -> Request | None:
    """The request after what somebody has said to it, if this is an answer."""
    request = before.request
    if request is None:
        return None
    if before.waits_for is not None and transition.actor == "human" and transition.decision == "reject":
        return request.rejected
    persons = {item.subject for item in gathered if item.kind == HUMAN_APPROVAL}
    return replace(request, approved_by=request.approved_by | persons) if persons else request
