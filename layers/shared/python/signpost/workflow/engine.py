"""What becomes of an instance: a function of its definition, where it stands, what happens to it, and the time.

What leads somewhere is a *move*, and all moves take one path (`walking.py`). Where one needs an executor, the step says
so and ends; with what came of that it is taken up again. Nothing here runs anything.
"""

from dataclasses import field, replace

from signpost.model import JsonObject, Principal
from signpost.records import dataclass
from signpost.schema.validation import Validators
from signpost.workflow.definition import Definition
from signpost.workflow.instance import FIRST_VERSION, Instance, Record
from signpost.workflow.steps import Cancel, Event, Looked, Performed, Resumed, Step, Submitted, Woken
from signpost.workflow.stopping import cancelled, noticed, timed_out
from signpost.workflow.walking import Walk


@dataclass(frozen=True, slots=True)
class Birth:
    """What an instance begins with, beside its definition."""

    workflow_id: str
    digest: str
    """Of the definition."""
    given: JsonObject
    parent: str | None = None
    """The workflow that waits for it."""
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Engine:
    """`advance`, with what it holds arguments against."""

    validators: Validators = field(default_factory=Validators)

    def started(self, definition: Definition, birth: Birth, principal: Principal, now: float) -> Step:
        """The input satisfies the definition's schema."""
        instance = Instance(
            id=birth.workflow_id,
            definition_id=definition.id,
            digest=birth.digest,
            state=definition.initial_state,
            version=FIRST_VERSION,
            context=definition.initial_context,
            input=birth.given,
            started_at=now,
            started_by=principal.subject,
            starter_issuer=principal.issuer,
            ends_at=now + definition.timeout_ms / 1000 if definition.timeout_ms and definition.timeout_target else None,
            parent=birth.parent,
            depth=birth.depth,
        )
        born: JsonObject = {"definitionId": definition.id, "state": instance.state, "version": instance.version}
        records = (Record("workflow.started", born),)
        walk = Walk(definition, Step(instance, principal, now, records=records, since=FIRST_VERSION), now)
        walk.enter_first()
        return walk.to_its_end()

    def followed(self, definition: Definition, step: Step, submitted: Submitted, now: float) -> Step:
        """By what its starter submits with the start, if nothing is in the way."""
        if step.doing is not None or step.refusal is not None:
            return step
        walk = Walk(definition, step, now)
        walk.submit(submitted, self.validators)
        return walk.to_its_end()

    def advance(self, definition: Definition, instance: Instance, event: Event, now: float) -> Step:
        match event:
            case Performed(doing, outcome):
                walk = Walk(definition, replace(doing.step, doing=None), now)
                walk.go_on(doing, outcome)
            case Resumed(job):
                stands = Step(replace(instance, claim=None), job.principal, now, since=instance.version)
                walk = Walk(definition, replace(stands, chained=job.chained), now)
                walk.resume(event)
            case _:
                walk = Walk(definition, Step(instance, event.principal, now, since=instance.version), now)
                self._noticed(walk, definition, event, now)
        return walk.to_its_end()

    def _noticed(
        self, walk: Walk, definition: Definition, event: Submitted | Looked | Cancel | Woken, now: float
    ) -> None:
        """A deadline comes before everything but a cancellation, after which there is none."""
        if isinstance(event, Cancel):
            walk.step = cancelled(definition, walk.step, now)
        elif (late := timed_out(definition, walk.step, now)) is not None:
            walk.step = late
            walk.time_out(str(definition.timeout_target))
        elif isinstance(event, Submitted):
            walk.submit(event, self.validators)
        elif isinstance(event, Woken):
            walk.step = noticed(walk.step, now)
