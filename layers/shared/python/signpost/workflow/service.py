"""The workflows of a tenant, driven: load, decide, carry out; and again from the start if somebody else was faster."""

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import field, replace
from hashlib import sha256
from typing import Literal

from signpost.errors import Unavailable
from signpost.model import PROXY, Json, JsonObject, Principal
from signpost.ports import Clock, Ids
from signpost.records import dataclass
from signpost.spelling import meant
from signpost.workflow import orders
from signpost.workflow.admission import busy, filled, rejected, stale
from signpost.workflow.answers import may_read
from signpost.workflow.carrying import Carrier, Course
from signpost.workflow.definition import Definition
from signpost.workflow.engine import Birth, Engine
from signpost.workflow.focus import capabilities, complete, unknown_capability, wanted_by
from signpost.workflow.instance import AuditEvent, Instance, Waiting, deadline, is_over
from signpost.workflow.ports import Definitions, Instances, Published
from signpost.workflow.steps import Cancel, Looked, Refusal, Step, Submitted

_WORKFLOW_ID = re.compile(r"wf_[A-Za-z0-9]{1,64}")
ATTEMPTS = 5
"""At a deadline that several notice at once. Whoever submits something is told instead that it is too late."""

PUT_BACK_MS = 1_000
"""After as long a table has mostly got over what it could not take."""
SYSTEM = "signpost"
"""Who does what nobody has asked for."""

type Problem = Literal["NOT_FOUND", "INPUT_SCHEMA_VIOLATION", "EXECUTOR_FAILED", "ALREADY_STARTED"]


@dataclass(frozen=True, slots=True)
class Declined:
    """There is no instance to speak of."""

    code: Problem
    message: str
    about: str | None = None
    """What to look at instead: what was probably meant, or what could not be started as it was."""


@dataclass(frozen=True, slots=True)
class Told:
    """Where an instance stands after what was asked, and by which definition."""

    definition: Definition
    step: Step


@dataclass(frozen=True, slots=True)
class Found:
    definition: Definition
    instance: Instance


@dataclass(frozen=True, slots=True)
class Start:
    """What somebody wants to start."""

    definition_id: str
    given: JsonObject = field(default_factory=dict[str, Json])
    client_token: str | None = None
    """The same for whoever asks again, not having heard whether it was started."""
    workflow_id: str | None = None
    """Where it was chosen before."""
    parent: str | None = None
    depth: int = 0


def _late(instance: Instance, submitted: Submitted, now: float) -> Refusal:
    if instance.version != submitted.expected_version:
        return stale(instance, submitted)
    if instance.claim is not None:
        return busy(instance.claim, instance.version, submitted.transition, now)
    message = "Somebody else was faster, and nothing came of that. Follow the links of this answer."
    return Refusal("STALE_WORKFLOW_VERSION", message, submitted.transition, retry_after_ms=PUT_BACK_MS)


def system(tenant: str) -> Principal:
    return Principal(SYSTEM, tenant, SYSTEM)


