"""The functions behind runs of `proxy_default` that call one function: skills that clients start as capabilities, and
long calls."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, override

from signpost.calling.function_schemas import skill_arguments
from signpost.calling.lookup import FunctionView
from signpost.calling.runtime_settings import placement_of
from signpost.model import Principal
from signpost.workflow.ports import PublishedDefinition
from signpost.workflow.running.function_run import FunctionRun, TransitionTexts, build_function_run

if TYPE_CHECKING:
    from signpost.calling.function_access import FunctionAccess
    from signpost.catalogue.callable_skills import CallableSkill, CallableSkills
    from signpost.contract import HostedFunction


class RunFunctions(Protocol):
    """Finds the functions that runs call."""

    def may_use(self, principal: Principal, function: str) -> bool: ...

    def is_withheld(self, tenant: str, function: str) -> bool:
        """Return whether the settings of the tenant keep a hosted function from clients."""
        ...

    def find_skill(self, principal: Principal, name: str) -> "CallableSkill | None":
        """Find a skill that a client asked for by name; None if policy denies it. Reports a denial."""
        ...

    def list_skills(self, principal: Principal) -> "Sequence[CallableSkill]":
        """List the skills that the principal may use, without hidden ones, sorted by name."""
        ...

    def find_texts(self, tenant: str, run: FunctionRun) -> TransitionTexts | None:
        """Return the texts that links of the run show; None if the function is not hosted now."""
        ...


class HostedRunFunctions:
    """The functions without policy and without lists, for code that continues runs and starts none for clients."""

    def __init__(self, functions: FunctionView) -> None:
        self._functions = functions

    def may_use(self, principal: Principal, function: str) -> bool:
        del principal, function
        return True

    def is_withheld(self, tenant: str, function: str) -> bool:
        del tenant, function
        return False

    def find_skill(self, principal: Principal, name: str) -> "CallableSkill | None":
        del principal, name
        return None

    def list_skills(self, principal: Principal) -> "Sequence[CallableSkill]":
        del principal
        return ()

    def find_texts(self, tenant: str, run: FunctionRun) -> TransitionTexts | None:
        if run.capability is None:  # a long call is not begun by a link
            return None
        placement = placement_of(self._functions.state(tenant, run.function))
        return None if placement is None else _texts_of(run.capability, placement.hosted)


class SkillRunFunctions(HostedRunFunctions):
    """The functions that clients start by the names of skills, under the policy of their tenant."""

    def __init__(self, *, functions: FunctionView, access: "FunctionAccess", skills: "CallableSkills") -> None:
        super().__init__(functions)
        self._access = access
        self._skills = skills

    @override
    def may_use(self, principal: Principal, function: str) -> bool:
        return self._access.allows(principal, function)

    @override
    def is_withheld(self, tenant: str, function: str) -> bool:
        return self._skills.is_withheld(tenant, function)

    @override
    def find_skill(self, principal: Principal, name: str) -> "CallableSkill | None":
        return self._skills.find(principal, name)

    @override
    def list_skills(self, principal: Principal) -> "Sequence[CallableSkill]":
        return self._skills.allowed(principal).listed


def build_skill_run(skill: "CallableSkill") -> PublishedDefinition:
    """Build the definition that a start of the skill as a capability follows."""
    run = FunctionRun(skill.hosted.function, skill.hosted.idempotent, skill.name)
    return build_function_run(run, _texts_of(skill.name, skill.hosted))


def _texts_of(name: str, hosted: "HostedFunction") -> TransitionTexts:
    return TransitionTexts(hosted.title or name, hosted.description, skill_arguments(hosted.input_schema))
