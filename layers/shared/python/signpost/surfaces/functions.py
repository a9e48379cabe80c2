"""The functions of a tenant as tools: the bridge at /mcp/functions.

Whatever is no tool is refused as one that does not exist. So nothing here leads to the registry's administration or
back to the bridge itself, whoever hosts what.
"""

from collections.abc import Callable, Sequence

from signpost.contract import Hosted
from signpost.execution.function_access import FunctionAccess, FunctionItems
from signpost.execution.functions import FunctionList, FunctionLists, FunctionView
from signpost.execution.tuning import placement_of
from signpost.model import Call, InputRequired, JsonObject, Tool, ToolResult
from signpost.policy.access import Access
from signpost.records import dataclass
from signpost.surfaces.hosted import FunctionCalls, MadeOnce, is_never_a_tool, is_visible, shown_schema, tool_of

INSTRUCTIONS = (
    "Every tool here is a function; `__` in its name stands for `::` in its id. "
    "One that takes longer than a call can wait answers with a run and how to look at it, by a tool that can be called "
    "here although tools/list does not show it: do that, do not call it again. "
    "Documents at iii:// URIs say when and how to use them: begin with iii://skills, by skill__fetch or as a resource."
)


@dataclass(frozen=True, slots=True)
class _Tools:
    hosted: Sequence[Hosted]
    listed: Sequence[Tool]
    hidden: Sequence[Tool]


class FunctionTools:
    def __init__(
        self, *, lists: FunctionLists, functions: FunctionView, access: FunctionAccess, calls: FunctionCalls
    ) -> None:
        self._lists = lists
        self._access = access
        self._functions = functions
        self._calls = calls
        self._made = MadeOnce[str, FunctionList, _Tools]()
        self._left = MadeOnce[Access, _Tools, _Tools]()

    def tools(self, call: Call) -> Sequence[Tool]:
        return self._left_to(call).listed

    def hidden_tools(self, call: Call) -> Sequence[Tool]:
        return self._left_to(call).hidden

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

    def _left_to(self, call: Call) -> _Tools:
        """Without what policy denies, and with what it shows."""
        every, access = self._of(call), self._access.of(call.principal)
        if access.is_open:
            return every
        return self._left.of(access, every, lambda: _left_of(every, access, self._access.items(call.principal.tenant)))

    def _of(self, call: Call) -> _Tools:
        found = self._lists.of(call.principal.tenant)
        return self._made.of(call.principal.tenant, found, lambda: _tools(found))


def name_of(function: str) -> str:
    return function.replace("::", "__")


def function_of(name: str) -> str | None:
    """The only one that can have this name; None if there is none."""
    function = name.replace("__", "::")
    return function if name_of(function) == name else None


def has_name(function: str) -> bool:
    """Whether its tool name leads back to it. `a__b::c` and `a_::b` have names that would be those of others."""
    return function_of(name_of(function)) == function


def _tools(found: FunctionList) -> _Tools:
    named = (hosted for hosted in found.functions if has_name(hosted.function))
    visible = [hosted for hosted in named if is_visible(hosted, found.settings)]
    return _divided(visible, lambda hosted: not hosted.hidden)


def _left_of(every: _Tools, access: Access, items: FunctionItems) -> _Tools:
    allowed = [hosted for hosted in every.hosted if hosted.function in items and access.allows(items[hosted.function])]
    return _divided(allowed, lambda hosted: access.lists(items[hosted.function], hidden=hosted.hidden))


def _divided(visible: Sequence[Hosted], is_listed: Callable[[Hosted], bool]) -> _Tools:
    listed = [hosted for hosted in visible if is_listed(hosted)]
    hidden = [hosted for hosted in visible if not is_listed(hosted)]
    return _Tools(visible, list(map(_tool, listed)), list(map(_tool, hidden)))


def _tool(hosted: Hosted) -> Tool:
    return tool_of(hosted, name_of(hosted.function), hosted.description, shown_schema(hosted.input_schema))
