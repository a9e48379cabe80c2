"""Loads instances of a tenant, decides their next steps and writes them. If another request has changed an instance
first, this starts over or refuses."""

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import field, replace
from hashlib import sha256
from typing import TYPE_CHECKING

from signpost.errors import Unavailable, WorkflowRefusalCode
from signpost.model import PROXY_WORKFLOW, Json, JsonObject, Principal
from signpost.records import dataclass
from signpost.spelling import suggest_name
from signpost.workflow.deadlines import deadline_of
from signpost.workflow.definition import Definition
from signpost.workflow.engine.actors import engine_principal
from signpost.workflow.engine.admission import (
    build_busy_refusal,
    build_rejection_record,
    build_stale_refusal,
    complete_fields,
)
from signpost.workflow.engine.argument_schemas import ANY_ARGUMENTS, input_schema_of
from signpost.workflow.engine.capability_focus import (
    CAPABILITY,
    build_first_submission,
    capabilities_of,
    find_unknown_capability,
    requested_capability,
    show_capability,
    start_target_of,
)
from signpost.workflow.engine.engine import Engine, NewInstance
from signpost.workflow.engine.permissions import ANSWER
from signpost.workflow.engine.steps import CancelRequest, QuestionAnswers, Refusal, StatusCheck, Step, Submission
from signpost.workflow.expressions import is_same
from signpost.workflow.instance import FIRST_VERSION, AuditEvent, Instance, is_over
from signpost.workflow.ports import PublishedDefinition
from signpost.workflow.running import overrides
from signpost.workflow.running.answers import may_read, may_read_head, passes_kept_readers
from signpost.workflow.running.linked_writes import order_times
from signpost.workflow.running.step_writer import StepContext, StepWriter
from signpost.workflow.step_questions import StepQuestions

if TYPE_CHECKING:
    from signpost.ports import Clock, Ids
    from signpost.schema.validation import Validators
    from signpost.workflow.ports import DefinitionSource, InstanceStore

_WORKFLOW_ID = re.compile(r"wf_[A-Za-z0-9]{1,64}")
DEADLINE_ATTEMPTS = 5
"""Attempts to write when several requests change an instance at once, as at a deadline. A submission has one attempt;
its caller is told that it came too late."""

WRITE_RETRY_AFTER_MS = 1_000
"""Milliseconds after which a table mostly accepts writes again that it could not take."""


