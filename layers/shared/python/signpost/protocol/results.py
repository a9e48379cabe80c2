"""The wire form of what providers return, per revision of the protocol."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from signpost import __version__
from signpost.model import (
    Completion,
    Json,
    JsonObject,
    Prompt,
    PromptResult,
    Resource,
    ResourceTemplate,
    Tool,
    ToolResult,
)
from signpost.protocol.eras import Era

SERVER_INFO: JsonObject = {"name": "signpost", "title": "Signpost", "version": __version__}

STRUCTURED_SINCE = "2025-06-18"
"""Also the first revision with titles, output schemas and resource links."""
ANNOTATIONS_SINCE = "2025-03-26"


@dataclass(frozen=True, slots=True)
class Freshness:
    """How long a client may keep a result. Private: lists depend on who asks."""

    ttl_ms: int


LISTS = Freshness(2_000)
DISCOVERY = Freshness(60_000)


def finished(result: JsonObject, era: Era, freshness: Freshness | None) -> JsonObject:
    """The result with the envelope of its era."""
    if not era.modern:
        return result
    caching: JsonObject = {"ttlMs": freshness.ttl_ms, "cacheScope": "private"} if freshness else {}
    meta: JsonObject = {"io.modelcontextprotocol/serverInfo": SERVER_INFO}
    return {"resultType": "complete", **result, **caching, "_meta": meta}


def tool(described: Tool, era: Era) -> JsonObject:
    fields: dict[str, Json] = {
        "name": described.name,
        "description": described.description,
        "inputSchema": described.input_schema,
    }
    if described.annotations and era.has(ANNOTATIONS_SINCE):
        fields["annotations"] = described.annotations
    if era.has(STRUCTURED_SINCE):
        fields |= _present({"title": described.title, "outputSchema": described.output_schema})
    return fields


def tool_result(result: ToolResult, era: Era) -> JsonObject:
    fields: dict[str, Json] = {"content": list(result.content), "isError": result.is_error}
    if result.structured is not None and era.has(STRUCTURED_SINCE):
        fields["structuredContent"] = result.structured
    return fields


def resource(described: Resource, era: Era) -> JsonObject:
    return {"uri": described.uri, **_described(described, era)}


def resource_template(described: ResourceTemplate, era: Era) -> JsonObject:
    return {"uriTemplate": described.uri_template, **_described(described, era)}


def _described(described: Resource | ResourceTemplate, era: Era) -> JsonObject:
    title = described.title if era.has(STRUCTURED_SINCE) else None
    return {
        "name": described.name,
        **_present({"title": title, "description": described.description, "mimeType": described.mime_type}),
    }


def prompt(described: Prompt, era: Era) -> JsonObject:
    title = described.title if era.has(STRUCTURED_SINCE) else None
    arguments: Sequence[JsonObject] = [
        {"name": argument.name, "required": argument.required, **_present({"description": argument.description})}
        for argument in described.arguments
    ]
    return {
        "name": described.name,
        "arguments": arguments,
        **_present({"title": title, "description": described.description}),
    }


def prompt_result(result: PromptResult) -> JsonObject:
    return {"messages": list(result.messages), **_present({"description": result.description})}


def completion(found: Completion) -> JsonObject:
    fields: JsonObject = {"values": list(found.values), "hasMore": found.has_more, **_present({"total": found.total})}
    return {"completion": fields}


def _present(fields: Mapping[str, Json]) -> Mapping[str, Json]:
    return {name: value for name, value in fields.items() if value is not None}
