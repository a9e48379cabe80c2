"""The functions of a tenant as callable skills: the tools `skill:<name>` at /mcp/flat."""

from collections.abc import Callable, Mapping, Sequence

from signpost.caches import DerivedCache
from signpost.calling.function_access import FunctionAccess
from signpost.calling.lookup import FunctionList, FunctionLists
from signpost.calling.skill_names import SKILL_TOOL_PREFIX, index_by_skill_name
from signpost.contract import HostedFunction
from signpost.model import Call, CallToolResult, InputRequired, JsonObject, Tool, as_object
from signpost.policy.access import Access
from signpost.records import dataclass
from signpost.surfaces.function_calls import FunctionCalls, client_schema, is_tool, tool_of

INSTRUCTIONS = (
    "A tool `skill:<name>` runs a skill. A tool `workflow:<title>` starts a workflow and answers with the state of the "
    "run and `links`: each names the tool to call next (`method`) and its arguments (`args`). Those tools can be "
    "called here although tools/list does not show them, workflow.get and workflow.submit among them. "
    "A skill that takes longer than a call can wait answers with a run too: read that run, do not call the skill "
    "again. The tool `catalog` shows all tools, prompts and resources, including hidden ones. "
    "Documents at iii:// URIs say when and how to use skills: begin with iii://skills, by skill__fetch or as a "
    "resource."
)
DYNAMIC = " [dynamic]"
"""The suffix of descriptions of functions that a tenant loaded at run time."""
GENERIC: JsonObject = {
    "input": {"type": "string", "description": "The text for the skill to work on, if it takes one."},
    "config": {"type": "object", "description": "Further arguments of the skill, by name."},
}
"""The properties that every skill takes beside those that its author declared."""


@dataclass(frozen=True, slots=True)
class _SkillTool:
    hosted: HostedFunction
    tool: Tool


@dataclass(frozen=True, slots=True)
class _SkillToolSet:
    by_name: Mapping[str, _SkillTool]
    """By tool name."""
    listed: Sequence[Tool]
    hidden: Sequence[Tool]


class SkillTools:
    """The provider of the tools `skill:<name>`."""

    def __init__(self, *, lists: FunctionLists, access: FunctionAccess, calls: FunctionCalls) -> None:
        self._lists = lists
        self._access = access
        self._calls = calls
        self._tool_sets = DerivedCache[str, FunctionList, _SkillToolSet]()
        self._allowed_tool_sets = DerivedCache[Access, FunctionList, _SkillToolSet]()

    def tools(self, call: Call) -> Sequence[Tool]:
        return self._tools_for(call).listed

    def hidden_tools(self, call: Call) -> Sequence[Tool]:
        return self._tools_for(call).hidden

    def tool(self, name: str, call: Call) -> Tool | None:
        """Find a tool by name. Only the function list knows which function has the name."""
        skill = self._all_tools(call).by_name.get(name) if name.startswith(SKILL_TOOL_PREFIX) else None
        if skill is None or not self._access.admits(call.principal, skill.hosted.function):
            return None
        return skill.tool

    def call_tool(self, tool: Tool, arguments: JsonObject, call: Call) -> CallToolResult | InputRequired:
        skill = self._all_tools(call).by_name.get(tool.name)
        if skill is None:  # removed since `tool` found it: refused under the tool's name
            return self._calls.call_function(tool.name, arguments, tool, call)
        return self._calls.call_function(
            skill.hosted.function, merge_config(skill.hosted.input_schema, arguments), tool, call
        )

    def _tools_for(self, call: Call) -> _SkillToolSet:
        """Return the tools that policy allows the principal, with the hidden ones that it lists for it."""
        all_tools, principal = self._all_tools(call), call.principal
        access, allowed = self._access.of(principal), self._access.allowed_functions(principal)
        if access.is_open:
            return all_tools
        return self._allowed_tool_sets.get(
            access,
            allowed,
            lambda: _filter_allowed(all_tools, allowed, lambda function: self._access.shows(principal, function)),
        )

    def _all_tools(self, call: Call) -> _SkillToolSet:
        functions = self._lists.of(call.principal.tenant)
        return self._tool_sets.get(call.principal.tenant, functions, lambda: _build_skill_tools(functions))


def skill_schema(declared: JsonObject | None) -> JsonObject:
    """Build the input schema of a skill: the generic properties and those that the author declared, which take
    precedence. If the author declared nothing, no other properties are allowed."""
    if declared is None:
        return {"type": "object", "properties": GENERIC, "additionalProperties": False}
    shown = client_schema(declared)
    return {**shown, "properties": {**GENERIC, **as_object(shown.get("properties"))}}


def merge_config(declared: JsonObject | None, arguments: JsonObject) -> JsonObject:
    """Return the arguments as the function takes them. If it declares no `config` of its own, the members of `config`
    are arguments, too; arguments beside `config` take precedence."""
    if declared is None or "config" in as_object(declared.get("properties")):
        return arguments
    others = {name: value for name, value in arguments.items() if name != "config"}
    return {**as_object(arguments.get("config")), **others}


def _build_skill_tools(functions: FunctionList) -> _SkillToolSet:
    by_name = index_by_skill_name(functions)
    skills = [
        _build_skill_tool(name, hosted, is_own=hosted.function in functions.own)
        for name, hosted in sorted(by_name.items())
        if is_tool(hosted, functions.settings)
    ]
    return _split_hidden(skills, lambda _: False)


def _filter_allowed(all_tools: _SkillToolSet, allowed: FunctionList, shows: Callable[[str], bool]) -> _SkillToolSet:
    """Keep the skills of allowed functions. Names are those among all functions, so that they are the same for every
    principal."""
    ids = {hosted.function for hosted in allowed.functions}
    return _split_hidden([skill for skill in all_tools.by_name.values() if skill.hosted.function in ids], shows)


def _split_hidden(skills: Sequence[_SkillTool], shows: Callable[[str], bool]) -> _SkillToolSet:
    """Divide skills into listed and hidden ones. `shows` tells by function id which hidden ones are listed for the
    principal."""
    hidden = {skill.tool.name for skill in skills if skill.hosted.hidden and not shows(skill.hosted.function)}
    return _SkillToolSet(
        by_name={skill.tool.name: skill for skill in skills},
        listed=[skill.tool for skill in skills if skill.tool.name not in hidden],
        hidden=[skill.tool for skill in skills if skill.tool.name in hidden],
    )


def _build_skill_tool(name: str, hosted: HostedFunction, *, is_own: bool) -> _SkillTool:
    description = f"{hosted.description or f'{name} skill'}{DYNAMIC if is_own else ''}"
    tool = tool_of(hosted, f"{SKILL_TOOL_PREFIX}{name}", description, skill_schema(hosted.input_schema))
    return _SkillTool(hosted, tool)
