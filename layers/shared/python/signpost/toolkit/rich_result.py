"""Encoding of rich answers: the plain value, and the presentation for clients."""

import json
from collections.abc import Mapping, Sequence
from typing import cast

from signpost.calling.failures import REPORTED
from signpost.calling.wire import shown_object
from signpost.contract import ClientPresentation, Failure
from signpost.model import Json, JsonObject
from signpost.records import dataclass
from signpost.toolkit.content import Content, ToolResult
from signpost.toolkit.json_text import NotJson, json_text

WITHOUT_WORDS = "It reported a failure without a message."


@dataclass(frozen=True, slots=True)
class RichResult:
    """A rich answer as JSON text."""

    text: str
    shown: str = ""
    """The presentation; empty if there is nothing beside the value."""


def encode_rich_result(answer: object) -> RichResult | Failure:
    """Encode a RichValue or a list of them. Raises NotJson."""
    if isinstance(answer, ToolResult):
        return _encode_tool_result(answer)
    content = _content_blocks(answer)
    if content is None:
        raise NotJson("it answered neither a ToolResult, Content nor a list of Content")
    return RichResult(json_text(_readable_text(content)), _shown_text(content))


def _encode_tool_result(result: ToolResult) -> RichResult | Failure:
    content = _content_blocks(result.content)
    if content is None and result.content:
        raise NotJson("`content` of the ToolResult must be a list of Content")
    if not isinstance(cast("object", result.meta), Mapping):
        raise NotJson("`meta` of the ToolResult must be an object")
    text = json_text(result.structured)
    if result.structured is not None and not text.startswith("{"):
        raise NotJson("`structured` of the ToolResult must be an object")
    shown = _shown_text(content or (), result.meta)
    if result.is_error:
        message = _readable_text(content or ()) or (text if result.structured is not None else WITHOUT_WORDS)
        presentation = ClientPresentation(**json.loads(shown)) if shown else None
        return Failure(REPORTED, "permanent_error", "none", message, shown=presentation)
    value = json_text(_readable_text(content or ())) if result.structured is None else text
    return RichResult(value, shown)


def _content_blocks(answer: object) -> Sequence[JsonObject] | None:
    """List the blocks of a Content or a list of Content; None for other answers. Raises NotJson for a mixed list."""
    parts = (answer,) if isinstance(answer, Content) else answer
    if not isinstance(parts, list | tuple):
        return None
    blocks = [part.block for part in cast("list[object]", parts) if isinstance(part, Content)]
    if blocks and len(blocks) < len(cast("list[object]", parts)):
        raise NotJson("a list with Content must hold Content only")
    return blocks or None


def _readable_text(content: Sequence[JsonObject]) -> str | None:
    """Join the text blocks of content; None if there are none. This is the value for readers that are no MCP clients:
    workflows, sections and other functions."""
    texts = [str(block["text"]) for block in content if block.get("type") == "text"]
    return "\n".join(texts) if texts else None


def _shown_text(content: Sequence[JsonObject], meta: Mapping[str, Json] | None = None) -> str:
    return json_text(shown_object(ClientPresentation(content, meta or {}))) if content or meta else ""
