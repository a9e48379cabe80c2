"""What drives workflows at /mcp. Every answer has the links to go on with, the refusals too."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from signpost.errors import Unavailable
from signpost.model import PROXY, Call, JsonObject, Principal, Tool, ToolResult, as_object
from signpost.spelling import meant
from signpost.surfaces.seven import (
    EXPLAIN,
    GET,
    START,
    SUBMIT,
    described,
    failed,
    link,
    self_link,
    told,
)
from signpost.workflow.answers import answer, explained, explained_transition
from signpost.workflow.definition import Definition
from signpost.workflow.service import PUT_BACK_MS, Declined, Start, Told, Workflows
from signpost.workflow.steps import Submitted

UNREAD = "Where the workflow stands cannot be read now. Look again in a moment."


class Driving:
    def __init__(self, workflows: Workflows) -> None:
        self._workflows = workflows
        self._run: Mapping[str, Callable[[JsonObject, Call], ToolResult]] = {
            START.name: self._start,
            GET.name: self._get,
            SUBMIT.name: self._submit,
            EXPLAIN.name: self._explain,
        }

    def run(self, tool: Tool, arguments: JsonObject, call: Call) -> ToolResult:
        return self._run[tool.name](arguments, call)

    def _start(self, arguments: JsonObject, call: Call) -> ToolResult:
        token = arguments.get("clientToken")
        wanted = Start(
            definition_id=str(arguments.get("definitionId", PROXY)),
            given=as_object(arguments.get("input")),
            client_token=token if isinstance(token, str) else None,
        )
        start = self._workflows.start
        return begun(self._workflows, wanted, call.principal, lambda named: start(named, call.principal, call.deadline))

    def _get(self, arguments: JsonObject, call: Call) -> ToolResult:
        workflow_id = str(arguments["workflowId"])
        return _result(lambda: self._workflows.get(workflow_id, call.principal, call.deadline), workflow_id)

    def _submit(self, arguments: JsonObject, call: Call) -> ToolResult:
        expected = arguments["expectedVersion"]
        submitted = Submitted(
            expected_version=int(expected) if isinstance(expected, int | float) else 0,
            transition=str(arguments["transition"]),
            arguments=as_object(arguments.get("arguments")),
            principal=call.principal,
        )
        workflow_id = str(arguments["workflowId"])
        return _result(lambda: self._workflows.submit(workflow_id, submitted, call.deadline), workflow_id)

    def _explain(self, arguments: JsonObject, call: Call) -> ToolResult:
        found = self._workflows.explain(str(arguments["definitionId"]), call.principal)
        if isinstance(found, Declined):
            return _declined(found)
        transition = arguments.get("transition")
        return _explanation(found, transition) if isinstance(transition, str) else told(explained(found))


def begun(
    workflows: Workflows, wanted: Start, principal: Principal, start: Callable[[Start], Told | Declined]
) -> ToolResult:
    """By an id that is chosen here: whoever is not told what came of it can look."""
    workflow_id = workflows.id_for(wanted, principal)
    message = "Nobody can say now whether it was started. Look in a moment; if there is none, start it again."
    return _result(lambda: start(replace(wanted, workflow_id=workflow_id)), workflow_id, message)


def _explanation(definition: Definition, transition: str) -> ToolResult:
    found = explained_transition(definition, transition)
    if found is not None:
        return told(found)
    close = meant(transition, {name for state in definition.states.values() for name in state.transitions})
    advice = f" Did you mean {close}?" if close else ""
    message = f"The workflow {definition.id} has no transition {transition}.{advice}"
    return failed("NOT_FOUND", message, [link("explain", EXPLAIN, definitionId=definition.id)])


def _result(ask: Callable[[], Told | Declined], workflow_id: str, unread: str = UNREAD) -> ToolResult:
    """Whatever cannot be read or written now: it may have been done already, so it is to be looked at first."""
    try:
        found = ask()
    except Unavailable:
        return failed("STALE_WORKFLOW_VERSION", unread, [self_link(workflow_id)], retry_after_ms=PUT_BACK_MS)
    return _declined(found) if isinstance(found, Declined) else told(answer(found.definition, found.step))


def _declined(found: Declined) -> ToolResult:
    return failed(found.code, found.message, described(found.about))
