"""The names of tools as the host of a client lists them: the one place where texts and links are respelled."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from signpost.mcp.names import portable_names, simplify_name
from signpost.mcp.providers import HiddenToolProvider, ToolProvider
from signpost.model import Call, Json, JsonObject, Tool, as_object

LINKS = "links"
LINK_HOLDERS = ("items", "results", "item")
"""The members of an answer of the gateway in which links lie deeper. All others are values of authors and runs."""


class ToolNames:
    """The tools of a surface for one caller, with the spelling in which its list shows them.

    The portable names depend on all tools, so they are computed at most once and only if they are needed.
    """

    def __init__(self, providers: Sequence[ToolProvider], call: Call) -> None:
        self._providers = providers
        self._call = call
        self._portable: Mapping[str, str] | None = None

    @property
    def portable(self) -> Mapping[str, str]:
        """The portable name of every tool, hidden ones included, since they can be called too and so take names."""
        if self._portable is None:
            self._portable = _compute_portable_names(self._providers, self._call)
        return self._portable

    def spell(self, name: str) -> str:
        """Returns the name as the list of this caller has it. A prefix of names ends with a colon."""
        if not self._call.portable_names:
            return name
        return _spell_prefix(name) if name.endswith(":") else self.portable.get(name, name)

    def find(self, name: str) -> tuple[ToolProvider, Tool] | None:
        """Finds a tool by its canonical or portable name, with its provider."""
        for provider in self._providers:
            tool = provider.tool(name, self._call)
            if tool is not None:
                return provider, tool
        pairs = ((provider, tool) for provider in self._providers for tool in _all_tools_of(provider, self._call))
        return next((pair for pair in pairs if self.portable[pair[1].name] == name), None)

    def listed(self) -> Sequence[Tool]:
        return [tool for provider in self._providers for tool in provider.tools(self._call)]


def spell_mentions(text: str, mentions: Iterable[str], spell: Callable[[str], str]) -> str:
    """Respells the tools that a text of the gateway names. No part of the text is an author's."""
    for name in mentions:
        text = text.replace(name, spell(name))
    return text


def spell_links(answer: JsonObject, spell: Callable[[str], str]) -> JsonObject:
    """Respells the tools that the links of an answer of the gateway name, and no other member."""
    spelled = dict(answer)
    for name, value in answer.items():
        if name == LINKS and isinstance(value, list | tuple):
            spelled[name] = [_spell_link(as_object(link), spell) for link in value]
        elif name in LINK_HOLDERS:
            spelled[name] = _spell_held_links(value, spell)
    return spelled


def _spell_link(link: JsonObject, spell: Callable[[str], str]) -> JsonObject:
    method = link.get("method")
    return {**link, "method": spell(method)} if isinstance(method, str) else link


def _spell_held_links(value: Json, spell: Callable[[str], str]) -> Json:
    if isinstance(value, Mapping):
        return spell_links(value, spell)
    return [_spell_held_links(entry, spell) for entry in value] if isinstance(value, list | tuple) else value


def _compute_portable_names(providers: Sequence[ToolProvider], call: Call) -> Mapping[str, str]:
    names = [tool.name for provider in providers for tool in _all_tools_of(provider, call)]
    simple = {simplify_name(name) for name in names} - set(names)
    unlisted = [name for name in sorted(simple) if any(provider.tool(name, call) for provider in providers)]
    return portable_names([*names, *unlisted])


def _all_tools_of(provider: ToolProvider, call: Call) -> Sequence[Tool]:
    return [*provider.tools(call), *hidden_tools_of(provider, call)]


def hidden_tools_of(provider: ToolProvider, call: Call) -> Sequence[Tool]:
    return provider.hidden_tools(call) if isinstance(provider, HiddenToolProvider) else ()


def _spell_prefix(prefix: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", prefix)
