"""Encodes the values that providers return, in the wire form of each protocol revision."""

from collections.abc import Mapping, Sequence

from signpost.content.model import AgentSkill
from signpost.mcp.messages import encode
from signpost.mcp.revisions import ProtocolRevision
from signpost.model import (
    CallToolResult,
    Completion,
    GetPromptResult,
    Json,
    JsonObject,
    Prompt,
    Resource,
    ResourceTemplate,
    Tool,
    as_object,
)
from signpost.records import dataclass

STRUCTURED_SINCE = "2025-06-18"
"""The first revision with structured results, titles, output schemas and resource links."""
MOST_COMPLETIONS = 100
SIZES_SINCE = ANNOTATIONS_SINCE = "2025-03-26"
ICONS_SINCE = "2025-11-25"


@dataclass(frozen=True, slots=True)
class Listing:
    """A list result whose entries are already JSON text, with the fields beside the list.

    Lists are long, requested often and rarely changed, so encoding them each time would be most of the work.
    """

    name: str
    entries: Sequence[str]
    other_fields: JsonObject


@dataclass(frozen=True, slots=True)
class Freshness:
    """How long a client may cache a result. The cache is private, since lists depend on the caller."""

    ttl_ms: int


LISTS = Freshness(2_000)
DISCOVERY = Freshness(60_000)


def to_text(
    result: JsonObject | Listing, revision: ProtocolRevision, freshness: Freshness | None, server_info: JsonObject
) -> str:
    """Encodes the result with the envelope of its revision, as it is sent."""
    if not isinstance(result, Listing):
        return encode(add_envelope(result, revision, freshness, server_info))
    other_fields = encode(add_envelope(result.other_fields, revision, freshness, server_info))
    list_text = f'{{"{result.name}":[{",".join(result.entries)}]'
    return f"{list_text}}}" if other_fields == "{}" else f"{list_text},{other_fields[1:]}"


def add_envelope(
    result: JsonObject, revision: ProtocolRevision, freshness: Freshness | None, server_info: JsonObject
) -> JsonObject:
    if not revision.is_modern:
        return result
    is_whole = result.get("resultType", "complete") == "complete"
    caching: JsonObject = {"ttlMs": freshness.ttl_ms, "cacheScope": "private"} if freshness and is_whole else {}
    result_meta = as_object(result.get("_meta"))
    meta: JsonObject = {**result_meta, "io.modelcontextprotocol/serverInfo": server_info}
    return {"resultType": "complete", **result, **caching, "_meta": meta}


def build_tool_entry(tool: Tool, name: str, revision: ProtocolRevision) -> JsonObject:
    fields: dict[str, Json] = {
        "name": name,
        "description": tool.description,
        "inputSchema": tool.input_schema,
    }
    if tool.annotations and revision.is_since(ANNOTATIONS_SINCE):
        fields["annotations"] = tool.annotations
    if revision.is_since(STRUCTURED_SINCE):
        meta = tool.meta or None
        fields |= _without_none({"title": tool.title, "outputSchema": tool.output_schema, "_meta": meta})
    if tool.icons and revision.is_since(ICONS_SINCE):
        fields["icons"] = tool.icons
    return fields


LONGEST_REPEATED = 100_000
"""Characters of structured content up to which it is repeated as text."""
LONGEST_MEMBER = 2_000
"""Characters of a member up to which it is repeated as text when the whole is longer."""


def build_tool_result(result: CallToolResult, revision: ProtocolRevision) -> JsonObject:
    content = [
        _content_for(block, revision) for block in result.content or _text_blocks_of(result.structured, revision)
    ]
    fields: dict[str, Json] = {"content": content, "isError": result.is_error}
    if result.structured is not None and revision.is_since(STRUCTURED_SINCE):
        fields["structuredContent"] = result.structured
    if result.meta:
        fields["_meta"] = result.meta
    return fields


def _text_blocks_of(structured: JsonObject | None, revision: ProtocolRevision) -> Sequence[JsonObject]:
    """Repeats structured content as text, for clients that read nothing else.

    Longer content is repeated only by its short members, links among them, since a client that reads both would get it
    twice.
    """
    if structured is None:
        return ()
    text = encode(structured)
    if len(text) <= LONGEST_REPEATED or not revision.is_since(STRUCTURED_SINCE):
        return ({"type": "text", "text": text},)
    short = {name: member for name, member in structured.items() if len(encode(member)) <= LONGEST_MEMBER}
    left_out = ", ".join(name for name in structured if name not in short)
    words = f"These members are too long to repeat here, and only in structuredContent: {left_out}."
    return {"type": "text", "text": encode(short)}, {"type": "text", "text": words}