def is_workflow_id(text: str) -> bool:
    """Return whether the text has the form of an id. No other text can be the key of a row."""
    return _WORKFLOW_ID.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class WorkflowRefusal:
    """The refusal of a request that has no instance to show."""

    code: WorkflowRefusalCode
    message: str
    about: str | None = None
    """A name to look at instead: the one that was probably meant, or the one that could not be started this way."""
    about_kind: str | None = None
    """The kind of the item of that name, because items of several kinds may have it."""
    run: str | None = None
    """The instance to look at instead."""
    schema: JsonObject | None = None
    """The schema that the input of a start did not satisfy."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """The step that answers a request, and the definition that the instance follows."""

    definition: Definition
    step: Step


@dataclass(frozen=True, slots=True)
class LoadedInstance:
    definition: Definition
    instance: Instance


@dataclass(frozen=True, slots=True)
class StartRequest:
    """A request to start an instance."""

    definition_id: str
    input: JsonObject = field(default_factory=dict[str, Json])
    client_token: str | None = None
    """The same when a client repeats a start because it does not know whether the first one succeeded."""
    workflow_id: str | None = None
    """The id of the new instance, if it was chosen before."""
    parent: str | None = None
    depth: int = 0
    is_task: bool = False
    """Whether the client follows the instance as a task."""
    questions: StepQuestions | None = None
    """The answers that the function of the first step was given before."""


def _build_late_refusal(instance: Instance, submission: Submission, now: float) -> Refusal:
    if instance.version != submission.expected_version:
        return build_stale_refusal(instance, submission)
    if instance.claim is not None:
        return build_busy_refusal(instance.claim, instance.version, submission.transition, now)
    message = "Another request claimed this step and released it. Choose again from the links of this answer."
    return Refusal("STALE_WORKFLOW_VERSION", message, submission.transition, retry_after_ms=WRITE_RETRY_AFTER_MS)


def _find_other_start(validators: "Validators", loaded: LoadedInstance, request: StartRequest) -> str | None:
    """Describe the start that has taken the id of this request; None if it was the same. Without a client token the id
    was chosen for one start, whose input is the same each time."""
    instance, schema = loaded.instance, loaded.definition.input_schema
    started = start_target_of(instance.definition_id, instance.input)
    if started != start_target_of(request.definition_id, request.input):
        return started
    complete = request.input if schema is None else complete_fields(validators, schema, request.input)
    if request.client_token is None or is_same(complete, instance.input):
        return None
    return f"{started} with another input"


def _find_subject(request: StartRequest) -> tuple[str | None, str | None]:
    """Return the name and the kind of the capability or workflow that a request is about; None for the workflow of all
    capabilities, which no list shows."""
    capability = requested_capability(request.definition_id, request.input)
    if capability is not None:
        return capability, "capability"
    return (None, None) if request.definition_id == PROXY_WORKFLOW else (request.definition_id, "workflow")


class Workflows:
    def __init__(
        self,
        *,
        definitions: "DefinitionSource",
        instances: "InstanceStore",
        step_writer: StepWriter,
        engine: Engine,
        clock: "Clock",
        ids: "Ids",
    ) -> None:
        self._definitions = definitions
        self._instances = instances
        self._step_writer = step_writer
        self._engine = engine
        self._clock = clock
        self._ids = ids

    def start(self, request: StartRequest, principal: Principal, ends_at: float) -> StepResult | WorkflowRefusal:
        published = self._find_startable(request, principal)
        if published is None:
            return self._build_unknown_start(request, principal)
        unknown = find_unknown_capability(published.definition, request.input)
        if unknown is not None:
            known = {*capabilities_of(published.definition), *self._definitions.list_capability_ids(principal)}
            return _build_not_found("capability", unknown, sorted(known))
        checked = self._check_input(published.definition, request)
        if isinstance(checked, WorkflowRefusal):
            return checked
        return self.start_published(request, published, checked, principal, ends_at)

    def _find_startable(self, request: StartRequest, principal: Principal) -> PublishedDefinition | None:
        """Return the definition to start. The child of a workflow was chosen by the author of the parent, and the right
        of the principal to start the parent was checked then; so policy does not restrict it again."""
        if request.parent is not None:
            return self._definitions.find_current(principal.tenant, request.definition_id)
        capability = requested_capability(request.definition_id, request.input)
        return self._definitions.find_offered(principal, request.definition_id, capability)

    def start_published(
        self,
        request: StartRequest,
        published: PublishedDefinition,
        start_input: JsonObject,
        principal: Principal,
        ends_at: float,
    ) -> StepResult | WorkflowRefusal:
        """Start an instance of this definition, with an input that it accepts."""
        definition, now = published.definition, self._clock.now()
        new_instance = NewInstance(
            self.id_for(request, principal),
            published.digest,
            start_input,
            request.parent,
            request.depth,
            request.is_task,
        )
        step = self._engine.start(definition, new_instance, principal, now)
        if (
            submission := build_first_submission(self._engine.validators, definition, step.instance, principal)
        ) is not None:
            step = self._engine.submit_after_start(definition, step, submission, now)
        context = self._build_context(definition, principal.tenant, ends_at, is_awaited=request.parent is None)
        context = replace(context, questions=request.questions)
        written = self._step_writer.write_step(context, step, None)
        if written is None:
            return self._answer_repeated_start(new_instance.workflow_id, request, principal)
        if not written.is_kept and written.step.refusal is not None:
            # The `onEnter` of the initial state failed: there is no instance that could be continued.
            return WorkflowRefusal("EXECUTOR_FAILED", written.step.refusal.message, *_find_subject(request))
        return StepResult(definition, written.step)

    def id_for(self, request: StartRequest, principal: Principal) -> str:
        """Return the id of the instance that the request starts: a new one each time, unless the request names the id
        or a client token."""
        if request.workflow_id is not None:
            return request.workflow_id
        if request.client_token is None:
            return f"wf_{self._ids.new()}"
        owner = json.dumps([principal.tenant, principal.issuer, principal.subject, request.client_token])
        return f"wf_{sha256(owner.encode()).hexdigest()[:32]}"

    def _answer_repeated_start(
        self, workflow_id: str, request: StartRequest, principal: Principal
    ) -> StepResult | WorkflowRefusal:
        loaded = self.load_visible(workflow_id, principal)
        if isinstance(loaded, WorkflowRefusal):
            return loaded
        started = _find_other_start(self._engine.validators, loaded, request)
        if started is None:
            return self.get(workflow_id, principal, self._clock.now())
        message = (
            f"Your clientToken has already started {started}: the run {workflow_id}. Follow the `self` link to read "
            "that run, or use another clientToken."
        )
        return WorkflowRefusal("ALREADY_STARTED", message, *_find_subject(request), workflow_id)

    def get(self, workflow_id: str, principal: Principal, ends_at: float) -> StepResult | WorkflowRefusal:
        loaded = self.load_visible(workflow_id, principal)
        for _ in range(DEADLINE_ATTEMPTS):
            if isinstance(loaded, WorkflowRefusal):
                return loaded
            result = self._process_event(loaded, StatusCheck(principal), ends_at)
            if result is not None:
                return result
            loaded = self.load_visible(workflow_id, principal)
        return loaded if isinstance(loaded, WorkflowRefusal) else self._build_current_result(loaded, principal)

    def submit(self, workflow_id: str, submission: Submission, ends_at: float) -> StepResult | WorkflowRefusal:
        loaded = self.load_visible(workflow_id, submission.principal)
        if isinstance(loaded, WorkflowRefusal):
            return loaded
        try:
            result = self._process_event(loaded, submission, ends_at)
        except Unavailable:
            # It cannot be written now, or it is unknown whether it was: either way the caller has to look at it first.
            return self._answer_unwritten(loaded, submission)
        return result if result is not None else self._answer_too_late(workflow_id, submission)

    def explain(
        self, definition_id: str, principal: Principal, transition: str | None = None
    ) -> Definition | WorkflowRefusal:
        """Return the definition to explain, with the callable skills if it is that of the capabilities. A skill that
        lists leave out is in it if it is the transition that the caller asks about."""
        definition = self._definitions.find_explained(principal, definition_id, transition)
        return self._build_unknown_definition(definition_id, principal) if definition is None else definition

    def load_visible(self, workflow_id: str, principal: Principal) -> LoadedInstance | WorkflowRefusal:
        not_found = WorkflowRefusal("NOT_FOUND", f"There is no workflow {workflow_id} that you may see.")
        instance = (
            self._instances.load(principal.tenant, workflow_id, lambda head: may_read_head(head, principal))
            if is_workflow_id(workflow_id)
            else None
        )
        if instance is None or not passes_kept_readers(instance, principal):
            return not_found
        definition = self._definitions.load_pinned(principal.tenant, instance.definition_id, instance.digest)
        if not may_read(definition, instance, principal):
            return not_found
        under_way = None if instance.claim is None else instance.claim.job.transition
        permitted = self._definitions.remove_denied_capabilities(
            principal, PublishedDefinition(definition, instance.digest), under_way
        )
        return LoadedInstance(permitted, instance)

    def load_instance(self, tenant: str, workflow_id: str) -> LoadedInstance | None:
        """Load an instance without asking policy or `readers`: the code that continues workflows has no caller."""
        instance = self._instances.load(tenant, workflow_id)
        if instance is None:
            return None
        return LoadedInstance(self._definitions.load_pinned(tenant, instance.definition_id, instance.digest), instance)

    def is_unwanted(self, tenant: str, instance: Instance) -> bool:
        """Return whether the first step of the instance is under way for a task that its client has cancelled."""
        if not instance.is_task or instance.version != FIRST_VERSION:
            return False
        found = self._instances.find_task(tenant, instance.id, lambda _head: True)
        return found is not None and found.end is not None and found.end.status == "cancelled"

    def cancel_waiting(self, principal: Principal, workflow_id: str, ends_at: float) -> None:
        """Cancel an instance whose step waits, for the principal that started it. A step that is being executed is left
        to its end."""
        for _ in range(DEADLINE_ATTEMPTS):
            loaded = self.load_instance(principal.tenant, workflow_id)
            if loaded is None or is_over(loaded.definition, loaded.instance):
                return
            if self._process_event(loaded, CancelRequest(principal), ends_at) is not None:
                return

    def cancel_by_system(self, tenant: str, workflow_id: str, ends_at: float) -> None:
        for _ in range(DEADLINE_ATTEMPTS):
            loaded = self.load_instance(tenant, workflow_id)
            if loaded is None or is_over(loaded.definition, loaded.instance):
                return
            if self._process_event(loaded, CancelRequest(engine_principal(tenant)), ends_at) is not None:
                return
        raise Unavailable("The workflow could not be cancelled: other requests kept changing it.")

    def _build_unknown_start(self, request: StartRequest, principal: Principal) -> WorkflowRefusal:
        """Refuse to start a workflow that the principal cannot start: an unknown one, or that of the capabilities if no
        published capability and no skill has the name that the input gives."""
        names = self._definitions.list_capability_ids(principal) if request.definition_id == PROXY_WORKFLOW else ()
        if CAPABILITY in request.input and request.definition_id == PROXY_WORKFLOW:
            return _build_not_found("capability", show_capability(request.input[CAPABILITY]), names)
        if not names:
            return self._build_unknown_definition(request.definition_id, principal)
        message = (
            f"{PROXY_WORKFLOW} was not started: its input has to name a capability as `{CAPABILITY}`. "
            "Follow the `home` link to see the available ones."
        )
        return WorkflowRefusal("INPUT_SCHEMA_VIOLATION", message)

    def _build_unknown_definition(self, definition_id: str, principal: Principal) -> WorkflowRefusal:
        """Refuse an unknown definition. If the name is that of a capability, the message says how to start it."""
        is_proxy = definition_id == PROXY_WORKFLOW
        proxy = None if is_proxy else self._definitions.find_offered(principal, PROXY_WORKFLOW, definition_id)
        if proxy is None or definition_id not in capabilities_of(proxy.definition):
            return _build_not_found("workflow", definition_id, self._definitions.list_offered_ids(principal))
        message = f"{definition_id} is a capability: start {PROXY_WORKFLOW} with it as `capability` of the input."
        return WorkflowRefusal("NOT_FOUND", message, definition_id, "capability")

    @property
    def validators(self) -> "Validators":
        return self._engine.validators

    def answer_questions(
        self, run_id: str, responses: Mapping[str, Json], principal: Principal, ends_at: float
    ) -> StepResult | WorkflowRefusal:
        """Answer questions of the parked step of a run, in the form in which clients answer them: `inputResponses` of
        MCP. Those that were not asked or do not fit are left out; once none is open, the step runs again."""
        loaded = self.load_visible(run_id, principal)
        for _ in range(DEADLINE_ATTEMPTS):
            if isinstance(loaded, WorkflowRefusal):
                return loaded
            result = self._process_event(loaded, QuestionAnswers(responses, principal), ends_at)
            if result is not None:
                return result
            loaded = self.load_visible(run_id, principal)
        return loaded if isinstance(loaded, WorkflowRefusal) else self._build_current_result(loaded, principal)

    def _process_event(
        self, loaded: LoadedInstance, event: Submission | StatusCheck | CancelRequest | QuestionAnswers, ends_at: float
    ) -> StepResult | None:
        """Apply an event and write its step; None if another request changed the instance in the meantime."""
        definition, instance, now = loaded.definition, loaded.instance, self._clock.now()
        claim, deadline = None, deadline_of(definition, instance)
        is_overdue = deadline is not None and now >= deadline and not isinstance(event, CancelRequest)
        if is_overdue:
            # The caller that comes across a deadline has not asked for the moves that follow from it.
            step = self._engine.advance(
                definition, instance, StatusCheck(engine_principal(event.principal.tenant)), now
            )
        elif isinstance(event, QuestionAnswers) or (isinstance(event, Submission) and event.transition == ANSWER):
            return self._apply_answers(loaded, event, ends_at)
        elif isinstance(event, Submission) and overrides.is_override(event):
            override_result = overrides.apply_override(self._step_writer.resumer, definition, instance, event, now)
            step, claim = override_result.step, override_result.claim_with(self._ids.new())
        else:
            step = self._engine.advance(definition, instance, event, now)
        context = self._build_context(definition, step.principal.tenant, ends_at, is_awaited=not is_overdue)
        written = self._step_writer.write_step(context, step, instance, claim)
        # The links are those of the principal that asks, also if another principal has begun the step.
        return None if written is None else StepResult(definition, replace(written.step, principal=event.principal))

    def _apply_answers(
        self, loaded: LoadedInstance, given: Submission | QuestionAnswers, ends_at: float
    ) -> StepResult | None:
        # Imported on first use: few functions ask.
        from signpost.workflow.running.question_answers import apply_answers  # noqa: PLC0415

        context = self._build_context(loaded.definition, given.principal.tenant, ends_at)
        step = apply_answers(self._step_writer, context, loaded.instance, given)
        return None if step is None else StepResult(loaded.definition, replace(step, principal=given.principal))

    def _answer_unwritten(self, loaded: LoadedInstance, submission: Submission) -> StepResult:
        message = "It is unknown whether the submission was stored. Read the workflow before you continue."
        refusal = Refusal(
            "STALE_WORKFLOW_VERSION",
            message,
            submission.transition,
            retry_after_ms=WRITE_RETRY_AFTER_MS,
            is_write_unknown=True,
        )
        with suppress(Unavailable):
            reloaded = self.load_visible(loaded.instance.id, submission.principal)
            loaded = loaded if isinstance(reloaded, WorkflowRefusal) else reloaded
        result = self._build_current_result(loaded, submission.principal)
        return StepResult(loaded.definition, replace(result.step, refusal=refusal))

    def _answer_too_late(self, workflow_id: str, submission: Submission) -> StepResult | WorkflowRefusal:
        """Refuse a submission because another request came first, and show the instance as that request left it."""
        loaded = self.load_visible(workflow_id, submission.principal)
        if isinstance(loaded, WorkflowRefusal):
            return loaded
        now, instance, principal = self._clock.now(), loaded.instance, submission.principal
        refusal = _build_late_refusal(instance, submission, now)
        (at,) = order_times([None], now, instance.link)
        event = AuditEvent(build_rejection_record(refusal, instance), at, f"cor_{self._ids.new()}", principal.subject)
        with suppress(Unavailable):
            self._instances.note(principal.tenant, workflow_id, [event])
        result = self._build_current_result(loaded, principal)
        return StepResult(loaded.definition, replace(result.step, refusal=refusal))

    def _build_current_result(self, loaded: LoadedInstance, principal: Principal) -> StepResult:
        instance = loaded.instance
        return StepResult(loaded.definition, Step(instance, principal, self._clock.now(), since=instance.version))

    def _build_context(
        self, definition: Definition, tenant: str, ends_at: float, *, is_awaited: bool = True
    ) -> StepContext:
        return StepContext(definition, tenant, f"cor_{self._ids.new()}", ends_at, is_awaited)

    def _check_input(self, definition: Definition, request: StartRequest) -> JsonObject | WorkflowRefusal:
        schema = input_schema_of(definition)
        if request.parent is not None and definition.input_schema is None:
            schema = ANY_ARGUMENTS  # the author of the parent chose the input, no caller
        complete = complete_fields(self._engine.validators, schema, request.input)
        violation = self._engine.validators.find_violation(schema, complete)
        if violation is None:
            return complete
        place = f"`{violation.field}`" if violation.field else "the input"
        return WorkflowRefusal(
            "INPUT_SCHEMA_VIOLATION",
            f"{definition.id} was not started: {place} did not satisfy its input schema: {violation.sentence}",
            definition.id,
            schema=schema,
        )


def _build_not_found(kind: str, name: str, names: Iterable[str]) -> WorkflowRefusal:
    close = suggest_name(name, names)
    advice = f"Did you mean {close}?" if close else "Follow the `home` link to see the available ones."
    return WorkflowRefusal("NOT_FOUND", f"There is no {kind} {name} that you can start. {advice}", close, kind)
