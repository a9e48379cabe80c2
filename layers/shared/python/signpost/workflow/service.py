"""The workflows of a tenant, driven: load, decide, save; and again from the start if somebody else was faster."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from signpost.model import PROXY, JsonObject, Principal
from signpost.ports import Clock, Ids
from signpost.records import dataclass
from signpost.spelling import meant
from signpost.workflow.answers import may_read
from signpost.workflow.definition import Definition
from signpost.workflow.engine import Engine, filled, stale
from signpost.workflow.focus import capabilities, unknown_capability
from signpost.workflow.instance import AuditEvent, Entry, Instance, Waiting
from signpost.workflow.ports import Definitions, Executors, Instances
from signpost.workflow.steps import Doing, Event, Failed, Looked, Outcome, Performed, Step, Submitted

_WORKFLOW_ID = re.compile(r"wf_[A-Za-z0-9]{1,64}")
ATTEMPTS = 5
"""At a deadline that several notice at once. Whoever submits something is told instead that it is too late."""


class PerKind:
    """Executors by their kinds."""

    def __init__(self, by_kind: Mapping[str, Executors]) -> None:
        self._by_kind = by_kind

    def perform(self, doing: Doing, principal: Principal) -> Outcome | Failed:
        executors = self._by_kind.get(doing.executor.kind)
        if executors is None:
            return Failed("permanent_error", f"There is no executor of the kind {doing.executor.kind!r} here.")
        return executors.perform(doing, principal)


type Problem = Literal["NOT_FOUND", "INPUT_SCHEMA_VIOLATION", "EXECUTOR_FAILED"]


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


class Workflows:
    def __init__(
        self,
        *,
        definitions: Definitions,
        instances: Instances,
        executors: Executors,
        engine: Engine,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._definitions = definitions
        self._instances = instances
        self._executors = executors
        self._engine = engine
        self._clock = clock
        self._ids = ids

    def start(self, definition_id: str, given: JsonObject, principal: Principal) -> Told | Declined:
        published = self._definitions.current(principal.tenant, definition_id)
        if published is None:
            return self._no_such(definition_id, principal)
        unknown = unknown_capability(published.definition, given)
        if unknown is not None:
            return _declined("capability", unknown, capabilities(published.definition))
        checked = self._checked(published.definition, given)
        if isinstance(checked, Declined):
            return checked
        workflow_id = f"wf_{self._ids.new()}"
        step = self._engine.started(
            published.definition, published.digest, workflow_id, checked, principal, self._clock.now()
        )
        step = self._performed(published.definition, step)
        if step.refusal is not None and not step.moved and step.refusal.code == "EXECUTOR_FAILED":
            # What its first state does on being entered has failed: there is nothing that could be gone on with.
            return Declined("EXECUTOR_FAILED", step.refusal.message, definition_id)
        self._instances.save(principal.tenant, self._entry(step), replacing=None)
        return Told(published.definition, step)

    def get(self, workflow_id: str, principal: Principal) -> Told | Declined:
        found = self._found(workflow_id, principal)
        for _ in range(ATTEMPTS):
            if isinstance(found, Declined):
                return found
            told = self._carried_out(found, Looked(principal))
            if told is not None:
                return told
            found = self._found(workflow_id, principal)
        return (
            found
            if isinstance(found, Declined)
            else Told(found.definition, Step(found.instance, principal, self._clock.now()))
        )

    def submit(self, workflow_id: str, submitted: Submitted) -> Told | Declined:
        found = self._found(workflow_id, submitted.principal)
        if isinstance(found, Declined):
            return found
        told = self._carried_out(found, submitted)
        return told if told is not None else self._too_late(workflow_id, submitted)

    def explain(self, definition_id: str, principal: Principal) -> Definition | Declined:
        published = self._definitions.current(principal.tenant, definition_id)
        if published is None:
            return self._no_such(definition_id, principal)
        return published.definition

    def waiting(self, principal: Principal) -> Sequence[Waiting]:
        """The requests of the tenant that people have not answered."""
        return self._instances.waiting(principal.tenant)

    def _no_such(self, definition_id: str, principal: Principal) -> Declined:
        """Whoever takes a capability for a workflow is told how to start it."""
        proxy = None if definition_id == PROXY else self._definitions.current(principal.tenant, PROXY)
        if proxy is None or definition_id not in capabilities(proxy.definition):
            return _declined("workflow", definition_id, self._definitions.ids(principal.tenant))
        message = f"{definition_id} is a capability: start {PROXY} with it as `capability` of the input."
        return Declined("NOT_FOUND", message, definition_id)

    def _found(self, workflow_id: str, principal: Principal) -> "_Found | Declined":
        is_an_id = _WORKFLOW_ID.fullmatch(workflow_id) is not None  # nothing else can be the key of a row
        instance = self._instances.load(principal.tenant, workflow_id) if is_an_id else None
        nothing = Declined("NOT_FOUND", f"There is no workflow {workflow_id} that you may see.")
        if instance is None:
            return nothing
        definition = self._definitions.pinned(principal.tenant, instance.definition_id, instance.digest)
        return _Found(definition, instance) if may_read(definition, instance, principal) else nothing

    def _carried_out(self, found: "_Found", event: Event) -> Told | None:
        """None if somebody else moved the instance meanwhile."""
        definition, instance = found.definition, found.instance
        step = self._performed(definition, self._engine.advance(definition, instance, event, self._clock.now()))
        entry = replace(self._entry(step), closed=instance.closes(step.instance))
        tenant = step.principal.tenant
        if step.moved:
            return Told(definition, step) if self._instances.save(tenant, entry, replacing=instance.version) else None
        if entry.events:
            self._instances.note(tenant, instance.id, entry.events)
        return Told(definition, step)

    def _too_late(self, workflow_id: str, submitted: Submitted) -> Told | Declined:
        """Somebody else was first. What they did is where it stands."""
        found = self._found(workflow_id, submitted.principal)
        if isinstance(found, Declined):
            return found
        refusal = stale(found.instance, submitted)
        return Told(found.definition, Step(found.instance, submitted.principal, self._clock.now(), refusal=refusal))

    def _performed(self, definition: Definition, step: Step) -> Step:
        while step.doing is not None:
            outcome = self._executors.perform(step.doing, step.principal)
            event = Performed(step.doing, outcome)
            step = self._engine.advance(definition, step.instance, event, self._clock.now())
        return step

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

    def _entry(self, step: Step) -> Entry:
        at, correlation = self._clock.now(), f"cor_{self._ids.new()}"
        subject = step.principal.subject
        events = [AuditEvent(record, at, correlation, subject) for record in step.records]
        return Entry(step.instance, step.hops, step.evidence, events)


def _declined(kind: str, name: str, names: Iterable[str]) -> Declined:
    close = meant(name, names)
    advice = f"Did you mean {close}?" if close else "gateway.home lists those there are."
    return Declined("NOT_FOUND", f"There is no {kind} {name} that could be started. {advice}", close)


@dataclass(frozen=True, slots=True)
class _Found:
    definition: Definition
    instance: Instance
