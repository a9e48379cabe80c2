"""The functions of a tenant as callable skills: the tools `skill:<name>` at /mcp/flat."""

from collections.abc import Callable, Mapping, Sequence

from signpost.contract import Hosted
from signpost.execution.function_access import FunctionAccess
from signpost.execution.functions import FunctionList, FunctionLists
from signpost.execution.skill_names import PREFIX, by_skill_name
from signpost.made_once import MadeOnce
from signpost.model import Call, InputRequired, JsonObject, Tool, ToolResult, as_object
from signpost.policy.access import Access
from signpost.records import dataclass
from signpost.surfaces.hosted import FunctionCalls, is_visible, shown_schema, tool_of

INSTRUCTIONS = (
    "A tool `skill:<name>` runs a skill. A tool `workflow:<title>` starts a workflow and answers where the run stands, "
    "with `links`: each names the tool that goes on with it (`method`) and what to send (`args`). Those tools can be "
    "called here although tools/list does not show them, workflow.get and workflow.submit among them. "
    "A skill that takes longer than a call can wait answers with a run too: look at that, do not call it again. "
    "The tool `catalog` shows everything there is, also what no list shows. "
    "Documents at iii:// URIs say when and how to use skills: begin with iii://skills, by skill__fetch or as a "
    "resource."
)
DYNAMIC = " [dynamic]"
"""What descriptions of functions end with that did not come with the deployment."""
GENERIC: JsonObject = {
    "input": {"type": "string", "description": "What the skill is to work on, if it takes a text."},
    "config": {"type": "object", "description": "What it takes by name, where that is not said beside this."},
}
"""What every skill takes, beside what its author declared."""


@dataclass(frozen=True, slots=True)
class _Skill:
    hosted: Hosted
    tool: Tool


@dataclass(frozen=True, slots=True)
class _Skills:
    by_name: Mapping[str, _Skill]
    """By the names of their tools."""
    listed: Sequence[Tool]
    hidden: Sequence[Tool]


class SkillTools:
    def __init__(self, *, lists: FunctionLists, access: FunctionAccess, calls: FunctionCalls) -> None:
        self._lists = lists
        self._access = access
        self._calls = calls
        self._made = MadeOnce[str, FunctionList, _Skills]()
        self._left = MadeOnce[Access, FunctionList, _Skills]()

    def tools(self, call: Call) -> Sequence[Tool]:
        return self._left_to(call).listed

    def hidden_tools(self, call: Call) -> Sequence[Tool]:
        return self._left_to(call).hidden

    def tool(self, name: str, call: Call) -> Tool | None:
        """Only the list knows which function has this name."""
        skill = self._of(call).by_name.get(name) if name.startswith(PREFIX) else None
        if skill is None or not self._access.admits(call.principal, skill.hosted.function):
            return None
        return skill.tool

    def call_tool(self, tool: Tool, arguments: JsonObject, call: Call) -> ToolResult | InputRequired:
        skill = self._of(call).by_name.get(tool.name)
        if skill is None:  # taken away since it was found: refused by the name of the tool
            return self._calls.made(tool.name, arguments, tool, call)
        return self._calls.made(skill.hosted.function, arguments_of(skill.hosted.input_schema, arguments), tool, call)

    def _left_to(self, call: Call) -> _Skills:
        """Without what policy denies, and with what it shows."""
        every, principal = self._of(call), call.principal
        access, left = self._access.of(principal), self._access.left(principal)
        if access.is_open:
            return every
        return self._left.of(
            access, left, lambda: _left_of(every, left, lambda one: self._access.shows(principal, one))
        )

    def _of(self, call: Call) -> _Skills:
        found = self._lists.of(call.principal.tenant)
        return self._made.of(call.principal.tenant, found, lambda: _skills(found))


def skill_schema(declared: JsonObject | None) -> JsonObject:
    """What an author declares goes before; who declares nothing takes nothing else."""
    if declared is None:
        return {"type": "object", "properties": GENERIC, "additionalProperties": False}
    shown = shown_schema(declared)
    return {**shown, "properties": {**GENERIC, **as_object(shown.get("properties"))}}


def arguments_of(declared: JsonObject | None, arguments: JsonObject) -> JsonObject:
    """As the function takes them. Where it has no `config` of its own, what is in there counts as if it stood beside,
    behind what does."""
    if declared is None or "config" in as_object(declared.get("properties")):
        return arguments
    beside = {name: value for name, value in arguments.items() if name != "config"}
    return {**as_object(arguments.get("config")), **beside}


def _skills(found: FunctionList) -> _Skills:
    named = by_skill_name(found)
    skills = [
        _skill(name, hosted, is_own=hosted.function in found.own)
        for name, hosted in sorted(named.items())
        if is_visible(hosted, found.settings)
    ]
    return _divided(skills, lambda _: False)


def _left_of(every: _Skills, left: FunctionList, shows: Callable[[str], bool]) -> _Skills:
    """Names go by all that there is, whoever may use the others."""
    ids = {hosted.function for hosted in left.functions}
    return _divided([skill for skill in every.by_name.values() if skill.hosted.function in ids], shows)


def _divided(skills: Sequence[_Skill], shows: Callable[[str], bool]) -> _Skills:
    """`shows` says which hidden ones are listed all the same, by the ids of their functions."""
    hidden = {one.tool.name for one in skills if one.hosted.hidden and not shows(one.hosted.function)}
    return _Skills(
        by_name={skill.tool.name: skill for skill in skills},
        listed=[skill.tool for skill in skills if skill.tool.name not in hidden],
        hidden=[skill.tool for skill in skills if skill.tool.name in hidden],
    )


def _skill(name: str, hosted: Hosted, *, is_own: bool) -> _Skill:
    description = f"{hosted.description or f'{name} skill'}{DYNAMIC if is_own else ''}"
    tool = tool_of(hosted, f"{PREFIX}{name}", description, skill_schema(hosted.input_schema))
    return _Skill(hosted, tool)
