"""Which functions a principal may use, whatever a function is to clients and whatever name it is asked for by."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from signpost.contract import HELPER, PROMPT, Hosted
from signpost.execution.functions import FunctionList, FunctionLists
from signpost.execution.skill_names import PREFIX, by_skill_name
from signpost.made_once import MadeOnce
from signpost.model import Principal
from signpost.policy import items
from signpost.policy.access import Access, Accesses

if TYPE_CHECKING:
    from signpost.policy.items import Item

type FunctionItems = Mapping[str, Item]
"""By function id."""


class FunctionAccess:
    def __init__(self, *, accesses: Accesses, lists: FunctionLists) -> None:
        self._accesses = accesses
        self._lists = lists
        self._items = MadeOnce[str, FunctionList, FunctionItems]()
        self._left = MadeOnce[Access, FunctionList, FunctionList]()

    def of(self, principal: Principal) -> Access:
        return self._accesses.of(principal)

    def items(self, tenant: str) -> FunctionItems:
        return self._items_of(tenant, self._lists.of(tenant))

    def left(self, principal: Principal) -> FunctionList:
        """Without those that are denied. The same object for as long as functions and rules are the same."""
        whole, access = self._lists.of(principal.tenant), self._accesses.of(principal)
        if access.is_open:
            return whole
        known = self._items_of(principal.tenant, whole)
        return self._left.of(access, whole, lambda: _left_of(whole, known, access))

    def missed(self, principal: Principal, name: str) -> None:
        self._accesses.of(principal).missed(name, lambda: self.items(principal.tenant).values())

    def shows(self, principal: Principal, function: str) -> bool:
        """Whether it is listed although it is hidden."""
        access, item = self._asked(principal, function)
        return item is not None and access.shows(item)

    def allows(self, principal: Principal, function: str, uri: str | None = None) -> bool:
        """Whether lists may show the function. A function that a resource is read from is judged by that URI, too."""
        access, item = self._asked(principal, function, uri)
        return item is not None and access.allows(item)

    def admits(self, principal: Principal, function: str, uri: str | None = None, *, over_mcp: bool = True) -> bool:
        """The same of what was asked for by name."""
        access, item = self._asked(principal, function, uri)
        return item is not None and access.admits(item, over_mcp=over_mcp)

    def _asked(self, principal: Principal, function: str, uri: str | None = None) -> "tuple[Access, Item | None]":
        """What lists do not know yet is not known to any rule either, and has to wait until they do. Where there are no
        rules nobody has to know how it is called."""
        access = self._accesses.of(principal)
        if access.is_open:
            return access, ()
        item = self.items(principal.tenant).get(function)
        return access, item if item is None or uri is None else items.at(uri, item)

    def _items_of(self, tenant: str, found: FunctionList) -> FunctionItems:
        return self._items.of(tenant, found, lambda: items_of(found))


def _left_of(whole: FunctionList, known: FunctionItems, access: Access) -> FunctionList:
    return replace(whole, functions=[one for one in whole.functions if access.allows(known[one.function])])


def items_of(found: FunctionList) -> FunctionItems:
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