class Workflows:
    def __init__(
        self,
        *,
        definitions: Definitions,
        instances: Instances,
        carrier: Carrier,
        engine: Engine,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._definitions = definitions
        self._instances = instances
        self._carrier = carrier
        self._engine = engine
        self._clock = clock
        self._ids = ids

    def start(self, wanted: Start, principal: Principal, ends_at: float) -> Told | Declined:
        published = self._startable(wanted, principal)
        if published is None:
            return self._no_such(wanted.definition_id, principal)
        unknown = unknown_capability(published.definition, wanted.given)
        if unknown is not None:
            return _declined("capability", unknown, capabilities(published.definition))
        checked = self._checked(published.definition, wanted.given)
        if isinstance(checked, Declined):
            return checked
        return self.begun(wanted, published, checked, principal, ends_at)

    def _startable(self, wanted: Start, principal: Principal) -> Published | None:
        """What a workflow starts is its author's choice. Who may start that one was decided then."""
        if wanted.parent is not None:
            return self._definitions.current(principal.tenant, wanted.definition_id)
        return self._definitions.offered(principal, wanted.definition_id)

    def begun(
        self, wanted: Start, published: Published, given: JsonObject, principal: Principal, ends_at: float
    ) -> Told | Declined:
        """By this definition, of what it takes."""
        definition, now = published.definition, self._clock.now()
        birth = Birth(self.id_for(wanted, principal), published.digest, given, wanted.parent, wanted.depth)
        step = self._engine.started(definition, birth, principal, now)
        if (called := complete(self._engine.validators, definition, step.instance, principal)) is not None:
            step = self._engine.followed(definition, step, called, now)
        course = self._course(definition, principal.tenant, ends_at, is_awaited=wanted.parent is None)
        carried = self._carrier.carry(course, step, None)
        if carried is None:
            return self._started_before(birth.workflow_id, wanted, principal)
        if not carried.is_kept and carried.step.refusal is not None:
            # What its first state does on being entered cannot be done: there is nothing that could be gone on with.
            return Declined("EXECUTOR_FAILED", carried.step.refusal.message, wanted.definition_id)
        return Told(definition, carried.step)

    def id_for(self, wanted: Start, principal: Principal) -> str:
        """Of what it starts; another one each time, unless the start says which."""
        if wanted.workflow_id is not None:
            return wanted.workflow_id
        if wanted.client_token is None:
            return f"wf_{self._ids.new()}"
        whose = json.dumps([principal.tenant, principal.issuer, principal.subject, wanted.client_token])
        return f"wf_{sha256(whose.encode()).hexdigest()[:32]}"

    def _started_before(self, workflow_id: str, wanted: Start, principal: Principal) -> Told | Declined:
        found = self.found(workflow_id, principal)
        if isinstance(found, Declined):
            return found
        before = wanted_by(found.instance.definition_id, found.instance.input)
        if before == wanted_by(wanted.definition_id, wanted.given):
            return self.get(workflow_id, principal, self._clock.now())
        message = f"Your clientToken has started {before} already. Take another one."
        return Declined("ALREADY_STARTED", message, None if wanted.definition_id == PROXY else wanted.definition_id)

    def get(self, workflow_id: str, principal: Principal, ends_at: float) -> Told | Declined:
        found = self.found(workflow_id, principal)
        for _ in range(ATTEMPTS):
            if isinstance(found, Declined):
                return found
            told = self._carried_out(found, Looked(principal), ends_at)
            if told is not None:
                return told
            found = self.found(workflow_id, principal)
        return found if isinstance(found, Declined) else self._as_it_stands(found, principal)

    def submit(self, workflow_id: str, submitted: Submitted, ends_at: float) -> Told | Declined:
        found = self.found(workflow_id, submitted.principal)
        if isinstance(found, Declined):
            return found
        try:
            told = self._carried_out(found, submitted, ends_at)
        except Unavailable:
            # It cannot be written now, or nobody knows whether it was: either way it is to be looked at first.
            return self._put_back(found, submitted)
        return told if told is not None else self._too_late(workflow_id, submitted)

    def explain(self, definition_id: str, principal: Principal) -> Definition | Declined:
        published = self._definitions.offered(principal, definition_id)
        if published is None:
            return self._no_such(definition_id, principal)
        return published.definition

    def waiting(self, principal: Principal) -> Sequence[Waiting]:
        """The requests of the tenant that people have not answered."""
        return self._instances.waiting(principal.tenant)

    def found(self, workflow_id: str, principal: Principal) -> Found | Declined:
        is_an_id = _WORKFLOW_ID.fullmatch(workflow_id) is not None  # nothing else can be the key of a row
        instance = self._instances.load(principal.tenant, workflow_id) if is_an_id else None
        nothing = Declined("NOT_FOUND", f"There is no workflow {workflow_id} that you may see.")
        if instance is None:
            return nothing
        definition = self._definitions.pinned(principal.tenant, instance.definition_id, instance.digest)
        under_way = None if instance.claim is None else instance.claim.job.transition
        seen = self._definitions.seen(principal, Published(definition, instance.digest), under_way)
        return Found(seen, instance) if may_read(definition, instance, principal) else nothing

    def standing(self, tenant: str, workflow_id: str) -> Found | None:
        """Whoever may see it: what carries workflows on is nobody's."""
        instance = self._instances.load(tenant, workflow_id)
        if instance is None:
            return None
        return Found(self._definitions.pinned(tenant, instance.definition_id, instance.digest), instance)

    def cancel_by_system(self, tenant: str, workflow_id: str, ends_at: float) -> None:
        for _ in range(ATTEMPTS):
            found = self.standing(tenant, workflow_id)
            if found is None or is_over(found.definition, found.instance):
                return
            if self._carried_out(found, Cancel(system(tenant)), ends_at) is not None:
                return
        raise Unavailable("A workflow that was to be cancelled is being moved all the time.")

    def _no_such(self, definition_id: str, principal: Principal) -> Declined:
        """Whoever takes a capability for a workflow is told how to start it."""
        proxy = None if definition_id == PROXY else self._definitions.offered(principal, PROXY)
        if proxy is None or definition_id not in capabilities(proxy.definition):
            return _declined("workflow", definition_id, self._definitions.offered_ids(principal))
        message = f"{definition_id} is a capability: start {PROXY} with it as `capability` of the input."
        return Declined("NOT_FOUND", message, definition_id)

    def _carried_out(self, found: Found, event: Submitted | Looked | Cancel, ends_at: float) -> Told | None:
        """None if somebody else moved the instance meanwhile."""
        definition, instance, now = found.definition, found.instance, self._clock.now()
        claim, ends = None, deadline(definition, instance)
        is_over_due = ends is not None and now >= ends and not isinstance(event, Cancel)
        if is_over_due:
            # Whoever comes across a deadline has not wanted what follows from it.
            step = self._engine.advance(definition, instance, Looked(system(event.principal.tenant)), now)
        elif isinstance(event, Submitted) and orders.is_order(event):
            ordered = orders.carried_out(self._carrier.resuming, definition, instance, event, now)
            step, claim = ordered.step, ordered.claim(self._ids.new())
        else:
            step = self._engine.advance(definition, instance, event, now)
        course = self._course(definition, step.principal.tenant, ends_at, is_awaited=not is_over_due)
        carried = self._carrier.carry(course, step, instance, claim)
        # Whose links they are is decided by who asked, whoever had begun it.
        return None if carried is None else Told(definition, replace(carried.step, principal=event.principal))

    def _put_back(self, found: Found, submitted: Submitted) -> Told:
        message = "What came of it could not be written down. Look at where the workflow stands before you go on."
        refusal = Refusal(
            "STALE_WORKFLOW_VERSION", message, submitted.transition, retry_after_ms=PUT_BACK_MS, is_unheard=True
        )
        with suppress(Unavailable):
            again = self.found(found.instance.id, submitted.principal)
            found = found if isinstance(again, Declined) else again
        told = self._as_it_stands(found, submitted.principal)
        return Told(found.definition, replace(told.step, refusal=refusal))

    def _too_late(self, workflow_id: str, submitted: Submitted) -> Told | Declined:
        """Somebody else was first. What they did is where it stands."""
        found = self.found(workflow_id, submitted.principal)
        if isinstance(found, Declined):
            return found
        now, instance, principal = self._clock.now(), found.instance, submitted.principal
        refusal = _late(instance, submitted, now)
        event = AuditEvent(rejected(refusal, instance), now, f"cor_{self._ids.new()}", principal.subject)
        with suppress(Unavailable):
            self._instances.note(principal.tenant, workflow_id, [event])
        told = self._as_it_stands(found, principal)
        return Told(found.definition, replace(told.step, refusal=refusal))

    def _as_it_stands(self, found: Found, principal: Principal) -> Told:
        instance = found.instance
        return Told(found.definition, Step(instance, principal, self._clock.now(), since=instance.version))

    def _course(self, definition: Definition, tenant: str, ends_at: float, *, is_awaited: bool = True) -> Course:
        return Course(definition, tenant, f"cor_{self._ids.new()}", ends_at, is_awaited)

    def _checked(self, definition: Definition, given: JsonObject) -> JsonObject | Declined:
        schema = definition.input_schema
        if schema is None:
            return given
        complete = filled(schema, given)
        violation = self._engine.validators.violation(schema, complete)
        if violation is None:
            return complete
        place = f"`{violation.field}`" if violation.field else "the input"
        return Declined(
            "INPUT_SCHEMA_VIOLATION",
            f"{definition.id} was not started: {place} did not satisfy its input schema: {violation.message}.",
            definition.id,
        )


def _declined(kind: str, name: str, names: Iterable[str]) -> Declined:
    close = meant(name, names)
    advice = f"Did you mean {close}?" if close else "gateway.home lists those there are."
    return Declined("NOT_FOUND", f"There is no {kind} {name} that could be started. {advice}", close)
