"""The functions of a tenant as tools: the bridge at /mcp/functions.

A function that is not a tool is refused like one that does not exist. So no call through here reaches the registry's
administration or the bridge itself, whichever executor hosts the function.
"""

from collections.abc import Sequence

from signpost.caches import DerivedCache
from signpost.calling.function_access import FunctionAccess
from signpost.calling.function_listing import FunctionListing, ListedFunctions, ListKey
from signpost.calling.function_schemas import client_schema
from signpost.calling.lookup import FunctionView
from signpost.calling.runtime_settings import may_be_long, placement_of
from signpost.catalogue.exposure import is_never_a_tool, is_tool
from signpost.contract import HostedFunction
from signpost.mcp.providers import ToolOutcome
from signpost.model import Call, JsonObject, Tool
from signpost.records import dataclass
from signpost.surfaces.function_calls import FunctionCalls, tool_of

INSTRUCTIONS = (
    "Every tool here is a function; `__` in its name stands for `::` in its id. "
    "A function that takes longer than a call can wait answers with a run and the tool that reads the run: call that "
    "tool, do not call the function again. It can be called even where tools/list does not show it. "
    "Documents at iii:// URIs say when and how to use functions: begin with iii://skills, by skill__fetch or as a "
    "resource."
)


@dataclass(frozen=True, slots=True)
class _FunctionToolSet:
    listed: Sequence[Tool]
    hidden: Sequence[Tool]
    has_long_calls: bool


class FunctionTools:
    """The provider of the tools of /mcp/functions."""

    def __init__(
        self, *, functions: FunctionView, access: FunctionAccess, listing: FunctionListing, calls: FunctionCalls
    ) -> None:
        self._access = access
        self._listing = listing
        self._functions = functions
        self._calls = calls
        self._tool_sets = DerivedCache[ListKey, ListedFunctions, _FunctionToolSet]()

    def tools(self, call: Call) -> Sequence[Tool]:
        return self._tools_for(call).listed

    def hidden_tools(self, call: Call) -> Sequence[Tool]:
        return self._tools_for(call).hidden

    def has_long_calls(self, call: Call) -> bool:
        """Tell whether calls of a tool, listed or hidden, may become runs."""
        return self._tools_for(call).has_long_calls

    def tool(self, name: str, call: Call) -> Tool | None:
        """Find a tool by name. Reads the state of that one function, which the call needs anyway."""
        function = function_of(name)
        if function is None or is_never_a_tool(function):
            return None
        state = self._functions.state(call.principal.tenant, function)
        placement = placement_of(state)
        if placement is None or not is_tool(placement.hosted, state.tenant_settings):
            return None
        return _build_tool(placement.hosted) if self._access.admits(call.principal, function) else None

    def call_tool(self, tool: Tool, arguments: JsonObject, call: Call) -> ToolOutcome:
        return self._calls.call_function(function_of(tool.name) or "", arguments, tool, call)

    def _tools_for(self, call: Call) -> _FunctionToolSet:
        """Return the tools that policy allows the principal."""
        listed = self._listing.of(call.principal)
        return self._tool_sets.get(listed.key, listed, lambda: _build_tool_set(listed))


def tool_name_of(function: str) -> str:
    return function.replace("::", "__")


def function_of(name: str) -> str | None:
    """Return the one function that can have this tool name; None if there is none."""
    function = name.replace("__", "::")
    return function if tool_name_of(function) == name else None


def has_tool_name(function: str) -> bool:
    """Tell whether the tool name of a function leads back to it. The names of `a__b::c` and `a_::b` are those of other
    functions."""
    return function_of(tool_name_of(function)) == function


def _build_tool_set(allowed: ListedFunctions) -> _FunctionToolSet:
    """Build the listed and the hidden tools."""
    functions = allowed.functions
    with_names = (hosted for hosted in functions.functions if has_tool_name(hosted.function))
    visible = [hosted for hosted in with_names if is_tool(hosted, functions.settings)]
    tools = {hosted.function: _build_tool(hosted) for hosted in visible}
    return _FunctionToolSet(
        listed=[tool for function, tool in tools.items() if function not in allowed.unlisted],
        hidden=[tool for function, tool in tools.items() if function in allowed.unlisted],
        # A call of a tool with an output schema never becomes a run.
        has_long_calls=any(
            may_be_long(hosted, functions.settings) and tools[hosted.function].output_schema is None
            for hosted in visible
        ),
    )


def _build_tool(hosted: HostedFunction) -> Tool:
    return tool_of(hosted, tool_name_of(hosted.function), hosted.description, client_schema(hosted.input_schema))
