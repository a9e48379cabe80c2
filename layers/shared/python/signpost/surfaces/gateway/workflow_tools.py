"""The tools of /mcp that start and drive workflows. Every answer has links to the next calls, refusals too."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from signpost.errors import Unavailable
from signpost.identity.permissions import ADMINISTRATION
from signpost.model import PROXY_WORKFLOW, Call, CallToolResult, InputRequired, JsonObject, Principal, Tool, as_object
from signpost.records import dataclass
from signpost.spelling import suggest_name
from signpost.surfaces.gateway.object_arguments import read_object_argument
from signpost.surfaces.gateway.tool_specs import (
    EXPLAIN,
    GET,
    START,
    SUBMIT,
    build_error,
    build_result,
    describe_links,
    link,
    refuse_arguments,
    self_link,
)
from signpost.workflow.definition import Definition
from signpost.workflow.engine.steps import Submission
from signpost.workflow.instance import FIRST_VERSION
from signpost.workflow.running.answers import build_answer, explain_definition, explain_transition
from signpost.workflow.running.service import (
    WRITE_RETRY_AFTER_MS,
    StartRequest,
    StepResult,
    WorkflowRefusal,
    Workflows,
)

NO_OBJECT = "the argument `{name}` is a text that is not the JSON of an object. Send an object, or its JSON text."
STATE_UNREADABLE = "The state of the workflow cannot be read now. Follow the `self` link in a moment."
START_UNKNOWN = (
    "It is unknown whether the workflow was started. Follow the `self` link in a moment; if there is no workflow, "
    "start it again."
)
MISSING, BEGUN_RUN = "arguments", "run"
"""The key of the question for missing arguments, and the member of its state that names a run whose first move lacks
them."""


class WorkflowToolRunner:
    """Runs `workflow.start`, `workflow.get`, `workflow.submit` and `workflow.explain`."""

    def __init__(self, workflows: Workflows) -> None:
        self._workflows = workflows
        self._handlers: Mapping[str, Callable[[JsonObject, Call], CallToolResult | InputRequired]] = {
            START.name: self._start,
            GET.name: self._get,
            SUBMIT.name: self._submit,
            EXPLAIN.name: self._explain,
        }

    def run(self, tool: Tool, arguments: JsonObject, call: Call) -> CallToolResult | InputRequired:
        read = read_object_argument(tool, arguments)
        if isinstance(read, str):
            message = f"{call.spell_tool(tool.name)} was not called: {NO_OBJECT.format(name=read)}"
            return refuse_arguments(arguments, message)
        return self._handlers[tool.name](read, call)

    def _start(self, arguments: JsonObject, call: Call) -> CallToolResult | InputRequired:
        begun = as_object(as_object(call.state).get(BEGUN_RUN))
        if begun:  # the start has asked for the arguments of the first move of this run
            return self._submit(begun, call) if _given_arguments(call) else self._get(begun, call)
        token = arguments.get("clientToken")
        request = StartRequest(
            definition_id=str(arguments.get("definitionId", PROXY_WORKFLOW)),
            input={**as_object(arguments.get("input")), **_given_arguments(call)},
            client_token=token if isinstance(token, str) else None,
        )
        start = self._workflows.start
        attempted = _attempt_start(
            self._workflows, request, call.principal, lambda with_id: start(with_id, call.principal, call.deadline)
        )
        return self._ask(attempted, request, call) or _present(attempted)

    def _get(self, arguments: JsonObject, call: Call) -> CallToolResult:
        workflow_id = str(arguments["workflowId"])
        return _present(_attempt(lambda: self._workflows.get(workflow_id, call.principal, call.deadline), workflow_id))

    def _submit(self, arguments: JsonObject, call: Call) -> CallToolResult | InputRequired:
        expected = arguments["expectedVersion"]
        submitted = Submission(
            expected_version=int(expected) if isinstance(expected, int | float) else 0,
            transition=str(arguments["transition"]),
            arguments={**as_object(arguments.get("arguments")), **_given_arguments(call)},
            principal=call.principal,
        )
        workflow_id = str(arguments["workflowId"])
        attempted = _attempt(lambda: self._workflows.submit(workflow_id, submitted, call.deadline), workflow_id)
        return self._ask(attempted, submitted, call) or _present(attempted)

    def _ask(self, attempted: "_Attempted", event: Submission | StartRequest, call: Call) -> InputRequired | None:
        """Return the question for the arguments that a start or a submission lacks; None if nothing is asked."""
        outcome = attempted.outcome
        if outcome is None or not _may_ask(call) or not _may_lack_arguments(outcome, event):
            return None
        # Imported on first use: few calls lack arguments.
        from signpost.surfaces.gateway.missing_arguments import ask_for_missing, find_incomplete  # noqa: PLC0415

        move = find_incomplete(outcome, event)
        return None if move is None else ask_for_missing(move, self._workflows.validators)

    def _explain(self, arguments: JsonObject, call: Call) -> CallToolResult:
        asked = arguments.get("transition")
        transition = asked if isinstance(asked, str) else None
        found = self._workflows.explain(str(arguments["definitionId"]), call.principal, transition)
        if isinstance(found, WorkflowRefusal):
            return _declined_result(found)
        if transition is None:
            return build_result(explain_definition(found))
        return _explanation(found, transition, call.principal)


def start_workflow(
    workflows: Workflows,
    request: StartRequest,
    principal: Principal,
    start: Callable[[StartRequest], StepResult | WorkflowRefusal],
) -> CallToolResult:
    """Start a workflow under an id that is chosen here: a caller that gets no answer can look it up."""
    return _present(_attempt_start(workflows, request, principal, start))


def _may_lack_arguments(outcome: StepResult | WorkflowRefusal, event: Submission | StartRequest) -> bool:
    """Tell whether arguments may be what the call lacks: its schema refused them, or it started a run of a capability
    that has not moved."""
    match outcome:
        case WorkflowRefusal(schema=schema):
            return schema is not None
        case StepResult(step=step) if step.refusal is not None:
            return step.refusal.code == "INPUT_SCHEMA_VIOLATION"
        case StepResult(step=step) if isinstance(event, StartRequest):
            has_moved = step.instance.version > FIRST_VERSION or step.instance.claim is not None
            return event.definition_id == PROXY_WORKFLOW and not has_moved
        case _:
            return False


def _may_ask(call: Call) -> bool:
    """Return whether the client can fill in a form and was not asked in this request."""
    declared = call.client.capabilities.get("elicitation")
    has_forms = isinstance(declared, Mapping) and (not declared or "form" in declared)
    return call.client.can_answer and has_forms and MISSING not in call.answers


def _given_arguments(call: Call) -> JsonObject:
    """Return the arguments that the client has given when it was asked; none if it was not, or has declined."""
    answer = as_object(call.answers.get(MISSING))
    return as_object(answer.get("content")) if answer.get("action") == "accept" else {}


def _explanation(definition: Definition, transition: str, principal: Principal) -> CallToolResult:
    shows_settings = ADMINISTRATION in principal.permissions
    found = explain_transition(definition, transition, shows_settings=shows_settings)
    if found is not None:
        return build_result(found)
    close = suggest_name(transition, {name for state in definition.states.values() for name in state.transitions})
    advice = f" Did you mean {close}?" if close else ""
    message = f"The workflow {definition.id} has no transition {transition}.{advice}"
    return build_error("NOT_FOUND", message, [link("explain", EXPLAIN, definitionId=definition.id)])


@dataclass(frozen=True, slots=True)
class _Attempted:
    """A read or write of a workflow."""

    workflow_id: str
    outcome: StepResult | WorkflowRefusal | None
    """None if the workflow cannot be read or written now."""
    is_start: bool = False


def _attempt(
    request: Callable[[], StepResult | WorkflowRefusal], workflow_id: str, *, is_start: bool = False
) -> _Attempted:
    try:
        return _Attempted(workflow_id, request(), is_start)
    except Unavailable:
        return _Attempted(workflow_id, None, is_start)


def _attempt_start(
    workflows: Workflows,
    request: StartRequest,
    principal: Principal,
    start: Callable[[StartRequest], StepResult | WorkflowRefusal],
) -> _Attempted:
    workflow_id = workflows.id_for(request, principal)
    return _attempt(lambda: start(replace(request, workflow_id=workflow_id)), workflow_id, is_start=True)


def _present(attempted: _Attempted) -> CallToolResult:
    """Build the answer. If the workflow cannot be read or written now, it is a link to it: the write may have been
    done, so the client should look before it tries again."""
    match attempted.outcome:
        case None:
            message = START_UNKNOWN if attempted.is_start else STATE_UNREADABLE
            links = [self_link(attempted.workflow_id)]
            return build_error("STALE_WORKFLOW_VERSION", message, links, retry_after_ms=WRITE_RETRY_AFTER_MS)
        case WorkflowRefusal() as refusal:
            return _declined_result(refusal)
        case StepResult(definition, step):
            return build_result(build_answer(definition, step, is_start=attempted.is_start))


def _declined_result(found: WorkflowRefusal) -> CallToolResult:
    run_links = () if found.run is None else (self_link(found.run),)
    return build_error(found.code, found.message, [*run_links, *describe_links(found.about, found.about_kind)])
