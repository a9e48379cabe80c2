"""The functions that policy allows one principal, for every kind of function and under every name of it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from signpost.caches import DerivedCache
from signpost.calling.lookup import FunctionList, FunctionLists
from signpost.calling.skill_names import index_by_skill_name, names_for_rules
from signpost.contract import HELPER, PROMPT, HostedFunction
from signpost.model import Principal
from signpost.policy import policy_items as items
from signpost.policy.access import Access, AccessLookup

if TYPE_CHECKING:
    from signpost.policy.policy_items import PolicyItem

type FunctionItems = Mapping[str, PolicyItem]
"""The policy items of functions, by function id."""
type DocumentedItems = Mapping[str, Sequence[PolicyItem]]
"""The policy items of the functions that name a document as theirs, by the id of the document."""


class FunctionAccess:
    """Applies a tenant's policy to its functions."""

    def __init__(self, *, accesses: AccessLookup, lists: FunctionLists) -> None:
        self._accesses = accesses
        self._lists = lists
        self._items = DerivedCache[str, FunctionList, FunctionItems]()
        self._documented_items = DerivedCache[str, FunctionList, DocumentedItems]()
        self._allowed_lists = DerivedCache[Access, FunctionList, FunctionList]()

    def of(self, principal: Principal) -> Access:
        return self._accesses.of(principal)

    def items(self, tenant: str) -> FunctionItems:
        return self._items_of(tenant, self._lists.of(tenant))

    def documented_items(self, tenant: str) -> DocumentedItems:
        functions = self._lists.of(tenant)
        by_id = self._items_of(tenant, functions)
        return self._documented_items.get(tenant, functions, lambda: _index_by_document(functions, by_id))

    def allowed_functions(self, principal: Principal) -> FunctionList:
        """Return the functions that policy allows the principal. Gives the same object for as long as functions and
        rules are the same."""
        functions, access = self._lists.of(principal.tenant), self._accesses.of(principal)
        if access.is_open:
            return functions
        by_id = self._items_of(principal.tenant, functions)
        return self._allowed_lists.get(access, functions, lambda: _filter_allowed(functions, by_id, access))

    def record_miss(self, principal: Principal, name: str) -> None:
        """Record a denial if a name that was answered as unknown is that of a function which policy denies."""
        self._accesses.of(principal).report_missing(name, lambda: self.items(principal.tenant).values())

    def shows(self, principal: Principal, function: str) -> bool:
        """Tell whether policy lists the function for the principal although it is hidden."""
        access, item = self._find_item(principal, function)
        return item is not None and access.shows(item)

    def allows(self, principal: Principal, function: str, uri: str | None = None) -> bool:
        """Tell whether lists may show the function. Where a resource is read from it, the rules about that URI count,
        too."""
        access, item = self._find_item(principal, function, uri)
        return item is not None and access.allows(item)

    def admits(self, principal: Principal, function: str, uri: str | None = None, *, over_mcp: bool = True) -> bool:
        """Tell whether the principal may use a function that it asked for by name."""
        access, item = self._find_item(principal, function, uri)
        return item is not None and access.admits(item, over_mcp=over_mcp)

    def _find_item(
        self, principal: Principal, function: str, uri: str | None = None
    ) -> "tuple[Access, PolicyItem | None]":
        """Return the principal's access and the policy item of the function.

        A function that is not in the lists yet has no item, because no rule can name it; calls wait until the lists
        have it. Where the tenant has no rules the item is empty, because its names do not matter.
        """
        access = self._accesses.of(principal)
        if access.is_open:
            return access, ()
        item = self.items(principal.tenant).get(function)
        return access, item if item is None or uri is None else items.resource_item(uri, item)

    def _items_of(self, tenant: str, functions: FunctionList) -> FunctionItems:
        return self._items.get(tenant, functions, lambda: items_of(functions))


def _filter_allowed(functions: FunctionList, by_id: FunctionItems, access: Access) -> FunctionList:
    allowed = [hosted for hosted in functions.functions if access.allows(by_id[hosted.function])]
    return replace(functions, functions=allowed)


def items_of(functions: FunctionList) -> FunctionItems:
    """Build the policy item of each function from its id, its other names and, for a helper, its component's item."""
    tools = {hosted.function: names_for_rules(name) for name, hosted in index_by_skill_name(functions).items()}
    by_id = {
        hosted.function: items.function_item(hosted.function, *_other_names(hosted, tools))
        for hosted in functions.functions
    }
    helpers = [
        hosted.function
        for hosted in functions.functions
        if hosted.component is not None and hosted.component.kind == HELPER
    ]
    return {**by_id, **{helper: by_id.get(_helped_function(helper), by_id[helper]) for helper in helpers}}


def _index_by_document(functions: FunctionList, by_id: FunctionItems) -> DocumentedItems:
    documented: dict[str, list[PolicyItem]] = {}
    for hosted in functions.functions:
        if hosted.doc:
            documented.setdefault(hosted.doc, []).append(by_id[hosted.function])
    return documented


def _other_names(hosted: HostedFunction, tools: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the names besides the id by which clients may ask for a function."""
    component = hosted.component
    if component is None:
        # If other functions have taken both its name and its id as names, it is not a tool.
        return tools.get(hosted.function, ())
    if component.kind == PROMPT:
        return items.prompt_item(hosted.name or hosted.function)
    return () if component.uri is None else (component.uri,)


def _helped_function(helper: str) -> str:
    """Return the function that a helper serves: its rules apply to the helper, too."""
    # Imported on first use: few tenants have a helper.
    from signpost.calling.components import COMPLETE_SUFFIX, ENUMERATE_SUFFIX  # noqa: PLC0415

    return helper.removesuffix(COMPLETE_SUFFIX).removesuffix(ENUMERATE_SUFFIX)
