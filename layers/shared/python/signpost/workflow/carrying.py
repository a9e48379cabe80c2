"""A step carried out: claimed before anything is executed, settled with what came of it, and gone on with.

What is decided is a function (`engine.py`), what is executed is somebody else's (`executing.py`). Here is the order in
which both are written down, so that whoever crashes in between, or is overtaken, leaves what can be gone on with.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from signpost.errors import Unavailable
from signpost.ports import Ids
from signpost.records import dataclass
from signpost.wakes import Wake
from signpost.workflow.admission import busy, rejected
from signpost.workflow.definition import Definition
from signpost.workflow.engine import Engine
from signpost.workflow.executing import Execution, Overtaken, World, unknown_kind
from signpost.workflow.instance import (
    AuditEvent,
    Awaited,
    Claim,
    Entry,
    Fault,
    Instance,
    Job,
    Record,
    child_of,
    due_at,
    has_ended,
    in_doubt,
    is_over,
)
from signpost.workflow.ports import Executors, Instances, Later
from signpost.workflow.reliability import policy_of
from signpost.workflow.resuming import Resuming
from signpost.workflow.steps import CHILD, HARMLESS, Doing, Failed, Outcome, Performed, Refusal, Step, with_record

MOST_HAND_OVERS = 100
"""After as many somebody should look at it."""
MOST_LOSSES = 5
"""As often it is executed again of which nobody heard, where that is allowed."""
BETWEEN_ATTEMPTS = 0.2
"""Seconds after which it is written again what could not be written."""


@dataclass(frozen=True, slots=True)
class Course:
    """One call that carries an instance forward."""

    definition: Definition
    tenant: str
    correlation_id: str
    ends_at: float
    """When whoever called has to be answered."""
    is_awaited: bool = True
    """Whether anybody hears what comes of it."""


@dataclass(frozen=True, slots=True)
class Carried:
    step: Step
    is_kept: bool = True
    """Whether there is an instance to speak of."""


@dataclass(frozen=True, slots=True)
class Carrier:
    """What carrying a step out needs."""

    instances: Instances
    people: Executors
    world: World
    engine: Engine
    ids: Ids

    @property
    def resuming(self) -> Resuming:
        return Resuming(self.engine, self.people)

    def carry(self, course: Course, step: Step, before: Instance | None, claim: Claim | None = None) -> Carried | None:
        """From what was decided to where it stands now; by the claim with which it is to be taken over, if it is. None
        if somebody else was faster."""
        try:
            return _Passage(self, course, before).through(step, claim)
        except Overtaken:
            return None

    def wait_on(self, course: Course, before: Instance, claim: Claim) -> None:
        """Somebody has looked, and there is nothing to go on with yet."""
        _Passage(self, course, before).renewed(replace(claim, until=self.world.clock.now()))

    def heard(self, course: Course, before: Instance) -> None:
        """Nobody waits any more to be told of its end."""
        _Passage(self, course, before).forget_its_end()


class _Passage:
    """One call's way through. What it has written last is what its next write has to find."""

    def __init__(self, carrier: Carrier, course: Course, before: Instance | None) -> None:
        self._carrier = carrier
        self._course = course
        self._clock = carrier.world.clock
        self._last = before
        """As it was written last; None if it was not yet."""
        self._hops = self._evidence = self._records = 0
        """How many of the step's have been written."""
        self._executed: Claim | None = None
        """Under which something was executed last."""

    def through(self, step: Step, claim: Claim | None) -> Carried:
        while (doing := step.doing) is not None:
            came = self._at_once(doing, claim)
            if came is None:
                execution = self._begun(step, doing, claim or self._claim_for(doing))
                if isinstance(execution, Carried):
                    return execution
                came = execution.run(self.renewed)
                doing = _with_records(doing, execution.records)
                if isinstance(came, Later):
                    return self._put_off(doing.step, _waiting(execution.claim, came))
                if isinstance(came, Failed) and execution.claim.tainted:
                    came = replace(came, outcome="unknown")  # whatever the last try says of itself
                self._executed = execution.claim
            step, claim = self._after(doing, came), None
        return self._settled(step)

    def _at_once(self, doing: Doing, claim: Claim | None) -> Outcome | Failed | None:
        """What comes of what is not executed; None if it is to be."""
        if doing.executor.kind in HARMLESS:
            return self._carrier.people.perform(doing, doing.step.principal)
        candidates = policy_of(doing.executor, doing.reliability).candidates
        if all(self._carrier.world.machines(candidate.kind) is None for candidate in candidates):
            return unknown_kind(doing.executor.kind)
        if claim is not None and (claim.lost > MOST_LOSSES or claim.handed_over > MOST_HAND_OVERS):
            message = f"{doing.called} was begun again and again, and nobody heard what came of it."
            return Failed("timeout", message, "unknown" if claim.tainted or claim.lost else "none")
        return None

    def _after(self, doing: Doing, came: Outcome | Failed) -> Step:
        event, now = Performed(doing, came), self._clock.now()
        return self._carrier.engine.advance(self._course.definition, doing.step.instance, event, now)

    def _claim_for(self, doing: Doing) -> Claim:
        move, now, ids = doing.move, self._clock.now(), self._carrier.ids
        job = Job(
            transition=move.transition,
            arguments=move.arguments,
            principal=doing.step.principal,
            is_hop=move.is_hop,
            chained=doing.step.chained,
        )
        kinds = {candidate.kind for candidate in policy_of(doing.executor, doing.reliability).candidates}
        child = f"wf_{ids.new()}" if CHILD in kinds else None
        return Claim(ids.new(), "waiting", job, since=now, until=now, child=child)

    def _begun(self, step: Step, doing: Doing, claim: Claim) -> Execution | Carried:
        """Ours, with the time that it needs; or where it stands instead."""
        execution = Execution(self._carrier.world, doing, claim, self._course.ends_at)
        planned = execution.planned()
        if planned is None:
            awaits: Awaited = "chain" if claim.job.is_hop else "executor"
            left = replace(execution.claim, standing="waiting", until=self._clock.now(), awaits=awaits)
            return self._put_off(step, left)
        if self._last is None or step.instance.version != self._last.version:
            self._write(step, replace(step.instance, claim=planned))
        else:
            found = self._hold(self._last, planned)
            if found is None:
                raise Overtaken
            if found.token != planned.token:
                return self._beaten(step, found, doing.called)
        execution.claim = planned
        return execution

    def _beaten(self, step: Step, claim: Claim, wanted: str) -> Carried:
        """Somebody else has begun something at this version."""
        stands, now = replace(step.instance, claim=claim), self._clock.now()
        refusal = busy(claim, stands.version, wanted, now)
        refused = Step(stands, step.principal, now, records=(*step.records, rejected(refusal, stands)), refusal=refusal)
        if self._course.is_awaited:
            self._carrier.instances.note(self._course.tenant, stands.id, self._events(refused))
        return Carried(replace(refused, since=stands.version))

    def renewed(self, claim: Claim) -> Claim | None:
        """Under another token: who was just about to take over what was there must not meet what is there now."""
        assert self._last is not None  # noqa: S101 - what is held is there
        renewed = replace(claim, token=self._carrier.ids.new())
        found = self._hold(self._last, renewed)
        return renewed if found is not None and found.token == renewed.token else None

    def forget_its_end(self) -> None:
        """Whoever is overtaken leaves it to the next look."""
        assert self._last is not None  # noqa: S101 - it has ended
        last = self._last
        told = Entry(replace(last, untold_since=None), token=self._carrier.ids.new())
        self._carrier.instances.save(self._course.tenant, told, replacing=last.stand)

    def _hold(self, last: Instance, claim: Claim) -> Claim | None:
        held = replace(last, claim=claim)
        due = due_at(self._course.definition, held)
        # What the margin is for as well: a lease that begins later would be over too soon.
        until = min(self._course.ends_at, self._clock.now() + self._carrier.world.margin)
        found = self._patiently(
            lambda: self._carrier.instances.hold(self._course.tenant, last.id, claim, replacing=last.stand, due_at=due),
            until,
        )
        if found is not None and found.token == claim.token:
            self._last = held
        return found

    def _put_off(self, step: Step, claim: Claim) -> Carried:
        """Nobody waits for it any more."""
        is_counted = claim.awaits in ("executor", "chain")  # tries and pauses are counted by themselves
        claim = replace(claim, token=self._carrier.ids.new(), handed_over=claim.handed_over + is_counted)
        stands = replace(step.instance, claim=claim)
        self._write(step, stands)
        return Carried(replace(step, instance=stands, doing=None, at=self._clock.now()))

    def _settled(self, step: Step) -> Carried:
        refusal, instance = step.refusal, self._faulty(step)
        if refusal is not None and refusal.in_doubt:
            doubtful = self._doubtful(refusal)
            instance, step = replace(instance, claim=doubtful), with_record(step, in_doubt(doubtful))
        if self._last is None and refusal is not None and not step.moved and refusal.code == "EXECUTOR_FAILED":
            return Carried(step, is_kept=False)
        if instance is not self._last and instance != self._last:
            self._write(step, instance)
        elif events := self._events(step):
            self._carrier.instances.note(self._course.tenant, instance.id, events)
        return Carried(replace(step, instance=instance))

    def _doubtful(self, refusal: Refusal) -> Claim:
        claim = self._executed or (self._last.claim if self._last is not None else None)
        assert claim is not None  # noqa: S101 - nothing is executed without
        token = self._carrier.ids.new()
        return replace(claim, token=token, standing="in_doubt", awaits="executor", message=refusal.message)

    def _faulty(self, step: Step) -> Instance:
        """With what went wrong, if nobody hears of it who could do something about it."""
        refusal, instance = step.refusal, step.instance
        is_heard_of = self._course.is_awaited and refusal is not None and refusal.code != "CHAIN_FAILED"
        if refusal is None or is_heard_of or refusal.in_doubt:
            return instance
        if refusal.code not in ("CHAIN_FAILED", "EXECUTOR_FAILED"):
            return instance
        now = self._clock.now()
        fault = Fault(refusal.code, refusal.message, refusal.transition or "", refusal.error_class, now)
        return replace(instance, fault=fault)

    def _write(self, step: Step, instance: Instance) -> None:
        """What the step has come to since the last time. Raises Overtaken if it is not ours to write any more."""
        last = self._last
        if last is not None and last.claim is not None and instance.claim is None and instance.version == last.version:
            instance = replace(instance, releases=last.releases + 1)
        definition = self._course.definition
        is_news = _is_news(definition, last, instance)
        if is_news or not has_ended(definition, instance):
            instance = replace(instance, untold_since=self._clock.now() if is_news else None)
        entry = Entry(
            instance=instance,
            hops=step.hops[self._hops :],
            evidence=step.evidence[self._evidence :],
            events=self._events(step),
            closed=last.closes(instance) if last is not None else None,
            wakes=_wakes(definition, last, instance),
            due_at=due_at(definition, instance),
            token=self._carrier.ids.new(),
        )
        stand = last.stand if last is not None else None
        tenant, ends_at = self._course.tenant, self._course.ends_at
        if not self._patiently(lambda: self._carrier.instances.save(tenant, entry, replacing=stand), ends_at):
            raise Overtaken
        self._hops, self._evidence, self._records = len(step.hops), len(step.evidence), len(step.records)
        self._last = instance

    def _patiently[Written](self, write: Callable[[], Written], until: float) -> Written:
        """As long as there is time: something may have been executed that is not to be forgotten. Whatever is written
        again is known by its token."""
        while True:
            try:
                return write()
            except Unavailable:
                if self._clock.now() + BETWEEN_ATTEMPTS >= until:
                    raise
            self._carrier.world.pause(BETWEEN_ATTEMPTS)

    def _events(self, step: Step) -> Sequence[AuditEvent]:
        now, subject = self._clock.now(), step.principal.subject
        correlation = self._course.correlation_id
        unwritten = step.records[self._records :]
        times = [now if record.at is None else record.at for record in unwritten]
        return [AuditEvent(record, at, correlation, subject) for record, at in zip(unwritten, times, strict=True)]


