"""One step executed: by its executor and the fallbacks, each as often and as patiently as its author allows."""

from collections.abc import Callable
from dataclasses import replace

from signpost.errors import Unavailable
from signpost.model import Json, JsonObject, as_object
from signpost.ports import Clock
from signpost.records import dataclass
from signpost.workflow.definition import Executor
from signpost.workflow.instance import Claim, Instance, Record
from signpost.workflow.paths import Known
from signpost.workflow.ports import Came, Errand, Later, Machine, Pause
from signpost.workflow.reliability import Again, Tries, policy_of
from signpost.workflow.steps import CHILD, NOTHING_TO_RUN, Doing, Failed, Outcome
from signpost.workflow.values import mapped

TO_SETTLE = 1.5
"""Seconds that are kept for hearing what came of it, and for writing it down."""
SHORTEST = 3.0
"""Seconds without which nothing is begun that does not say how long it takes."""
SHORTEST_OF_A_HOP = 15.0
LONGEST_PAUSE = 20.0
"""Seconds. A longer pause between two tries is spent in the queue: whoever executes has others to look after."""
LONGEST = 800.0
"""Seconds that anything may take: what the worker has got."""
OF_A_CHILD = 30.0
"""Seconds for which nobody else may look after a child: whoever does so a second time does nothing twice."""
PRIMARY = 0


type Renew = Callable[[Claim], Claim | None]
"""As it is held then; None if somebody else owns it."""


class Overtaken(Exception):  # noqa: N818 - it names what happened
    """Somebody else owns what is executed."""


@dataclass(frozen=True, slots=True)
class World:
    """What executing needs, beside what is executed."""

    machines: Callable[[str], Machine | None]
    """By kind."""
    clock: Clock
    pause: Pause
    margin: float
    """Seconds of a lease beyond the time that a try may take."""


@dataclass(frozen=True, slots=True)
class _Limits:
    seconds: float | None
    """A try may take; None for as long as there is."""
    lingers: float
    """Seconds for which it may go on at most when nobody waits any more."""


