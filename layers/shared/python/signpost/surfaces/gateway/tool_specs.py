"""The seven tools of /mcp as clients see them. The modules that run them are imported when one is called."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from signpost.contract import LONGEST_URI
from signpost.errors import GatewayToolCode
from signpost.model import PROXY_WORKFLOW, WAITING_FOR, Call, CallToolResult, InputRequired, Json, JsonObject, Tool

INSTRUCTIONS = (
    "Signpost is a gateway to skills and other capabilities, to governed workflows, and to the documents that explain "
    "them. Every answer carries `links`: each names the tool to call next (`method`) and its arguments (`args`). "
    "Follow links instead of guessing names. "
    "1. Find: gateway.search with a few words of the task, or gateway.home for all that can be started; "
    "gateway.describe shows the input of an item. Documents at iii:// URIs say when and how to use skills: a `read` or "
    "`doc` link names resources/read, a method of MCP that takes `args` as its params, or the tool skill__fetch, which "
    "can be called although tools/list does not show it. "
    "2. Start: workflow.start with the args of a `start` link, its `input` filled in. "
    "3. Continue: take a `transition` link, fill in `arguments` as its inputSchema says, and send its args, with their "
    "expectedVersion, to workflow.submit. Read the links of the answer, and repeat. "
    "4. An answer with `error` has changed nothing, unless its code is CHAIN_FAILED: then the step is done, and an "
    "automatic step after it failed. Follow the `self` link to read the state of the workflow, then choose again. "
    "5. A link with `actor: human` is for a person. When `waitingFor` is human, tell your user so, with the open "
    "request (`approval`), and call workflow.get again later. Taking another link may withdraw the request. When it is "
    "answers, a step has asked `questions`: put them to your user, and answer by the `$answer` link. "
    "6. Stop when `terminal` is true."
)
PAGE = 200
"""The most items of the catalogue in one answer."""
LONGEST_NAME = 1000
LONGEST_ITEM_ID = LONGEST_URI
"""The URI of a resource is the longest id that an item can have."""
_POSSIBLE_RUN = re.compile(r"wf_[A-Za-z0-9]{1,64}")
"""The ids that a run can have. An error links to no other."""
WORKFLOW, CAPABILITY, CONNECTION = "workflow", "capability", "connection"
DOCUMENT, PROMPT, RESOURCE = "document", "prompt", "resource"
CONTENT_KINDS = (DOCUMENT, PROMPT, RESOURCE)
KINDS = (WORKFLOW, CAPABILITY, CONNECTION, *CONTENT_KINDS)
"""The kinds of items. Where several have one id, the first of these kinds is described."""
RUN, APPROVAL = "run", "approval"
RUN_KINDS = (RUN, APPROVAL)
"""The kinds of items that are not in the catalogue: gateway.search lists them, newest first."""


def _closed_object(required: Sequence[str] = (), **properties: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _open_object(required: Sequence[str] = (), **properties: JsonObject) -> JsonObject:
    return {"type": "object", "properties": properties, "required": list(required)}


_TEXT: JsonObject = {"type": "string"}
_TEXTS: JsonObject = {"type": "array", "items": _TEXT}
_OBJECT: JsonObject = {"type": "object"}
_OBJECTS: JsonObject = {"type": "array", "items": _OBJECT}
_LINKS: JsonObject = {
    "type": "array",
    "description": "The calls that are possible next.",
    "items": _open_object(["rel", "method", "args"], rel=_TEXT, method=_TEXT, args=_OBJECT),
}
# Clients validate errors against the schema as well: only members that errors have are required.
_ERROR = _open_object(["code", "message"], code=_TEXT, message=_TEXT)
_ITEM_PROPERTIES: Mapping[str, JsonObject] = {
    "id": _TEXT,
    "kind": {"enum": [*KINDS, *RUN_KINDS]},
    "title": _TEXT,
    "description": _TEXT,
    "tags": _TEXTS,
    "links": _LINKS,
}
_ITEM = _open_object(["id", "kind", "title", "links"], **_ITEM_PROPERTIES)
_INSTANCE_ANSWER = _open_object(
    ["links"],
    workflowId=_TEXT,
    definitionId=_TEXT,
    state=_TEXT,
    version={"type": "integer", "description": "Send it back as expectedVersion."},
    context=_OBJECT,
    terminal={"type": "boolean", "description": "True when the workflow has ended."},
    waitingFor={
        "type": "string",
        "description": "`human`: a person has to act. Read the workflow again later. `answers`: a step has asked "
        "`questions`. Answer them by the `$answer` link.",
    },
    questions={"type": "object", "description": "The open questions that you may answer, by their keys."},
    pending={
        "type": "object",
        "description": "The running step. Follow the `self` link after retryAfterMs; until then only the moves of the "
        "other links are open.",
    },
    inDoubt={"type": "object", "description": "The step that was executed with an unknown result."},
    entering={"type": "string", "description": "The state whose onEnter is not done. A link runs it again."},
    fault={"type": "object", "description": "The failure of a step that continued after its answer."},
    cancelled={"type": "object", "description": "Present if the workflow was cancelled, with the principal."},
    timedOut={"type": "boolean", "description": "True if a deadline had passed; the submission was not carried out."},
    approval={"type": "object", "description": "The open approval request, with the digest of the shown values."},
    chain={"type": "array", "description": "The automatic steps that followed.", "items": _OBJECT},
    guidance={"type": "object", "description": "The goal of this state, and instructions."},
    evidence=_OBJECTS,
    error=_ERROR,
    links=_LINKS,
)
_READ_ONLY: JsonObject = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
_NAME: JsonObject = {"type": "string", "maxLength": LONGEST_NAME}
"""A name from the client goes into answers and the audit, also if nothing has it; so its length is limited."""
JSON_OBJECT: JsonObject = {"anyOf": [_OBJECT, _TEXT]}
"""An object, or its JSON text: some hosts close objects that declare no members, so that no member can be sent."""
_AS_TEXT = "Send the object as JSON text only if your host does not let you send its members."
_WORKFLOW_ID: JsonObject = {**_NAME, "description": "The workflowId of the answer that started it."}

RUN_FILTERS: Mapping[str, JsonObject] = {
    "state": {**_NAME, "description": "Of runs and approvals: those in this state."},
    "definition": {**_NAME, "description": "Of runs and approvals: those of this workflow or capability."},
    "waiting": {"enum": list(WAITING_FOR), "description": "Of runs: those that wait for this."},
    "fault": {"type": "boolean", "description": "Of runs: whether a fault has stopped their last step."},
    "mine": {"type": "boolean", "description": "Of runs: true for those that you have started."},
    "cursor": {"type": "string", "description": "Of runs and approvals: the cursor of the `next` link."},
}
"""The arguments of gateway.search that choose among runs and approval requests."""
HOME = Tool(
    name="gateway.home",
    title="List capabilities and workflows",
    description=(
        "Lists the skills and other capabilities and the workflows you can use, each with links that start it. "
        "Call it first, without arguments. A long catalogue comes in pages: follow the `next` link. Other links lead "
        "to the lists of documents, prompts, resources, runs and approval requests."
    ),
    # Open: hosts that cannot send an empty object send an argument of their own.
    input_schema=_open_object([], cursor={"type": "string", "description": "The cursor of the `next` link."}),
    output_schema=_open_object(items={"type": "array", "items": _ITEM}, nextCursor=_TEXT, links=_LINKS, error=_ERROR),
    annotations=_READ_ONLY,
)
SEARCH = Tool(
    name="gateway.search",
    title="Search the catalogue",
    description=(
        "Finds skills and other capabilities, workflows, iii:// documents, prompts and resources for a task, the best "
        "match first, each with the link that starts, reads or renders it. Describe the task in a few words. "
        "With the kind `run` it lists the runs of workflows that you may see, with `approval` the approval requests "
        "that you may answer or have asked for, newest first."
    ),
    input_schema=_closed_object(
        (),
        query={"type": "string", "description": "A few words of the task. Without words all items are found."},
        kind={"enum": [*KINDS, *RUN_KINDS], "description": "The kind of items to find."},
        limit={"type": "integer", "minimum": 0, "default": 10, "description": f"Number of results; at most {PAGE}."},
        **RUN_FILTERS,
    ),
    output_schema=_open_object(
        results={"type": "array", "items": _open_object(["score", "item"], score={"type": "number"}, item=_ITEM)},
        nextCursor=_TEXT,
        links=_LINKS,
        error=_ERROR,
    ),
    annotations=_READ_ONLY,
)
DESCRIBE = Tool(
    name="gateway.describe",
    title="Describe an item",
    description=(
        "Describes one item: a skill or another capability, or a workflow, with the schema of its input as "
        "`input_schema` of its start link; a document, prompt or resource with the links that read or render it; a "
        "run or an approval request with the link to its run."
    ),
    input_schema=_closed_object(
        ["id"],
        id={
            "type": "string",
            "maxLength": LONGEST_ITEM_ID,
            "description": "The id of an item of gateway.home or gateway.search.",
        },
        kind={
            "enum": [*KINDS, *RUN_KINDS],
            "description": "The kind of the item, where items of several kinds have the id.",
        },
    ),
    output_schema=_open_object([], **_ITEM_PROPERTIES, error=_ERROR),
    annotations=_READ_ONLY,
    mentions=(HOME.name, SEARCH.name),
)
START = Tool(
    name="workflow.start",
    title="Start a workflow",
    description=(
        "Starts a workflow from a `start` link. Steps that need no decision are done at once; the answer has the state "
        "of the workflow and links to every call that is open to you next."
    ),
    input_schema=_closed_object(
        definitionId={
            **_NAME,
            "description": f"The id of the workflow; if left out, {PROXY_WORKFLOW}, the workflow of all capabilities.",
        },
        input={
            **JSON_OBJECT,
            "description": f"The input of the workflow; gateway.describe shows its schema. {_AS_TEXT}",
        },
        clientToken={
            "type": "string",
            "minLength": 1,
            "maxLength": LONGEST_NAME,
            "description": "A text of your choice. Send the same start with it again if no answer came: nothing is "
            "started twice.",
        },
    ),
    output_schema=_INSTANCE_ANSWER,
    mentions=(DESCRIBE.name,),
)
GET = Tool(
    name="workflow.get",
    title="Read the state of a workflow",
    description="Returns the state of a workflow, its version, and links to every call that is open to you now.",
    input_schema=_closed_object(["workflowId"], workflowId=_WORKFLOW_ID),
    output_schema=_INSTANCE_ANSWER,
    annotations=_READ_ONLY,
)
SUBMIT = Tool(
    name="workflow.submit",
    title="Take a transition",
    description=(
        "Takes a transition: send a `transition` link's args, with `arguments` filled in as its inputSchema says. A "
        "refusal changes nothing and links the open calls; after STALE_WORKFLOW_VERSION follow the `self` link."
    ),
    input_schema=_closed_object(
        ["workflowId", "expectedVersion", "transition"],
        workflowId=_WORKFLOW_ID,
        expectedVersion={"type": "integer", "description": "The version of the answer whose link you follow."},
        transition=_NAME,
        arguments={**JSON_OBJECT, "description": f"The arguments as the link's inputSchema says. {_AS_TEXT}"},
    ),
    output_schema=_INSTANCE_ANSWER,
)
EXPLAIN = Tool(
    name="workflow.explain",
    title="Explain a workflow",
    description="Shows the states and transitions of a workflow without starting it, or one `transition` in detail.",
    input_schema=_closed_object(["definitionId"], definitionId=_NAME, transition=_NAME),
    output_schema=_OBJECT,
    annotations=_READ_ONLY,
)
DISCOVERY_TOOLS = (HOME, SEARCH, DESCRIBE)
WORKFLOW_TOOLS = (START, GET, SUBMIT, EXPLAIN)
GATEWAY_TOOLS = (*DISCOVERY_TOOLS, *WORKFLOW_TOOLS)
"""In the order in which they are listed."""
RUN_TOOLS = (EXPLAIN, GET, SUBMIT)
"""The tools that continue a run, by name. Surfaces that hand out runs list them: some hosts call listed tools only."""
MENTIONS = tuple(tool.name for tool in GATEWAY_TOOLS)
"""The tools that instructions name."""


class ToolRunner(Protocol):
    """Runs some of the gateway tools."""

    def run(self, tool: Tool, arguments: JsonObject, call: Call) -> CallToolResult | InputRequired: ...


class GatewayTools:
    """The provider of the gateway tools: callable on every surface that has it. `list_for` chooses the listed ones."""

    def __init__(
        self,
        *,
        discovery: Callable[[], ToolRunner],
        workflow_runner: Callable[[], ToolRunner],
        list_for: Callable[[Call], Sequence[Tool]],
    ) -> None:
        self._discovery = discovery
        self._workflow_runner = workflow_runner
        self._list_for = list_for
        self._by_name = {tool.name: tool for tool in GATEWAY_TOOLS}

    def tools(self, call: Call) -> Sequence[Tool]:
        return self._list_for(call)

    def hidden_tools(self, call: Call) -> Sequence[Tool]:
        listed = self._list_for(call)
        return [tool for tool in GATEWAY_TOOLS if tool not in listed]

    def tool(self, name: str, call: Call) -> Tool | None:
        del call  # all callers have the same tools; answers depend on the caller
        return self._by_name.get(name)

    def call_tool(self, tool: Tool, arguments: JsonObject, call: Call) -> CallToolResult | InputRequired:
        find_runner = self._discovery if tool in DISCOVERY_TOOLS else self._workflow_runner
        return find_runner().run(tool, arguments, call)

    def format_refusal(self, arguments: JsonObject, message: str) -> CallToolResult:
        return refuse_arguments(arguments, message)


def link(rel: str, tool: Tool, **args: Json) -> JsonObject:
    return {"rel": rel, "method": tool.name, "args": args}


def self_link(workflow_id: str) -> JsonObject:
    return link("self", GET, workflowId=workflow_id)


def build_result(structured: JsonObject, *, is_error: bool = False) -> CallToolResult:
    """Build a structured result; the MCP layer adds its text."""
    return CallToolResult((), structured, is_error=is_error, has_links=True)


def build_error(
    code: GatewayToolCode, message: str, links: Sequence[JsonObject] = (), *, retry_after_ms: int | None = None
) -> CallToolResult:
    """Build an error with links: those given and those to `gateway.home` and `gateway.search`."""
    anywhere = (link("home", HOME), link("search", SEARCH, query=""))
    later: dict[str, Json] = {} if retry_after_ms is None else {"retryAfterMs": retry_after_ms}
    error: JsonObject = {"code": code, "message": message, **later}
    return build_result({"error": error, "links": [*links, *anywhere]}, is_error=True)


def refuse_arguments(arguments: JsonObject, message: str) -> CallToolResult:
    """Build the refusal of arguments that violate the schema, in the form of every other error."""
    workflow_id = arguments.get("workflowId")
    is_possible = isinstance(workflow_id, str) and _POSSIBLE_RUN.fullmatch(workflow_id) is not None
    return build_error("INPUT_SCHEMA_VIOLATION", message, [self_link(str(workflow_id))] if is_possible else [])


def describe_links(item_id: str | None, kind: str | None = None) -> Sequence[JsonObject]:
    """Return a link to the item that the client probably meant, if there is one. Items of several kinds may have its
    id: `kind` names the one that is meant, if that is known."""
    if item_id is None:
        return ()
    of_kind: JsonObject = {} if kind is None else {"kind": kind}
    return (link("describe", DESCRIBE, id=item_id, **of_kind),)
