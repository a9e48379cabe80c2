"""The tools of /mcp that start and drive workflows. Every answer has links to the next calls, refusals too."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from signpost.errors import Unavailable
from signpost.identity.permissions import ADMINISTRATION
from signpost.model import PROXY_WORKFLOW, Call, CallToolResult, JsonObject, Principal, Tool, as_object
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


class WorkflowToolRunner:
    """Runs `workflow.start`, `workflow.get`, `workflow.submit` and `workflow.explain`."""

    def __init__(self, workflows: Workflows) -> None:
        self._workflows = workflows
        self._handlers: Mapping[str, Callable[[JsonObject, Call], CallToolResult]] = {
            START.name: self._start,
            GET.name: self._get,
            SUBMIT.name: self._submit,
            EXPLAIN.name: self._explain,
        }

    def run(self, tool: Tool, arguments: JsonObject, call: Call) -> CallToolResult:
        read = read_object_argument(tool, arguments)
        if isinstance(read, str):
            message = f"{call.spell_tool(tool.name)} was not called: {NO_OBJECT.format(name=read)}"
            return refuse_arguments(arguments, message)
        return self._handlers[tool.name](read, call)

    def _start(self, arguments: JsonObject, call: Call) -> CallToolResult:
        token = arguments.get("clientToken")
        request = StartRequest(
            definition_id=str(arguments.get("definitionId", PROXY_WORKFLOW)),
            input=as_object(arguments.get("input")),
            client_token=token if isinstance(token, str) else None,
        )
        start = self._workflows.start
        return start_workflow(
            self._workflows, request, call.principal, lambda with_id: start(with_id, call.principal, call.deadline)
        )

    def _get(self, arguments: JsonObject, call: Call) -> CallToolResult:
        workflow_id = str(arguments["workflowId"])
        return _run_request(lambda: self._workflows.get(workflow_id, call.principal, call.deadline), workflow_id)

    def _submit(self, arguments: JsonObject, call: Call) -> CallToolResult:
        expected = arguments["expectedVersion"]
        submitted = Submission(
            expected_version=int(expected) if isinstance(expected, int | float) else 0,
            transition=str(arguments["transition"]),
            arguments=as_object(arguments.get("arguments")),
            principal=call.principal,
        )
        workflow_id = str(arguments["workflowId"])
        return _run_request(lambda: self._workflows.submit(workflow_id, submitted, call.deadline), workflow_id)

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
    workflow_id = workflows.id_for(request, principal)
    message = (
        "It is unknown whether the workflow was started. Follow the `self` link in a moment; if there is no workflow, "
        "start it again."
    )
    return _run_request(lambda: start(replace(request, workflow_id=workflow_id)), workflow_id, message, is_start=True)


def _explanation(definition: Definition, transition: str, principal: Principal) -> CallToolResult:
    shows_settings = ADMINISTRATION in principal.permissions
    found = explain_transition(definition, transition, shows_settings=shows_settings)
    if found is not None:
        return build_result(found)
    close = suggest_name(transition, {name for state in definition.states.values() for name in state.transitions})
    advice = f" Did you mean {close}?" if close else ""
    message = f"The workflow {definition.id} has no transition {transition}.{advice}"
    return build_error("NOT_FOUND", message, [link("explain", EXPLAIN, definitionId=definition.id)])


def _run_request(
    request: Callable[[], StepResult | WorkflowRefusal],
    workflow_id: str,
    message: str = STATE_UNREADABLE,
    *,
    is_start: bool = False,
) -> CallToolResult:
    """Run a read or write of a workflow. If it cannot be read or written now, answer with a link to it: the write may
    have been done, so the client should look before it tries again."""
    try:
        answer = request()
    except Unavailable:
        return build_error(
            "STALE_WORKFLOW_VERSION", message, [self_link(workflow_id)], retry_after_ms=WRITE_RETRY_AFTER_MS
        )
    return (
        _declined_result(answer)
        if isinstance(answer, WorkflowRefusal)
        else build_result(build_answer(answer.definition, answer.step, is_start=is_start))
    )


def _declined_result(found: WorkflowRefusal) -> CallToolResult:
    run_links = () if found.run is None else (self_link(found.run),)
    return build_error(found.code, found.message, [*run_links, *describe_links(found.about, found.about_kind)])
