"""The functions of a tenant as callable skills: the tools `skill:<name>` at /mcp/flat."""

from collections.abc import Mapping, Sequence

from signpost.caches import DerivedCache
from signpost.calling.function_listing import FunctionListing, ListKey
from signpost.calling.function_schemas import merge_config, skill_schema
from signpost.calling.skill_names import SKILL_TOOL_PREFIX
from signpost.catalogue.callable_skills import CallableSkill, CallableSkills, SkillSet, tool_name_of
from signpost.mcp.providers import ToolOutcome
from signpost.model import Call, JsonObject, Principal, Tool
from signpost.records import dataclass
from signpost.surfaces.function_calls import FunctionCalls, tool_of
from signpost.surfaces.gateway.tool_specs import RUN_TOOLS
from signpost.workflow.titles import WORKFLOW_TOOL

INSTRUCTIONS = (
    "A tool `skill:<name>` runs a skill. A tool `workflow:<title>` starts a workflow and answers with the state of the "
    "run and `links`: each names the tool to call next (`method`) and its arguments (`args`). Where there are "
    "workflows, workflow.get, workflow.submit and workflow.explain are listed; any other tool that a link names can be "
    "called here although tools/list does not show it. "
    "A skill that takes longer than a call can wait answers with a run too: read that run, do not call the skill "
    "again. The tool `catalog` shows all tools, prompts and resources, including hidden ones. "
    "Documents at iii:// URIs say when and how to use skills: begin with iii://skills, by skill__fetch or as a "
    "resource."
)
MENTIONS = (SKILL_TOOL_PREFIX, WORKFLOW_TOOL, *(tool.name for tool in RUN_TOOLS), "catalog", "skill__fetch")
"""The tools that the instructions name, and the prefixes of names."""


@dataclass(frozen=True, slots=True)
class _SkillToolSet:
    listed: Sequence[Tool]
    hidden: Sequence[Tool]
    has_long_calls: bool


class SkillTools:
    """The provider of the tools `skill:<name>`."""

    def __init__(self, *, skills: CallableSkills, listing: FunctionListing, calls: FunctionCalls) -> None:
        self._skills = skills
        self._listing = listing
        self._calls = calls
        self._tools_by_skill = DerivedCache[str, SkillSet, Mapping[str, Tool]]()
        self._tool_sets = DerivedCache[ListKey, SkillSet, _SkillToolSet]()

    def tools(self, call: Call) -> Sequence[Tool]:
        return self._tools_for(call.principal).listed

    def hidden_tools(self, call: Call) -> Sequence[Tool]:
        return self._tools_for(call.principal).hidden

    def has_long_calls(self, call: Call) -> bool:
        """Tell whether calls of a skill, listed or hidden, may become runs."""
        return self._tools_for(call.principal).has_long_calls

    def tool(self, name: str, call: Call) -> Tool | None:
        """Find a tool by name. Only the function list knows which function has the name."""
        if not name.startswith(SKILL_TOOL_PREFIX):
            return None
        skill = self._skills.find(call.principal, name.removeprefix(SKILL_TOOL_PREFIX))
        return None if skill is None else self._all_tools(call.principal.tenant).get(skill.name)

    def call_tool(self, tool: Tool, arguments: JsonObject, call: Call) -> ToolOutcome:
        skill = self._skills.whole(call.principal.tenant).by_name.get(tool.name.removeprefix(SKILL_TOOL_PREFIX))
        if skill is None:  # removed since `tool` found it: refused under the tool's name
            return self._calls.call_function(tool.name, arguments, tool, call)
        return self._calls.call_function(
            skill.hosted.function, merge_config(skill.hosted.input_schema, arguments), tool, call
        )

    def _tools_for(self, principal: Principal) -> _SkillToolSet:
        """Return the tools that policy allows the principal."""
        skills, tools = self._skills.allowed(principal), self._all_tools(principal.tenant)

        def build_set() -> _SkillToolSet:
            listed, hidden = (
                [tools[skill.name] for skill in part if skill.name in tools] for part in (skills.listed, skills.hidden)
            )
            # A call of a tool with an output schema never becomes a run.
            has_long_calls = any(
                skill.may_be_long and tools[skill.name].output_schema is None
                for skill in skills.by_name.values()
                if skill.name in tools
            )
            return _SkillToolSet(listed, hidden, has_long_calls)

        return self._tool_sets.get(self._listing.of(principal).key, skills, build_set)

    def _all_tools(self, tenant: str) -> Mapping[str, Tool]:
        skills = self._skills.whole(tenant)
        return self._tools_by_skill.get(
            tenant, skills, lambda: {skill.name: _build_tool(skill) for skill in skills.by_name.values()}
        )


def _build_tool(skill: CallableSkill) -> Tool:
    return tool_of(skill.hosted, tool_name_of(skill), skill.description, skill_schema(skill.hosted.input_schema))
