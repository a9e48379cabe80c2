"""The callable skills of a tenant: the functions that clients find as tools at /mcp/flat and as capabilities at /mcp,
with the same names, under the same policy."""

from collections.abc import Callable, Mapping, Sequence

from signpost.caches import DerivedCache
from signpost.calling.function_access import FunctionAccess
from signpost.calling.function_listing import FunctionListing, ListedFunctions, ListKey
from signpost.calling.lookup import FunctionList, FunctionLists
from signpost.calling.runtime_settings import may_be_long
from signpost.calling.skill_names import SKILL_TOOL_PREFIX, index_by_skill_name
from signpost.catalogue.exposure import is_tool
from signpost.contract import HostedFunction
from signpost.model import Principal
from signpost.records import dataclass

DYNAMIC = " [dynamic]"
"""The suffix of descriptions of functions that a tenant loaded at run time."""


@dataclass(frozen=True, slots=True)
class CallableSkill:
    name: str
    """Its wire name, which is the id of the capability."""
    hosted: HostedFunction
    is_own: bool
    """True if it is the tenant's own, False if it is shipped."""
    may_be_long: bool = False
    """Whether calls of it may become runs."""

    @property
    def description(self) -> str:
        return f"{self.hosted.description or f'{self.name} skill'}{DYNAMIC if self.is_own else ''}"


@dataclass(frozen=True, slots=True)
class SkillSet:
    """The skills that one principal may use. The same object for as long as nothing has changed."""

    by_name: Mapping[str, CallableSkill]
    """Sorted by name."""
    listed: Sequence[CallableSkill]
    hidden: Sequence[CallableSkill]


class CallableSkills:
    """Lists and finds the callable skills of tenants."""

    def __init__(self, *, lists: FunctionLists, access: FunctionAccess, listing: FunctionListing) -> None:
        self._lists = lists
        self._access = access
        self._listing = listing
        self._whole_sets = DerivedCache[str, FunctionList, SkillSet]()
        self._allowed_sets = DerivedCache[ListKey, ListedFunctions, SkillSet]()
        self._withheld = DerivedCache[str, FunctionList, frozenset[str]]()

    def whole(self, tenant: str) -> SkillSet:
        """Return all skills of the tenant, without regard to policy."""
        functions = self._lists.of(tenant)
        return self._whole_sets.get(tenant, functions, lambda: _build_set(functions))

    def allowed(self, principal: Principal) -> SkillSet:
        """Return the skills that policy allows the principal."""
        # These functions are read first. If the list changes in between, they belong to the older list, and the next
        # call has those of the newer one, for which the set is built again.
        listed = self._listing.of(principal)
        whole = self.whole(principal.tenant)
        if listed.is_whole:
            return whole
        return self._allowed_sets.get(listed.key, listed, lambda: _filter_allowed(whole, listed))

    def is_withheld(self, tenant: str, function: str) -> bool:
        """Return whether the settings of the tenant keep a hosted function from clients, whatever its name."""
        functions = self._lists.of(tenant)
        return function in self._withheld.get(tenant, functions, lambda: _list_withheld(functions))

    def find(self, principal: Principal, name: str) -> CallableSkill | None:
        """Find a skill that a client asked for by name. Reports a denial."""
        skill = self.whole(principal.tenant).by_name.get(name)
        if skill is None or not self._access.admits(principal, skill.hosted.function):
            return None
        return skill


def tool_name_of(skill: CallableSkill) -> str:
    """Return the name of the skill's tool at /mcp/flat."""
    return f"{SKILL_TOOL_PREFIX}{skill.name}"


def _build_set(functions: FunctionList) -> SkillSet:
    by_name = index_by_skill_name(functions)
    skills = [
        CallableSkill(name, hosted, hosted.function in functions.own, may_be_long(hosted, functions.settings))
        for name, hosted in sorted(by_name.items())
        if is_tool(hosted, functions.settings)
    ]
    return _split_hidden(skills, lambda skill: skill.hosted.hidden)


def _list_withheld(functions: FunctionList) -> frozenset[str]:
    return frozenset(hosted.function for hosted in functions.functions if not is_tool(hosted, functions.settings))


def _filter_allowed(whole: SkillSet, allowed: ListedFunctions) -> SkillSet:
    """Keep the skills of allowed functions. Names are those among all functions, so that they are the same for every
    principal."""
    ids = {hosted.function for hosted in allowed.functions.functions}
    return _split_hidden(
        [skill for skill in whole.by_name.values() if skill.hosted.function in ids],
        lambda skill: skill.hosted.function in allowed.unlisted,
    )


def _split_hidden(skills: Sequence[CallableSkill], is_hidden: Callable[[CallableSkill], bool]) -> SkillSet:
    """Divide skills into listed and hidden ones."""
    hidden = {skill.name for skill in skills if is_hidden(skill)}
    return SkillSet(
        by_name={skill.name: skill for skill in skills},
        listed=[skill for skill in skills if skill.name not in hidden],
        hidden=[skill for skill in skills if skill.name in hidden],
    )