def _with_records(doing: Doing, records: Sequence[Record]) -> Doing:
    return replace(doing, step=replace(doing.step, records=(*doing.step.records, *records)))


def _waiting(claim: Claim, later: Later) -> Claim:
    return replace(
        claim,
        standing="waiting",
        until=later.until,
        awaits=later.awaits,
        gives_up_at=later.gives_up_at,
        lost=0,
    )


def _is_news(definition: Definition, before: Instance | None, after: Instance) -> bool:
    """Whether whoever waits for it is to hear of its end now."""
    had_ended = before is not None and has_ended(definition, before)
    return after.parent is not None and has_ended(definition, after) and not had_ended


def _wakes(definition: Definition, before: Instance | None, after: Instance) -> Sequence[Wake]:
    """Who is to look at what because of this: itself, if it goes on later, and those that wait for it or for whom it
    waited."""
    wakes: list[Wake] = []
    claim = after.claim
    if claim is not None and claim.standing == "waiting":
        wakes.append(Wake(after.id, claim.until))
        if claim.gives_up_at is not None:
            wakes.append(Wake(after.id, claim.gives_up_at))
    if after.parent is not None and _is_news(definition, before, after):
        wakes.append(Wake(after.parent))
    left = before.claim if before is not None else None
    if after.parent is not None and left is not None and claim is None and not is_over(definition, after):
        wakes.append(Wake(after.id))  # while it was held, nobody who stopped waiting for it could cancel it
    if left is not None and left.child is not None and (claim is None or child_of(claim) != child_of(left)):
        wakes.append(Wake(child_of(left)))
    return wakes
