"""The wire form of what providers return, per revision of the protocol."""

from collections.abc import Mapping, Sequence

from signpost import __version__
from signpost.content import AgentSkill
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
from signpost.records import dataclass

SERVER_INFO: JsonObject = {"name": "signpost", "title": "Signpost", "version": __version__}

STRUCTURED_SINCE = "2025-06-18"
"""Also the first revision with titles, output schemas and resource links."""
MOST_COMPLETIONS = 100
SIZES_SINCE = ANNOTATIONS_SINCE = "2025-03-26"
ICONS_SINCE = "2025-11-25"


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
    own = as_object(result.get("_meta"))
    meta: JsonObject = {**own, "io.modelcontextprotocol/serverInfo": SERVER_INFO}
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
        meta = described.meta or None
        fields |= _present({"title": described.title, "outputSchema": described.output_schema, "_meta": meta})
    if described.icons and era.has(ICONS_SINCE):
        fields["icons"] = described.icons
    return fields


LONGEST_TWICE = 100_000
"""Characters of structured content that are sent as text as well."""
LONGEST_MEMBER = 2_000
"""Of what is longer, characters of the members that are."""


def tool_result(result: ToolResult, era: Era) -> JsonObject:
    content = [_content(block, era) for block in result.content or _as_text(result.structured, era)]
    fields: dict[str, Json] = {"content": content, "isError": result.is_error}
    if result.structured is not None and era.has(STRUCTURED_SINCE):
        fields["structuredContent"] = result.structured
    if result.meta:
        fields["_meta"] = result.meta
    return fields


def _as_text(structured: JsonObject | None, era: Era) -> Sequence[JsonObject]:
    """What is only structured, for whoever reads nothing else. What is long is not sent twice to who reads both, but
    for its links and other short members."""
    if structured is None:
        return ()
    text = encode(structured)
    if len(text) <= LONGEST_TWICE or not era.has(STRUCTURED_SINCE):
        return ({"type": "text", "text": text},)
    short = {name: member for name, member in structured.items() if len(encode(member)) <= LONGEST_MEMBER}
    left_out = ", ".join(name for name in structured if name not in short)
    words = f"Too long to be sent twice, and only in structuredContent: {left_out}."
    return {"type": "text", "text": encode(short)}, {"type": "text", "text": words}


CONTENT_SINCE = {"audio": "2025-03-26", "resource_link": "2025-06-18"}
"""Kinds of content that came with a later revision."""


def _content(block: JsonObject, era: Era) -> JsonObject:
    kind = str(block.get("type"))
    if era.has(CONTENT_SINCE.get(kind, "")):
        return block
    return {"type": "text", "text": f"[{kind} {block.get('uri', '')}, which this version of MCP cannot carry]"}


def link_content(address: str) -> Sequence[JsonObject]:
    """Instead of a result that is too long to be sent: where it can be read, for as long as it is kept."""
    link: JsonObject = {
        "type": "resource_link",
        "uri": address,
        "name": "result.json",
        "description": "The whole result as JSON. It can be read here for five minutes.",
        "mimeType": "application/json",
    }
    words: JsonObject = {"type": "text", "text": f"The result is too long to be sent. It can be read at {address}"}
    return [words, link]


def link_to(result: JsonObject, address: str, era: Era) -> JsonObject:
    # Clients hold an ordinary result against the tool's output schema, which a link cannot satisfy.
    is_error = bool(result.get("isError")) or "structuredContent" in result
    return tool_result(ToolResult(link_content(address), is_error=is_error), era)


def not_kept(era: Era) -> JsonObject:
    text = "The tool ran, but its result is too long to be sent and could not be kept. Ask it for less."
    return tool_result(ToolResult([{"type": "text", "text": text}], is_error=True), era)


def resource(described: Resource, era: Era) -> JsonObject:
    size = described.size if era.has(SIZES_SINCE) else None
    return {"uri": described.uri, **_described(described, era), **_present({"size": size})}


def agent_skill(described: AgentSkill) -> JsonObject:
    files: Sequence[JsonObject] = [
        {"uri": file.uri, "digest": f"sha256:{file.digest}", "size": file.size} for file in described.files
    ]
    return {"uri": described.uri, "frontmatter": described.front_matter, "resources": files}


def resource_template(described: ResourceTemplate, era: Era) -> JsonObject:
    return {"uriTemplate": described.uri_template, **_described(described, era)}


def _described(described: Resource | ResourceTemplate, era: Era) -> JsonObject:
    about: Mapping[str, Json] = {
        "description": described.description,
        "mimeType": described.mime_type,
        "annotations": described.annotations or None,
    }
    return {"name": described.name, **_present(about), **_beside(described, era)}


def _beside(described: Resource | ResourceTemplate | Prompt, era: Era) -> Mapping[str, Json]:
    """What came with later revisions."""
    fields: dict[str, Json] = {}
    if era.has(STRUCTURED_SINCE):
        fields |= _present({"title": described.title, "_meta": described.meta or None})
    if described.icons and era.has(ICONS_SINCE):
        fields["icons"] = described.icons
    return fields


def prompt(described: Prompt, era: Era) -> JsonObject:
    arguments: Sequence[JsonObject] = [
        {"name": argument.name, "required": argument.required, **_present({"description": argument.description})}
        for argument in described.arguments
    ]
    return {
        "name": described.name,
        "arguments": arguments,
        **_present({"description": described.description}),
        **_beside(described, era),
    }


def prompt_result(result: PromptResult, era: Era) -> JsonObject:
    messages = [{**message, "content": _content(as_object(message.get("content")), era)} for message in result.messages]
    return {"messages": messages, **_present({"description": result.description})}


def completion(found: Completion) -> JsonObject:
    values = list(found.values)
    has_more = found.has_more or len(values) > MOST_COMPLETIONS
    fields: JsonObject = {"values": values[:MOST_COMPLETIONS], "hasMore": has_more, **_present({"total": found.total})}
    return {"completion": fields}


def _present(fields: Mapping[str, Json]) -> Mapping[str, Json]:
    return {name: value for name, value in fields.items() if value is not None}
