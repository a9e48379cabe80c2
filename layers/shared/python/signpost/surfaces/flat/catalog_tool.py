"""The catalog: a tool that shows everything that its caller can use on a surface, listed or hidden, in the form of
lists."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence

from signpost.mcp import results
from signpost.mcp.messages import encode
from signpost.mcp.pages import PAGE_SIZE, find_position, take_fitting
from signpost.mcp.providers import HiddenPromptProvider, HiddenResourceProvider
from signpost.mcp.revisions import MODERN_VERSIONS, ProtocolRevision
from signpost.mcp.surface import Surface
from signpost.mcp.tool_names import hidden_tools_of, spell_mentions
from signpost.model import Call, CallToolResult, Json, JsonObject, Tool
from signpost.signing.seals import Sealer

NEWEST = ProtocolRevision(MODERN_VERSIONS[0], is_modern=True)
"""Entries are data of an answer: they have one form in all protocol revisions."""
ALL = "all"
SECTIONS = ("tools", "prompts", "resources", "resource_templates")
SEARCHED = ("name", "description", "uri", "uriTemplate")
"""The members of an entry in which `query` is searched."""
INVALID_CURSOR = (
    "This cursor is not valid for you and these arguments. Call this tool with the arguments of the first page, or "
    "without a cursor."
)
_ENTRIES: JsonObject = {"type": "array", "items": {"type": "object"}}

CATALOG = Tool(
    name="catalog",
    title="Catalog",
    description=(
        "Shows all tools, prompts, resources and resource templates with their schemas, including those that lists "
        "leave out (`hidden` is true). All of them can be used by name. A long catalog comes in pages: call it again "
        "with the same arguments and `nextCursor` as `cursor`."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "type": {"enum": [*SECTIONS, ALL], "default": ALL, "description": "The section to show."},
            "query": {"type": "string", "description": "Show entries with this text in name, description or URI."},
            "category": {"type": "string", "description": "Show entries of this category; case is ignored."},
            "include_hidden": {
                "type": "boolean",
                "default": True,
                "description": "False leaves out hidden entries.",
            },
            "cursor": {"type": "string", "description": "The nextCursor of the answer before, for the next page."},
        },
        "additionalProperties": False,
    },
    output_schema={
        "type": "object",
        "properties": {**dict.fromkeys(SECTIONS, _ENTRIES), "nextCursor": {"type": "string"}},
    },
    annotations={"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
)


class CatalogTool:
    """The provider of the hidden tool `catalog` of a surface, which the catalog lists, too."""

    def __init__(self, surface: Surface, sealer: Sealer) -> None:
        self._surface = surface
        self._sealer = sealer
        self._purpose = f"catalog:{surface.name}"
        self._sections: Mapping[str, Callable[[Call], Iterable[JsonObject]]] = {
            "tools": self._tools,
            "prompts": self._prompts,
            "resources": self._resources,
            "resource_templates": self._templates,
        }

    def tools(self, call: Call) -> Sequence[Tool]:
        del call
        return ()

    def hidden_tools(self, call: Call) -> Sequence[Tool]:
        del call  # all callers have it
        return (CATALOG,)

    def tool(self, name: str, call: Call) -> Tool | None:
        del call
        return CATALOG if name == CATALOG.name else None

    def call_tool(self, tool: Tool, arguments: JsonObject, call: Call) -> CallToolResult:
        del tool  # there is only one
        wanted = [name for name in SECTIONS if arguments.get("type", ALL) in (name, ALL)]
        entries = [
            (name, entry) for name in wanted for entry in self._sections[name](call) if _is_wanted(entry, arguments)
        ]
        start = self._find_start(entries, arguments, call)
        if start is None:
            return CallToolResult([{"type": "text", "text": INVALID_CURSOR}], is_error=True)
        end = start + len(take_fitting(encode(entry) for _, entry in entries[start : start + PAGE_SIZE]))
        page: dict[str, Json] = {
            name: [entry for section, entry in entries[start:end] if section == name] for name in wanted
        }
        if end < len(entries):
            position: JsonObject = {"after": _key_of(entries[end - 1]), "position": end, "of": _filter_of(arguments)}
            page["nextCursor"] = self._sealer.seal(self._purpose, position, call.principal)
        return CallToolResult((), page)

    def _find_start(self, entries: Sequence[tuple[str, JsonObject]], arguments: JsonObject, call: Call) -> int | None:
        """Return the index at which the page begins; None if the cursor is not of this caller and these arguments."""
        cursor = arguments.get("cursor")
        if cursor is None:
            return 0
        match self._sealer.open(self._purpose, str(cursor), call.principal):
            case {"after": str(after), "position": int(position), "of": of} if of == _filter_of(arguments):
                return find_position([_key_of(entry) for entry in entries], after, position)
            case _:
                return None

    def _tools(self, call: Call) -> Iterable[JsonObject]:
        providers = (*self._surface.tools, self)
        found = {
            tool.name: (tool, is_hidden)
            for provider in providers
            for is_hidden, tools in ((False, provider.tools(call)), (True, hidden_tools_of(provider, call)))
            for tool in tools
        }
        for name, (tool, is_hidden) in sorted(found.items()):
            entry = _entry(_tool_entry(tool, call.spell_tool(name), call), is_hidden=is_hidden)
            category = tool.meta.get("category")
            yield entry if category is None else {**entry, "category": category}

    def _prompts(self, call: Call) -> Iterable[JsonObject]:
        for provider in self._surface.prompts:
            hidden = provider.hidden_prompts(call) if isinstance(provider, HiddenPromptProvider) else ()
            yield from _entries(provider.prompts(call), hidden, results.build_prompt_entry)

    def _resources(self, call: Call) -> Iterable[JsonObject]:
        for provider in self._surface.resources:
            hidden = provider.hidden_resources(call) if isinstance(provider, HiddenResourceProvider) else ()
            yield from _entries(provider.resources(call), hidden, results.build_resource_entry)

    def _templates(self, call: Call) -> Iterable[JsonObject]:
        for provider in self._surface.resources:
            hidden = provider.hidden_resource_templates(call) if isinstance(provider, HiddenResourceProvider) else ()
            yield from _entries(provider.resource_templates(call), hidden, results.build_template_entry)


def _tool_entry(tool: Tool, name: str, call: Call) -> JsonObject:
    entry = results.build_tool_entry(tool, name, NEWEST)
    return json.loads(spell_mentions(encode(entry), tool.mentions, call.spell_tool)) if tool.mentions else entry


def _key_of(entry: tuple[str, JsonObject]) -> str:
    section, fields = entry
    return f"{section}:{fields.get('uri', fields.get('uriTemplate', fields.get('name')))}"


def _filter_of(arguments: JsonObject) -> JsonObject:
    return {name: value for name, value in arguments.items() if name != "cursor"}


def _entries[Listed](
    listed: Sequence[Listed], hidden: Sequence[Listed], render: Callable[[Listed, ProtocolRevision], JsonObject]
) -> Iterable[JsonObject]:
    for is_hidden, definitions in ((False, listed), (True, hidden)):
        yield from (_entry(render(definition, NEWEST), is_hidden=is_hidden) for definition in definitions)


def _entry(definition: JsonObject, *, is_hidden: bool) -> JsonObject:
    return {**definition, "hidden": is_hidden}


def _is_wanted(entry: JsonObject, arguments: JsonObject) -> bool:
    if entry["hidden"] and arguments.get("include_hidden") is False:
        return False
    category, query = arguments.get("category"), arguments.get("query")
    if category is not None and _casefold(entry.get("category")) != _casefold(category):
        return False
    return query is None or any(_casefold(query) in _casefold(entry.get(member)) for member in SEARCHED)


def _casefold(value: Json) -> str:
    return value.casefold() if isinstance(value, str) else ""
