"""What drives workflows at /mcp. Every answer has the links to go on with, the refusals too."""

from collections.abc import Callable, Mapping

from signpost.model import PROXY, Call, JsonObject, Tool, ToolResult, as_object
from signpost.spelling import meant
from signpost.surfaces.seven import (
    EXPLAIN,
    GET,
    START,
    SUBMIT,
    described,
    failed,
    link,
    told,
)
from signpost.workflow.answers import answer, explained, explained_transition
from signpost.workflow.definition import Definition
from signpost.workflow.service import Declined, Told, Workflows
from signpost.workflow.steps import Submitted


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
        definition_id = str(arguments.get("definitionId", PROXY))
        return _result(self._workflows.start(definition_id, as_object(arguments.get("input")), call.principal))

    def _get(self, arguments: JsonObject, call: Call) -> ToolResult:
        return _result(self._workflows.get(str(arguments["workflowId"]), call.principal))

    def _submit(self, arguments: JsonObject, call: Call) -> ToolResult:
        expected = arguments["expectedVersion"]
        submitted = Submitted(
            expected_version=int(expected) if isinstance(expected, int | float) else 0,
            transition=str(arguments["transition"]),
            arguments=as_object(arguments.get("arguments")),
            principal=call.principal,
        )
        return _result(self._workflows.submit(str(arguments["workflowId"]), submitted))

    def _explain(self, arguments: JsonObject, call: Call) -> ToolResult:
        found = self._workflows.explain(str(arguments["definitionId"]), call.principal)
        if isinstance(found, Declined):
            return _declined(found)
        transition = arguments.get("transition")
        return _explanation(found, transition) if isinstance(transition, str) else told(explained(found))


def _explanation(definition: Definition, transition: str) -> ToolResult:
    found = explained_transition(definition, transition)
    if found is not None:
        return told(found)
    close = meant(transition, {name for state in definition.states.values() for name in state.transitions})
    advice = f" Did you mean {close}?" if close else ""
    message = f"The workflow {definition.id} has no transition {transition}.{advice}"
    return failed("NOT_FOUND", message, [link("explain", EXPLAIN, definitionId=definition.id)])


def _result(found: Told | Declined) -> ToolResult:
    return _declined(found) if isinstance(found, Declined) else told(answer(found.definition, found.step))


def _declined(found: Declined) -> ToolResult:
    return failed(found.code, found.message, described(found.about))
