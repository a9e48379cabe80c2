"""The functions of a tenant as lists show them to one principal.

A hidden function is left out of lists and can be called by its name. So is a function whose `visible_when` the
principal does not meet. A rule of policy with `show` lists both. All lists of functions go by this module: tools,
prompts, resources, templates, home, search, catalog and overviews.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from signpost.caches import BoundedCache, DerivedCache
from signpost.calling.function_access import FunctionAccess
from signpost.calling.lookup import FunctionList
from signpost.contract import HostedFunction
from signpost.model import Principal
from signpost.policy.access import Access
from signpost.records import dataclass

if TYPE_CHECKING:
    from signpost.calling.grants import GrantView

type ListKey = tuple[str, Access, frozenset[str]]
"""The tenant, the access, and the ids of the functions whose `visible_when` is met. Principals with the same key have
the same lists."""
REMEMBERED_PRINCIPALS = 1_024
_NONE = frozenset[str]()


@dataclass(frozen=True, slots=True)
class ListedFunctions:
    """The functions that a principal may use, and those of them that lists leave out. The same object for all
    principals with the same key, for as long as nothing has changed."""

    functions: FunctionList
    unlisted: frozenset[str]
    """The ids of the functions that lists leave out. They can be called."""
    key: ListKey
    is_whole: bool
    """Whether it is the same for all principals whom no rule restricts: no function has a `visible_when`."""


@dataclass(frozen=True, slots=True)
class _Conditions:
    """The functions of a list that have a `visible_when`."""

    functions: Sequence[HostedFunction]
    names_grants: bool


class FunctionListing:
    """Decides which functions the lists of a principal show."""

    def __init__(self, *, access: FunctionAccess, grants: "Callable[[], GrantView]") -> None:
        """`grants` is called once a `visible_when` names a grant."""
        self._access = access
        self._grants = grants
        self._conditions = DerivedCache[tuple[str, Access], FunctionList, _Conditions]()
        self._met = BoundedCache[tuple[Principal, frozenset[str]], tuple[_Conditions, frozenset[str]]](
            REMEMBERED_PRINCIPALS
        )
        self._listed = DerivedCache[ListKey, FunctionList, ListedFunctions]()

    def of(self, principal: Principal) -> ListedFunctions:
        allowed, access = self._access.allowed_functions(principal), self._access.of(principal)
        conditions = self._conditions.get((principal.tenant, access), allowed, lambda: _find_conditions(allowed))
        met = self._find_met(conditions, principal) if conditions.functions else _NONE
        key = (principal.tenant, access, met)

        def build() -> ListedFunctions:
            unlisted = frozenset(self._find_unlisted(allowed, access, met, principal))
            return ListedFunctions(allowed, unlisted, key, access.is_open and not conditions.functions)

        return self._listed.get(key, allowed, build)

    def _find_met(self, conditions: _Conditions, principal: Principal) -> frozenset[str]:
        """Return the ids of the functions whose `visible_when` the principal meets. Its grants are read only if one of
        the conditions names a grant."""
        held = self._grants().names(principal) if conditions.names_grants else _NONE
        before, met = self._met.get((principal, held)) or (None, _NONE)
        return met if before is conditions else self._met.put((principal, held), _judge(conditions, principal, held))[1]

    def _find_unlisted(
        self, allowed: FunctionList, access: Access, met: frozenset[str], principal: Principal
    ) -> Iterator[str]:
        for hosted in allowed.functions:
            is_hidden = hosted.hidden or (hosted.visible_when is not None and hosted.function not in met)
            if is_hidden and (access.is_open or not self._access.shows(principal, hosted.function)):
                yield hosted.function


def _find_conditions(functions: FunctionList) -> _Conditions:
    found = [hosted for hosted in functions.functions if hosted.visible_when is not None]
    if not found:
        return _Conditions((), names_grants=False)
    from signpost.calling.visibility import needs_grants  # noqa: PLC0415 - on first use: most tenants have no condition

    return _Conditions(found, any(needs_grants(hosted.visible_when) for hosted in found))


def _judge(conditions: _Conditions, principal: Principal, held: frozenset[str]) -> tuple[_Conditions, frozenset[str]]:
    from signpost.calling.visibility import is_met  # noqa: PLC0415 - as above

    met = (hosted.function for hosted in conditions.functions if is_met(hosted.visible_when, principal, held))
    return conditions, frozenset(met)