class Execution:
    def __init__(self, world: World, doing: Doing, claim: Claim, ends_at: float) -> None:
        self._world = world
        self._doing = doing
        self._policy = policy_of(doing.executor, doing.reliability)
        self._ends_at = ends_at
        self._known: dict[int, _Limits] = {}
        """By candidate."""
        self.claim = claim
        if claim.standing == "running" and self._executor.kind != CHILD:
            self.claim = replace(claim, tainted=True)  # it was being executed, by somebody who was not heard of again
        self.records: list[Record] = []

    def planned(self, begins_at: float | None = None) -> Claim | None:
        """With the lease that the next try needs, if it begins then; None if there is not enough time for it."""
        now = self._world.clock.now() if begins_at is None else begins_at
        left, needed = self._ends_at - now - TO_SETTLE, self._limits.seconds
        if left < (self._shortest if needed is None else needed):
            return None
        seconds = left if needed is None else needed
        is_child = self._executor.kind == CHILD
        if is_child:
            seconds = min(seconds, OF_A_CHILD)
        consents = self._policy.consents(self.claim.candidate)
        # It may begin at the last moment, and then go on. Nor does an earlier try end sooner because this one is short.
        lease = max(self.claim.over_at, now + seconds + self._limits.lingers + self._world.margin)
        running = replace(self.claim, standing="running", awaits="executor", until=lease)
        return replace(running, repeatable=consents, resumable=consents or is_child)

    def run(self, renew: Renew) -> Came:
        """The claim is held, with the lease of the first try; before each further one it is renewed. Raises Overtaken
        if it cannot be."""
        while True:
            came = self._by_candidate(renew)
            again = self._after(came)
            if again is None or not isinstance(came, Failed):
                return came
            if again.tries.candidate == self.claim.candidate:  # it was left alone, and not tried
                later = self._rested(again, renew)
            else:
                later = self._fallen_back(again, came, renew)
            if later is not None:
                return later

    @property
    def _executor(self) -> Executor:
        return self._policy.candidates[self.claim.candidate]

    def _by_candidate(self, renew: Renew) -> Came:
        if self._executor.kind == NOTHING_TO_RUN:
            return Outcome({})  # a fallback that cannot fail
        machine = self._world.machines(self._executor.kind)
        if machine is None:
            return unknown_kind(self._executor.kind)
        return machine.guarded(self._errand(), lambda: self._tries(machine, renew))

    def _fallen_back(self, again: Again, failed: Failed, renew: Renew) -> Later | None:
        now = self._world.clock.now()
        self.claim = self._next(again, now)
        self._record("fallback.selected", previousError=failed.message)
        return self._renewed(renew, now)

    def _tries(self, machine: Machine, renew: Renew) -> Came:
        """As many as there are by one of the candidates."""
        while True:
            came = self._try(machine)
            again = self._after(came)
            if again is None or again.tries.candidate != self.claim.candidate:
                return came
            if (later := self._rested(again, renew)) is not None:
                return later

    def _try(self, machine: Machine) -> Came:
        errand = self._errand()
        key: JsonObject = {"idempotencyKey": errand.idempotency_key} if errand.idempotency_key else {}
        self._record("executor.started", **key)
        began = self._world.clock.now()
        came = machine.perform(errand)
        elapsed = round((self._world.clock.now() - began) * 1000)
        if isinstance(came, Failed):
            again = self._after(came)
            is_retried = again is not None and again.tries.candidate == self.claim.candidate
            kind = "executor.retrying" if is_retried else "executor.failed"
            what = {"errorClass": came.error_class, "outcome": came.outcome, "error": came.message}
            self._record(kind, elapsedMs=elapsed, **what)
            if came.outcome == "unknown":
                self.claim = self._tainted(came)
        elif not isinstance(came, Later):
            self._record("executor.succeeded", elapsedMs=elapsed)
        return came

    def _tainted(self, failed: Failed) -> Claim:
        repeatable = self._policy.consents(self.claim.candidate, failed.error_class)
        tainted = replace(self.claim, tainted=True, repeatable=repeatable)
        if failed.has_ended:
            return replace(tainted, until=self._world.clock.now())
        return replace(tainted, busy_until=self.claim.over_at)

    def _after(self, came: Came) -> Again | None:
        if not isinstance(came, Failed):
            return None
        return self._policy.after(Tries(self.claim.candidate, self.claim.attempt), came)

    def _next(self, again: Again, begins_at: float) -> Claim:
        return replace(self.claim, candidate=again.tries.candidate, attempt=again.tries.attempt, since=begins_at)

    def _rested(self, again: Again, renew: Renew) -> Later | None:
        """Before another try of the same. None once it may be made: the pause is ours as well."""
        resumes_at = self._world.clock.now() + again.pause
        self.claim = self._next(again, resumes_at)
        if again.pause > LONGEST_PAUSE:
            return Later(resumes_at, "retry")
        later = self._renewed(renew, resumes_at)
        if later is None and again.pause:
            self._world.pause(again.pause)
        return later

    def _renewed(self, renew: Renew, begins_at: float) -> Later | None:
        """What has been executed by now is not forgotten because nobody can say how long the next may take."""
        try:
            planned = self.planned(begins_at)
        except Unavailable:
            planned = None
        if planned is None:
            return Later(begins_at, "retry")
        held = renew(planned)
        if held is None:
            raise Overtaken
        self.claim = held
        return None

    @property
    def _shortest(self) -> float:
        """What follows by itself somebody else can go on with, who has more time."""
        is_for_anybody = self.claim.job.is_hop and self._executor.kind != CHILD
        return SHORTEST_OF_A_HOP if is_for_anybody else SHORTEST

    @property
    def _limits(self) -> "_Limits":
        """Asked once: when it is executed nobody has to be asked any more."""
        candidate = self.claim.candidate
        if candidate not in self._known:
            self._known[candidate] = self._asked()
        return self._known[candidate]

    def _asked(self) -> "_Limits":
        machine, principal = self._world.machines(self._executor.kind), self.claim.job.principal
        if machine is None:
            return _Limits(0.0, 0.0)
        said = self._policy.timeout
        if said is None:
            said = machine.seconds(self._executor, principal)
        return _Limits(None if said is None else min(said, LONGEST), machine.lingers(self._executor, principal))

    def _errand(self) -> Errand:
        instance = self._doing.move.carrying or self._doing.step.instance
        needed = self._limits.seconds
        latest = self._ends_at - TO_SETTLE
        return Errand(
            executor=self._executor,
            arguments=arguments_of(self._executor, self._doing.arguments, instance),
            instance=instance,
            principal=self.claim.job.principal,
            claim=self.claim,
            ends_at=latest if needed is None else min(self._world.clock.now() + needed, latest),
            idempotency_key=self._idempotency_key(),
            step=self._step,
            say=lambda kind, payload: self.records.append(Record(kind, payload, self._world.clock.now())),
        )

    @property
    def _step(self) -> str:
        instance = self._doing.step.instance
        return f"{instance.id}.{self._doing.called}.{instance.version}"

    def _idempotency_key(self) -> str | None:
        """As the first of the candidates declares it: it is the same for all of them, and for whoever comes again."""
        declared = self._policy.candidates[PRIMARY].settings.get("idempotencyKey")
        if declared is True:
            return self._step
        if not isinstance(declared, str):
            return None
        instance = self._doing.step.instance
        parts = {"workflowId": instance.id, "transition": self._doing.called, "version": str(instance.version)}
        for name, part in parts.items():
            declared = declared.replace(f"{{{name}}}", part)
        return declared.replace("{correlationId}", parts["version"])

    def _record(self, kind: str, /, **more: Json) -> None:
        claim = self.claim
        about: JsonObject = {"transition": self._doing.called, "candidate": claim.candidate, "attempt": claim.attempt}
        self.records.append(Record(kind, {**about, "kind": self._executor.kind, **more}, self._world.clock.now()))


def unknown_kind(kind: str) -> Failed:
    return Failed("permanent_error", f"There is no executor of the kind {kind!r} here.")


def arguments_of(executor: Executor, given: JsonObject, instance: Instance) -> JsonObject:
    """As the executor's author maps them; else as the transition was given them."""
    written = executor.settings.get("arguments")
    if written is None:
        return given
    return mapped(as_object(written), Known(instance.context, given, instance.input))
