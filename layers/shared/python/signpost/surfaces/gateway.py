"""The default surface: the tools at /mcp through which everything is found and driven."""

from collections.abc import Mapping, Sequence

from signpost.model import Call, CatalogueItem, Json, JsonObject, Tool, ToolResult
from signpost.policy.seals import Sealer
from signpost.protocol.messages import encode
from signpost.registry.catalogue import CatalogueView

INSTRUCTIONS = (
    "Signpost is a gateway to capabilities and governed workflows. Call gateway.home to see what there is. "
    "Every item carries `links`: each names the tool to call next and the arguments to send. "
    "Follow links instead of guessing names."
)
PAGE = 200
CURSOR = "gateway.home"

HOME = Tool(
    name="gateway.home",
    title="What is there",
    description=(
        "Lists the capabilities and workflows you can use, each with links that start it. "
        "Call it first, without arguments. A long catalogue comes in pages: follow the `next` link."
    ),
    input_schema={
        "type": "object",
        "properties": {"cursor": {"type": "string", "description": "From the `next` link of the page before."}},
        "additionalProperties": False,
    },
    output_schema={
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": {"type": "object"}},
            "nextCursor": {"type": "string"},
            "links": {"type": "array", "items": {"type": "object"}},
            "error": {"type": "object"},
        },
    },
    annotations={"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
)


class GatewayTools:
    def __init__(self, *, catalogue: CatalogueView, sealer: Sealer) -> None:
        self._catalogue = catalogue
        self._sealer = sealer

    def tools(self, call: Call) -> Sequence[Tool]:
        del call  # everybody sees the same tools here; what they list depends on who asks
        return (HOME,)

    def tool(self, name: str, call: Call) -> Tool | None:
        del call
        return HOME if name == HOME.name else None

    def call_tool(self, tool: Tool, arguments: JsonObject, call: Call) -> ToolResult:
        del tool  # there is one so far
        after = self._position(arguments.get("cursor"), call)
        if after is None:
            return _refused("The cursor is not one of yours. Start again without a cursor.")
        items = self._catalogue.snapshot(call.principal.tenant).items
        rest = [item for item in items if item.id > after]
        return _answer(self._page(rest, call))

    def _position(self, cursor: Json, call: Call) -> str | None:
        """The id after which the page begins, so that a publication between two pages disturbs neither."""
        if cursor is None:
            return ""
        after = self._sealer.open(CURSOR, cursor, call.principal) if isinstance(cursor, str) else None
        return after if isinstance(after, str) else None

    def _page(self, rest: Sequence[CatalogueItem], call: Call) -> JsonObject:
        shown = rest[:PAGE]
        answer: JsonObject = {"items": [_item(item) for item in shown]}
        if len(rest) <= PAGE:
            return answer
        cursor = self._sealer.seal(CURSOR, shown[-1].id, call.principal)
        following: JsonObject = {"rel": "next", "method": HOME.name, "args": {"cursor": cursor}}
        return {**answer, "nextCursor": cursor, "links": [following]}


def _item(item: CatalogueItem) -> JsonObject:
    return {
        "id": item.id,
        "kind": item.kind,
        "title": item.title,
        "description": item.description,
        "tags": list(item.tags),
        "links": [_start(item)],
    }


def _start(item: CatalogueItem) -> JsonObject:
    arguments: Mapping[str, Json] = (
        {"definitionId": item.id, "input": {}}
        if item.kind == "workflow"
        else {"definitionId": "proxy_default", "input": {"capability": item.id}}
    )
    return {"rel": "start", "method": "workflow.start", "args": arguments}


def _answer(structured: JsonObject) -> ToolResult:
    return ToolResult(content=[{"type": "text", "text": encode(structured)}], structured=structured)


def _refused(message: str) -> ToolResult:
    home: JsonObject = {"rel": "home", "method": HOME.name, "args": {}}
    structured: JsonObject = {"error": {"code": "INPUT_SCHEMA_VIOLATION", "message": message}, "links": [home]}
    return ToolResult(content=[{"type": "text", "text": message}], structured=structured, is_error=True)
