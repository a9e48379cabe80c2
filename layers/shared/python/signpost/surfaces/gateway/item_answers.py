"""Builds the answers that show found items, each with the links that lead on from it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from signpost.catalogue.callable_skills import CallableSkill
from signpost.content.uris import skill_uri
from signpost.model import PROXY_WORKFLOW, JsonObject, Prompt, ResourceTemplate
from signpost.surfaces.gateway.found_items import FoundItem, examples_of
from signpost.surfaces.gateway.tool_specs import (
    APPROVAL,
    CAPABILITY,
    CONNECTION,
    DESCRIBE,
    DOCUMENT,
    HOME,
    PROMPT,
    RESOURCE,
    RUN,
    SEARCH,
    START,
    WORKFLOW,
    link,
)

if TYPE_CHECKING:
    from signpost.calling.breaker import BreakerReading

READ_RESOURCE, GET_PROMPT = "resources/read", "prompts/get"
"""Methods of MCP that links name. The arguments of such a link are the params of the method."""
FETCH_TOOL = "skill__fetch"
LISTED_KINDS: Mapping[str, str] = {
    "documents": DOCUMENT,
    "prompts": PROMPT,
    "resources": RESOURCE,
    "runs": RUN,
    "requests": APPROVAL,
}
"""The kinds of items that `gateway.home` does not list, by the rel of its link to a search that lists them."""


def build_item(found: FoundItem, *, document: FoundItem | None = None) -> JsonObject:
    """Build the item as lists show it. `document` is the one that explains the item."""
    item = found.item
    return {
        "id": item.id,
        "kind": item.kind,
        "title": item.title,
        "description": item.description,
        "tags": list(item.tags),
        **_build_hints(found),
        "links": [*_LINKS[item.kind](found), *_doc_links(document)],
    }


def build_description(
    found: FoundItem,
    *,
    schema: JsonObject | None = None,
    document: FoundItem | None = None,
    breaker: "BreakerReading | None" = None,
    retry_after_ms: int | None = None,
    schedules: Sequence[JsonObject] = (),
) -> JsonObject:
    """Build the item as a description of it shows it: its first link has the schema of the input. `document` is the one
    that explains the item, `schedules` are those that start it."""
    links = [*_LINKS[found.item.kind](found), *_doc_links(document)]
    if schema is not None:
        links[:1] = [{**links[0], "input_schema": schema}]
    started: JsonObject = {"schedules": schedules} if schedules else {}
    return {
        **build_item(found),
        **_build_examples(found),
        **_build_breaker(breaker, retry_after_ms),
        **started,
        "links": links,
    }


def prompt_schema(prompt: Prompt) -> JsonObject:
    """Return the schema of the arguments of a prompt, which are texts. It is closed: other values are refused."""
    return {
        "type": "object",
        "properties": {
            argument.name: {
                "type": "string",
                **({} if argument.description is None else {"description": argument.description}),
            }
            for argument in prompt.arguments
        },
        "required": [argument.name for argument in prompt.arguments if argument.required],
        "additionalProperties": False,
    }


def list_links(kinds: Collection[str] = frozenset(LISTED_KINDS.values())) -> Sequence[JsonObject]:
    """Return the links to the lists of these kinds, of those that `gateway.home` does not list."""
    return [link(rel, SEARCH, query="", kind=kind) for rel, kind in LISTED_KINDS.items() if kind in kinds]


def next_page_link(cursor: str) -> JsonObject:
    return link("next", HOME, cursor=cursor)


def _build_hints(found: FoundItem) -> JsonObject:
    """Return the category and the annotations that the author of a skill gave."""
    if not isinstance(found.source, CallableSkill):
        return {}
    hosted = found.source.hosted
    category: JsonObject = {"category": hosted.category} if hosted.category else {}
    return {**category, **({"annotations": hosted.annotations} if hosted.annotations else {})}


def _build_examples(found: FoundItem) -> JsonObject:
    examples = examples_of(found.source) if isinstance(found.source, CallableSkill) else ()
    return {"examples": list(examples)} if examples else {}


def _build_breaker(breaker: "BreakerReading | None", retry_after_ms: int | None) -> JsonObject:
    if breaker is None:
        return {}
    wait: JsonObject = {} if retry_after_ms is None else {"retryAfterMs": retry_after_ms}
    return {"breaker": {"state": breaker.position, **wait}}


def _start_workflow_links(found: FoundItem) -> Sequence[JsonObject]:
    return [link("start", START, definitionId=found.item.id, input={})]


def _start_capability_links(found: FoundItem) -> Sequence[JsonObject]:
    return [link("start", START, definitionId=PROXY_WORKFLOW, input={"capability": found.item.id})]


def _document_links(found: FoundItem) -> Sequence[JsonObject]:
    return [*_read_links(found.item.id), _describe_link(found)]


def _prompt_links(found: FoundItem) -> Sequence[JsonObject]:
    render: JsonObject = {"rel": "render", "method": GET_PROMPT, "args": {"name": found.item.id, "arguments": {}}}
    return [render, _describe_link(found)]


def _resource_links(found: FoundItem) -> Sequence[JsonObject]:
    """Return the links of a resource. Those of a template have to be filled in: the URI is a pattern."""
    pattern: JsonObject = {"uriTemplate": found.item.id} if isinstance(found.source, ResourceTemplate) else {}
    read: JsonObject = {"rel": "read", "method": READ_RESOURCE, "args": {"uri": found.item.id}, **pattern}
    return [read, _describe_link(found)]


def _read_links(document_id: str) -> Sequence[JsonObject]:
    """Return the links that read a document: by the method of MCP, and by a tool for hosts that have tools only."""
    args: JsonObject = {"uri": skill_uri(document_id)}
    return [{"rel": "read", "method": method, "args": args} for method in (READ_RESOURCE, FETCH_TOOL)]


def _doc_links(document: FoundItem | None) -> Sequence[JsonObject]:
    return [] if document is None else [{**read, "rel": "doc"} for read in _read_links(document.item.id)]


def _describe_link(found: FoundItem) -> JsonObject:
    return link("describe", DESCRIBE, id=found.item.id, kind=found.item.kind)


_LINKS: Mapping[str, Callable[[FoundItem], Sequence[JsonObject]]] = {
    WORKFLOW: _start_workflow_links,
    CAPABILITY: _start_capability_links,
    CONNECTION: lambda _: [],
    DOCUMENT: _document_links,
    PROMPT: _prompt_links,
    RESOURCE: _resource_links,
}
