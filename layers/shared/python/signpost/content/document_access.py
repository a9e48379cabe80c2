"""The documents that policy allows one principal."""

from collections.abc import Callable, Sequence

from signpost.calling.function_access import FunctionAccess
from signpost.content.model import Skill
from signpost.model import Principal
from signpost.policy.policy_items import PolicyItem, document_item


class DocumentAccess:
    """Applies a tenant's policy to its documents. A document that functions name as theirs (`doc`) is denied if all of
    these functions are: it would show that they exist."""

    def __init__(self, functions: FunctionAccess) -> None:
        self._functions = functions

    def filter(self, principal: Principal, skills: Sequence[Skill]) -> Sequence[Skill]:
        """Return the documents of a list that the principal may read."""
        access = self._functions.of(principal)
        if access.is_open:
            return skills
        explained = self._functions.documented_items(principal.tenant)
        return [
            skill
            for skill in skills
            if access.allows(document_item(skill.id)) and _allows_any(access.allows, explained.get(skill.id, ()))
        ]

    def admits(self, principal: Principal, skill_id: str) -> bool:
        """Tell whether the principal may read a document that it asked for by name. Reports a denial."""
        access = self._functions.of(principal)
        if access.is_open or not access.admits(document_item(skill_id)):
            return access.is_open
        explained = self._functions.documented_items(principal.tenant).get(skill_id, ())
        return _allows_any(access.allows, explained) or access.admits(explained[0])


def _allows_any(allows: Callable[[PolicyItem], bool], items: Sequence[PolicyItem]) -> bool:
    return not items or any(map(allows, items))