CONTENT_SINCE = {"audio": "2025-03-26", "resource_link": "2025-06-18"}
"""The first revision of each kind of content that came later."""


def _content_for(block: JsonObject, revision: ProtocolRevision) -> JsonObject:
    kind = str(block.get("type"))
    if revision.is_since(CONTENT_SINCE.get(kind, "")):
        return block
    return {"type": "text", "text": f"[{kind} {block.get('uri', '')}, which this version of MCP cannot carry]"}


def link_content(address: str) -> Sequence[JsonObject]:
    """The content blocks of a result that is too long to be sent: a link to where it is kept, for as long as it is."""
    link: JsonObject = {
        "type": "resource_link",
        "uri": address,
        "name": "result.json",
        "description": "The whole result as JSON. It can be read here for five minutes.",
        "mimeType": "application/json",
    }
    words: JsonObject = {"type": "text", "text": f"The result is too long to be sent. It can be read at {address}"}
    return [words, link]


def build_link_result(result: JsonObject, address: str, revision: ProtocolRevision) -> JsonObject:
    # Clients validate an ordinary result against the tool's output schema, which a link cannot satisfy.
    is_error = bool(result.get("isError")) or "structuredContent" in result
    return build_tool_result(CallToolResult(link_content(address), is_error=is_error), revision)


def build_lost_result(revision: ProtocolRevision) -> JsonObject:
    text = "The tool ran, but its result is too long to be sent and was lost. If you call it again, ask for less."
    return build_tool_result(CallToolResult([{"type": "text", "text": text}], is_error=True), revision)


def build_resource_entry(resource: Resource, revision: ProtocolRevision) -> JsonObject:
    size = resource.size if revision.is_since(SIZES_SINCE) else None
    return {"uri": resource.uri, **_common_fields(resource, revision), **_without_none({"size": size})}


def build_skill_entry(skill: AgentSkill) -> JsonObject:
    files: Sequence[JsonObject] = [
        {"uri": file.uri, "digest": f"sha256:{file.digest}", "size": file.size} for file in skill.files
    ]
    return {"uri": skill.uri, "frontmatter": skill.front_matter, "resources": files}


def build_template_entry(template: ResourceTemplate, revision: ProtocolRevision) -> JsonObject:
    return {"uriTemplate": template.uri_template, **_common_fields(template, revision)}


def _common_fields(entry: Resource | ResourceTemplate, revision: ProtocolRevision) -> JsonObject:
    optional: Mapping[str, Json] = {
        "description": entry.description,
        "mimeType": entry.mime_type,
        "annotations": entry.annotations or None,
    }
    return {"name": entry.name, **_without_none(optional), **_later_fields(entry, revision)}


def _later_fields(entry: Resource | ResourceTemplate | Prompt, revision: ProtocolRevision) -> Mapping[str, Json]:
    """The fields that later revisions added."""
    fields: dict[str, Json] = {}
    if revision.is_since(STRUCTURED_SINCE):
        fields |= _without_none({"title": entry.title, "_meta": entry.meta or None})
    if entry.icons and revision.is_since(ICONS_SINCE):
        fields["icons"] = entry.icons
    return fields


def build_prompt_entry(prompt: Prompt, revision: ProtocolRevision) -> JsonObject:
    arguments: Sequence[JsonObject] = [
        {"name": argument.name, "required": argument.required, **_without_none({"description": argument.description})}
        for argument in prompt.arguments
    ]
    return {
        "name": prompt.name,
        "arguments": arguments,
        **_without_none({"description": prompt.description}),
        **_later_fields(prompt, revision),
    }


def build_prompt_result(result: GetPromptResult, revision: ProtocolRevision) -> JsonObject:
    messages = [
        {**message, "content": _content_for(as_object(message.get("content")), revision)} for message in result.messages
    ]
    return {"messages": messages, **_without_none({"description": result.description})}


def build_completion_result(completion: Completion) -> JsonObject:
    values = list(completion.values)
    has_more = completion.has_more or len(values) > MOST_COMPLETIONS
    fields: JsonObject = {
        "values": values[:MOST_COMPLETIONS],
        "hasMore": has_more,
        **_without_none({"total": completion.total}),
    }
    return {"completion": fields}


def _without_none(fields: Mapping[str, Json]) -> Mapping[str, Json]:
    return {name: value for name, value in fields.items() if value is not None}
