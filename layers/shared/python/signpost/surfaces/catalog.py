"""The catalog: a tool that shows all there is for its caller on a surface, hidden or not, as lists would show it."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from signpost.model import Call, Json, JsonObject, Tool, ToolResult
from signpost.ports import HidesPrompts, HidesResources
from signpost.protocol import results
from signpost.protocol.eras import MODERN, Era
from signpost.protocol.surface import Surface
from signpost.protocol.tools import hidden_of, spellings

NEWEST = Era(MODERN[0], modern=True)
"""What is shown is data of an answer, and goes by no revision."""
ALL = "all"
SECTIONS = ("tools", "prompts", "resources", "resource_templates")
SEARCHED = ("name", "description", "uri", "uriTemplate")
"""Members of a definition in which a query may be found."""
_ENTRIES: JsonObject = {"type": "array", "items": {"type": "object"}}

CATALOG = Tool(
    name="catalog",
    title="All that there is",
    description=(
        "Shows the tools, prompts, resources and resource templates there are, with their schemas, also those that no "
        "list shows: `hidden` says which. All of them can be used by name."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "type": {"enum": [*SECTIONS, ALL], "default": ALL, "description": "Only these."},
            "query": {"type": "string", "description": "Only what has this in its name, description or URI."},
            "category": {"type": "string", "description": "Only what is of this category, in capitals or not."},
            "include_hidden": {
                "type": "boolean",
                "default": True,
                "description": "False leaves out what no list shows.",
            },
        },
        "additionalProperties": False,
    },
    output_schema={"type": "object", "properties": dict.fromkeys(SECTIONS, _ENTRIES)},
    annotations={"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
)


class Catalog:
    """Of a surface, of whose tools it is one itself, hidden."""

    def __init__(self, surface: Surface) -> None:
        self._surface = surface
        self._sections: Mapping[str, Callable[[Call], Iterable[JsonObject]]] = {
            "tools": self._tools,
            "prompts": self._prompts,
            "resources": self._resources,
            "resource_templates": self._templates,
        }

    def tools(self, call: Call) -> Sequence[Tool]:
        del call  # nobody
        return ()

    def hidden_tools(self, call: Call) -> Sequence[Tool]:
        del call  # everybody
        return (CATALOG,)

    def tool(self, name: str, call: Call) -> Tool | None:
        del call
        return CATALOG if name == CATALOG.name else None

    def call_tool(self, tool: Tool, arguments: JsonObject, call: Call) -> ToolResult:
        del tool  # it is the only one
        wanted = arguments.get("type", ALL)
        sections: Mapping[str, Sequence[JsonObject]] = {
            name: [entry for entry in shown(call) if _is_wanted(entry, arguments)]
            for name, shown in self._sections.items()
            if wanted in (name, ALL)
        }
        return ToolResult((), sections)

    def _tools(self, call: Call) -> Iterable[JsonObject]:
        providers = (*self._surface.tools, self)
        found = {
            tool.name: (tool, is_hidden)
            for provider in providers
            for is_hidden, tools in ((False, provider.tools(call)), (True, hidden_of(provider, call)))
            for tool in tools
        }
        spelled = spellings(providers, call) if call.portable_names else dict[str, str]()
        for name, (tool, is_hidden) in sorted(found.items()):
            entry = _entry(results.tool(tool, spelled.get(name, name), NEWEST), is_hidden=is_hidden)
            category = tool.meta.get("category")
            yield entry if category is None else {**entry, "category": category}

    def _prompts(self, call: Call) -> Iterable[JsonObject]:
        for provider in self._surface.prompts:
            hidden = provider.hidden_prompts(call) if isinstance(provider, HidesPrompts) else ()
            yield from _entries(provider.prompts(call), hidden, results.prompt)

    def _resources(self, call: Call) -> Iterable[JsonObject]:
        for provider in self._surface.resources:
            hidden = provider.hidden_resources(call) if isinstance(provider, HidesResources) else ()
            yield from _entries(provider.resources(call), hidden, results.resource)

    def _templates(self, call: Call) -> Iterable[JsonObject]:
        for provider in self._surface.resources:
            hidden = provider.hidden_resource_templates(call) if isinstance(provider, HidesResources) else ()
            yield from _entries(provider.resource_templates(call), hidden, results.resource_template)


def _entries[Listed](
    listed: Sequence[Listed], hidden: Sequence[Listed], shown: Callable[[Listed, Era], JsonObject]
) -> Iterable[JsonObject]:
    for is_hidden, some in ((False, listed), (True, hidden)):
        yield from (_entry(shown(one, NEWEST), is_hidden=is_hidden) for one in some)


def _entry(definition: JsonObject, *, is_hidden: bool) -> JsonObject:
    return {**definition, "hidden": is_hidden}


def _is_wanted(entry: JsonObject, arguments: JsonObject) -> bool:
    if entry["hidden"] and arguments.get("include_hidden") is False:
        return False
    category, query = arguments.get("category"), arguments.get("query")
    if category is not None and _folded(entry.get("category")) != _folded(category):
        return False
    return query is None or any(_folded(query) in _folded(entry.get(member)) for member in SEARCHED)


def _folded(value: Json) -> str:
    return value.casefold() if isinstance(value, str) else ""
