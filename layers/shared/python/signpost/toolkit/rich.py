"""What a function answered that says more than a value: the value that there is, and how all of it is shown."""

import json
from collections.abc import Mapping, Sequence
from typing import cast

from signpost.contract import Failure, Shown
from signpost.execution.failures import REPORTED
from signpost.execution.wire import shown_object
from signpost.model import Json, JsonObject
from signpost.records import dataclass
from signpost.toolkit.content import Content, ToolResult
from signpost.toolkit.json_text import NotJson, json_text

WITHOUT_WORDS = "It reported a failure, without words."


@dataclass(frozen=True, slots=True)
class Told:
    """As JSON."""

    text: str
    shown: str = ""
    """Empty where there is nothing beside the value."""


def told(answer: object) -> Told | Failure:
    """Of what is Rich, or a list of it. Raises NotJson."""
    if isinstance(answer, ToolResult):
        return _whole(answer)
    content = _content(answer)
    if content is None:
        raise NotJson("it answers what is no part of a result")
    return Told(json_text(_words(content)), _shown_text(content))


def _whole(result: ToolResult) -> Told | Failure:
    content = _content(result.content)
    if content is None and result.content:
        raise NotJson("the content of its result is no list of Content")
    if not isinstance(cast("object", result.meta), Mapping):
        raise NotJson("the meta of its result is no object")
    text = json_text(result.structured)
    if result.structured is not None and not text.startswith("{"):
        raise NotJson("what is structured in its result is no object")
    shown = _shown_text(content or (), result.meta)
    if result.is_error:
        words = _words(content or ()) or (text if result.structured is not None else WITHOUT_WORDS)
        plain = Shown(**json.loads(shown)) if shown else None
        return Failure(REPORTED, "permanent_error", "none", words, shown=plain)
    value = json_text(_words(content or ())) if result.structured is None else text
    return Told(value, shown)


def _content(answer: object) -> Sequence[JsonObject] | None:
    """None if it is something else. Raises NotJson if it is so in part."""
    given = (answer,) if isinstance(answer, Content) else answer
    if not isinstance(given, list | tuple):
        return None
    blocks = [one.block for one in cast("list[object]", given) if isinstance(one, Content)]
    if blocks and len(blocks) < len(cast("list[object]", given)):
        raise NotJson("a list holds Content beside something else")
    return blocks or None


def _words(content: Sequence[JsonObject]) -> str | None:
    """What can be read of it, for whoever is no client: workflows, sections, other functions."""
    texts = [str(block["text"]) for block in content if block.get("type") == "text"]
    return "\n".join(texts) if texts else None


def _shown_text(content: Sequence[JsonObject], meta: Mapping[str, Json] | None = None) -> str:
    return json_text(shown_object(Shown(content, meta or {}))) if content or meta else ""
