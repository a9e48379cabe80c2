"""The functions of a tenant as tools: the bridge at /mcp/functions.

Whatever is no tool is refused as one that does not exist. So nothing here leads to the registry's administration or
back to the bridge itself, whoever hosts what.
"""

from collections.abc import Callable, Sequence

from signpost.contract import Hosted
from signpost.execution.function_access import FunctionAccess
from signpost.execution.functions import FunctionList, FunctionView
from signpost.execution.tuning import placement_of
from signpost.made_once import MadeOnce
from signpost.model import Call, InputRequired, JsonObject, Tool, ToolResult
from signpost.policy.access import Access
from signpost.records import dataclass
from signpost.surfaces.hosted import FunctionCalls, is_never_a_tool, is_visible, shown_schema, tool_of

INSTRUCTIONS = (
    "Every tool here is a function; `__` in its name stands for `::` in its id. "
    "One that takes longer than a call can wait answers with a run and how to look at it, by a tool that can be called "
    "here although tools/list does not show it: do that, do not call it again. "
    "Documents at iii:// URIs say when and how to use them: begin with iii://skills, by skill__fetch or as a resource."
)


@dataclass(frozen=True, slots=True)
class _Tools:
    listed: Sequence[Tool]
    hidden: Sequence[Tool]


class FunctionTools:
    def __init__(self, *, functions: FunctionView, access: FunctionAccess, calls: FunctionCalls) -> None:
        self._access = access
        self._functions = functions
        self._calls = calls
        self._made = MadeOnce[tuple[str, Access], FunctionList, _Tools]()

    def tools(self, call: Call) -> Sequence[Tool]:
        return self._of(call).listed

    def hidden_tools(self, call: Call) -> Sequence[Tool]:
        return self._of(call).hidden

    def tool(self, name: str, call: Call) -> Tool | None:
        """By what a call has to look at anyway."""
        function = function_of(name)
        if function is None or is_never_a_tool(function):
            return None
        state = self._functions.state(call.principal.tenant, function)
        placement = placement_of(state)
        if placement is None or not is_visible(placement.hosted, state.tenant_settings):
            return None
        return _tool(placement.hosted) if self._access.admits(call.principal, function) else None

    def call_tool(self, tool: Tool, arguments: JsonObject, call: Call) -> ToolResult | InputRequired:
        return self._calls.made(function_of(tool.name) or "", arguments, tool, call)

    def _of(self, call: Call) -> _Tools:
        """The tools that policy allows this principal, with the hidden ones that it shows."""
        principal = call.principal
        left, whose = self._access.left(principal), (principal.tenant, self._access.of(principal))
        return self._made.of(whose, left, lambda: _tools(left, lambda one: self._access.shows(principal, one)))


def name_of(function: str) -> str:
    return function.replace("::", "__")


def function_of(name: str) -> str | None:
    """The only one that can have this name; None if there is none."""
    function = name.replace("__", "::")
    return function if name_of(function) == name else None


def has_name(function: str) -> bool:
    """Whether its tool name leads back to it. `a__b::c` and `a_::b` have names that would be those of others."""
    return function_of(name_of(function)) == function


def _tools(found: FunctionList, shows: Callable[[str], bool]) -> _Tools:
    """`shows` says which hidden ones are listed all the same, by their ids."""
    named = (hosted for hosted in found.functions if has_name(hosted.function))
    visible = [hosted for hosted in named if is_visible(hosted, found.settings)]
    hidden = {hosted.function for hosted in visible if hosted.hidden and not shows(hosted.function)}
    return _Tools(
        listed=[_tool(hosted) for hosted in visible if hosted.function not in hidden],
        hidden=[_tool(hosted) for hosted in visible if hosted.function in hidden],
    )


def _tool(hosted: Hosted) -> Tool:
    return tool_of(hosted, name_of(hosted.function), hosted.description, shown_schema(hosted.input_schema))
