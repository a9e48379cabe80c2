"""Which functions a principal may use, whatever a function is to clients and whatever name it is asked for by."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from signpost.contract import HELPER, PROMPT, Hosted
from signpost.execution.functions import REMEMBERED_TENANTS, FunctionList, FunctionLists
from signpost.execution.skill_names import PREFIX, by_skill_name
from signpost.model import Principal
from signpost.policy import items
from signpost.policy.access import Access, Accesses

if TYPE_CHECKING:
    from signpost.policy.items import Item

REMEMBERED = 256

type FunctionItems = Mapping[str, Item]
"""By function id."""


class FunctionAccess:
    def __init__(self, *, accesses: Accesses, lists: FunctionLists) -> None:
        self._accesses = accesses
        self._lists = lists
        self._items: dict[str, tuple[FunctionList, FunctionItems]] = {}
        self._left: dict[Access, tuple[FunctionList, FunctionList]] = {}

    def of(self, principal: Principal) -> Access:
        return self._accesses.of(principal)

    def items(self, tenant: str) -> "FunctionItems":
        """Made once, for as long as the tenant has the same functions."""
        return self._known(tenant, self._lists.of(tenant))

    def _known(self, tenant: str, found: FunctionList) -> "FunctionItems":
        known = self._items.get(tenant)
        if known is None or known[0] is not found:
            if len(self._items) >= REMEMBERED_TENANTS:
                self._items.clear()
            known = self._items[tenant] = found, items_of(found)
        return known[1]

    def left(self, principal: Principal) -> FunctionList:
        """Without those that are denied. The same object for as long as functions and rules are the same."""
        whole, access = self._lists.of(principal.tenant), self._accesses.of(principal)
        if access.is_open:
            return whole
        left = self._left.get(access)
        if left is None or left[0] is not whole:
            if len(self._left) >= REMEMBERED:
                self._left.clear()
            known = self._known(principal.tenant, whole)
            allowed = [one for one in whole.functions if access.allows(known[one.function])]
            left = self._left[access] = whole, replace(whole, functions=allowed)
        return left[1]

    def shows(self, principal: Principal, function: str) -> bool:
        """Whether it is listed although it is hidden."""
        access = self._accesses.of(principal)
        item = None if access.is_open else self.items(principal.tenant).get(function)
        return item is not None and access.shows(item)

    def missed(self, principal: Principal, name: str) -> None:
        """Somebody asked for it, and was told that there is nothing of this name. If it was denied, that is noticed."""
        access = self._accesses.of(principal)
        if access.is_open:
            return
        for item in self.items(principal.tenant).values():
            if name in item:
                access.admits(item)

    def allows(self, principal: Principal, function: str) -> bool:
        """For what is shown."""
        access = self._accesses.of(principal)
        if access.is_open:
            return True
        item = self.items(principal.tenant).get(function)
        return item is not None and access.allows(item)

    def admits(self, principal: Principal, function: str, *, over_mcp: bool = True) -> bool:
        """What lists do not know yet is not known to any rule either, and has to wait until they do."""
        access = self._accesses.of(principal)
        if access.is_open:
            return True
        item = self.items(principal.tenant).get(function)
        return item is not None and access.admits(item, over_mcp=over_mcp)

    def admits_at(self, principal: Principal, function: str, uri: str) -> bool:
        """What a resource or an instance of a template is read from: it goes by its own URI, too."""
        access = self._accesses.of(principal)
        if access.is_open:
            return True
        item = self._at(principal, function, uri)
        return item is not None and access.admits(item)

    def allows_at(self, principal: Principal, function: str, uri: str) -> bool:
        """The same for lists."""
        access = self._accesses.of(principal)
        if access.is_open:
            return True
        item = self._at(principal, function, uri)
        return item is not None and access.allows(item)

    def _at(self, principal: Principal, function: str, uri: str) -> "Item | None":
        item = self.items(principal.tenant).get(function)
        return None if item is None else items.at(uri, item)


def items_of(found: FunctionList) -> "FunctionItems":
    tools = {hosted.function: f"{PREFIX}{name}" for name, hosted in by_skill_name(found).items()}
    by_id = {one.function: items.function(one.function, *_others(one, tools)) for one in found.functions}
    helpers = [one.function for one in found.functions if one.component is not None and one.component.kind == HELPER]
    return {**by_id, **{helper: by_id.get(_helped(helper), by_id[helper]) for helper in helpers}}


def _others(hosted: Hosted, tools: Mapping[str, str]) -> tuple[str, ...]:
    component = hosted.component
    if component is None:
        # One that has lost its name to others, and its id as a name too, is no tool there.
        return (tools[hosted.function],) if hosted.function in tools else ()
    if component.kind == PROMPT:
        return items.prompt(hosted.name or hosted.function)
    return () if component.uri is None else (component.uri,)


def _helped(helper: str) -> str:
    """Whoever may use what it helps may use the helper."""
    # Hardly any tenant has one.
    from signpost.execution.components import COMPLETES, ENUMERATES  # noqa: PLC0415

    return helper.removesuffix(COMPLETES).removesuffix(ENUMERATES)
