"""The four tools that drive workflows. Every answer has the links to go on with, the refusals too."""

from collections.abc import Callable, Mapping, Sequence

from signpost.model import Call, Json, JsonObject, Tool, ToolResult, as_object
from signpost.protocol.messages import encode
from signpost.workflow.answers import answer, explained, explained_transition
from signpost.workflow.definition import Definition
from signpost.workflow.service import Declined, Told, Workflows
from signpost.workflow.steps import Submitted

DEFAULT_DEFINITION = "proxy_default"
_LINKS: JsonObject = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"rel": {"type": "string"}, "method": {"type": "string"}, "args": {"type": "object"}},
        "required": ["rel", "method", "args"],
    },
}
_ERROR: JsonObject = {
    "type": "object",
    "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
    "required": ["code", "message"],
}
_STAND: JsonObject = {
    "type": "object",
    "properties": {
        "workflowId": {"type": "string"},
        "definitionId": {"type": "string"},
        "state": {"type": "string"},
        "version": {"type": "integer", "description": "Send it back as expectedVersion."},
        "context": {"type": "object"},
        "terminal": {"type": "boolean", "description": "True when there is nothing more to do."},
        "waitingFor": {"type": "string", "description": "Who has to act before anything else can."},
        "chain": {"type": "array", "description": "Steps that followed by themselves.", "items": {"type": "object"}},
        "guidance": {"type": "object", "description": "What this state is for, and how to go about it."},
        "evidence": {"type": "array", "items": {"type": "object"}},
        "error": _ERROR,
        "links": _LINKS,
    },
    "required": ["links"],
}


def _closed(required: Sequence[str] = (), **properties: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


_WORKFLOW_ID: JsonObject = {"type": "string", "description": "From the answer that started it."}

START = Tool(
    name="workflow.start",
    title="Start a workflow",
    description=(
        "Starts a workflow from a `start` link. What can be done without you is done at once; the answer says where it "
        "stands and links every next move."
    ),
    input_schema=_closed(
        definitionId={"type": "string", "description": f"What to start; {DEFAULT_DEFINITION} if left out."},
        input={"type": "object", "description": "What the workflow asks for; gateway.describe shows its schema."},
    ),
    output_schema=_STAND,
)
GET = Tool(
    name="workflow.get",
    title="See where a workflow stands",
    description="Where a workflow stands, its version, and links to every move that is open to you now.",
    input_schema=_closed(["workflowId"], workflowId=_WORKFLOW_ID),
    output_schema=_STAND,
    annotations={"readOnlyHint": True, "idempotentHint": True},
)
SUBMIT = Tool(
    name="workflow.submit",
    title="Take the next step",
    description=(
        "Takes a transition: send a `transition` link's args, with `arguments` filled in as its inputSchema says. A "
        "refusal changes nothing and links what is open instead; after STALE_WORKFLOW_VERSION follow the `self` link."
    ),
    input_schema=_closed(
        ["workflowId", "expectedVersion", "transition"],
        workflowId=_WORKFLOW_ID,
        expectedVersion={"type": "integer", "description": "The version of the answer whose link you follow."},
        transition={"type": "string"},
        arguments={"type": "object"},
    ),
    output_schema=_STAND,
)
EXPLAIN = Tool(
    name="workflow.explain",
    title="Explain a workflow",
    description="The states and transitions of a workflow, without starting it; with `transition` all about that one.",
    input_schema=_closed(["definitionId"], definitionId={"type": "string"}, transition={"type": "string"}),
    output_schema={"type": "object"},
    annotations={"readOnlyHint": True, "idempotentHint": True},
)


class WorkflowTools:
    def __init__(self, workflows: Workflows) -> None:
        self._workflows = workflows
        self._by_name: Mapping[str, tuple[Tool, Callable[[JsonObject, Call], ToolResult]]] = {
            tool.name: (tool, run)
            for tool, run in (
                (START, self._start),
                (GET, self._get),
                (SUBMIT, self._submit),
                (EXPLAIN, self._explain),
            )
        }

    def tools(self, call: Call) -> Sequence[Tool]:
        del call  # everybody drives workflows with the same tools
        return [tool for tool, _ in self._by_name.values()]

    def tool(self, name: str, call: Call) -> Tool | None:
        del call
        found = self._by_name.get(name)
        return found[0] if found else None

    def call_tool(self, tool: Tool, arguments: JsonObject, call: Call) -> ToolResult:
        return self._by_name[tool.name][1](arguments, call)

    def _start(self, arguments: JsonObject, call: Call) -> ToolResult:
        definition_id = str(arguments.get("definitionId", DEFAULT_DEFINITION))
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
            return declined(found)
        transition = arguments.get("transition")
        return _told(_explanation(found, transition) if isinstance(transition, str) else explained(found))


def _explanation(definition: Definition, transition: str) -> JsonObject:
    found = explained_transition(definition, transition)
    if found is not None:
        return found
    message = f"The workflow {definition.id} has no transition {transition}."
    links: list[Json] = [{"rel": "explain", "method": EXPLAIN.name, "args": {"definitionId": definition.id}}]
    return {"error": {"code": "NOT_FOUND", "message": message}, "links": links}


def _result(found: Told | Declined) -> ToolResult:
    return declined(found) if isinstance(found, Declined) else _told(answer(found.definition, found.step))


def declined(found: Declined) -> ToolResult:
    """There is nothing to go on with but to look for something else."""
    home: JsonObject = {"rel": "home", "method": "gateway.home", "args": {}}
    structured: JsonObject = {"error": {"code": found.code, "message": found.message}, "links": [home]}
    return ToolResult([{"type": "text", "text": encode(structured)}], structured, is_error=True)


def _told(structured: JsonObject) -> ToolResult:
    return ToolResult(
        [{"type": "text", "text": encode(structured)}],
        structured,
        is_error="error" in structured and "workflowId" not in structured,
    )
