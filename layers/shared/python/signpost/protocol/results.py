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
    as_object,
)
from signpost.protocol.eras import Era
from signpost.protocol.messages import encode

SERVER_INFO: JsonObject = {"name": "signpost", "title": "Signpost", "version": __version__}

STRUCTURED_SINCE = "2025-06-18"
"""Also the first revision with titles, output schemas and resource links."""
ANNOTATIONS_SINCE = "2025-03-26"


@dataclass(frozen=True, slots=True)
class Listing:
    """A list whose entries are JSON text already, and what stands beside it. Lists are long, asked for often and
    hardly ever new, so that encoding them anew would be most of the work."""

    name: str
    entries: Sequence[str]
    beside: JsonObject


@dataclass(frozen=True, slots=True)
class Freshness:
    """How long a client may keep a result. Private: lists depend on who asks."""

    ttl_ms: int


LISTS = Freshness(2_000)
DISCOVERY = Freshness(60_000)


def to_text(result: JsonObject | Listing, era: Era, freshness: Freshness | None) -> str:
    """The result with the envelope of its era, as it is sent."""
    if not isinstance(result, Listing):
        return encode(finished(result, era, freshness))
    beside = encode(finished(result.beside, era, freshness))
    listed = f'{{"{result.name}":[{",".join(result.entries)}]'
    return f"{listed}}}" if beside == "{}" else f"{listed},{beside[1:]}"


def finished(result: JsonObject, era: Era, freshness: Freshness | None) -> JsonObject:
    if not era.modern:
        return result
    is_whole = result.get("resultType", "complete") == "complete"
    caching: JsonObject = {"ttlMs": freshness.ttl_ms, "cacheScope": "private"} if freshness and is_whole else {}
    meta: JsonObject = {"io.modelcontextprotocol/serverInfo": SERVER_INFO}
    return {"resultType": "complete", **result, **caching, "_meta": meta}


def tool(described: Tool, name: str, era: Era) -> JsonObject:
    fields: dict[str, Json] = {
        "name": name,
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


def link_to(result: Json, address: str) -> JsonObject:
    """In place of a tool result that is too long to be sent: a link to it, for as long as it is kept."""
    kept = as_object(result)
    envelope = {name: kept[name] for name in ("resultType", "isError", "_meta") if name in kept}
    described = "The whole result as JSON. It can be read here for five minutes."
    link: JsonObject = {
        "type": "resource_link",
        "uri": address,
        "name": "result.json",
        "description": described,
        "mimeType": "application/json",
    }
    return {"content": [{"type": "text", "text": f"The result is too long to be sent: {address}"}, link], **envelope}


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
