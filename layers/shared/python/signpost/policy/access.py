"""The access that the rules of a tenant leave to a principal, as asked by all code that finds or lists items."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from signpost.model import Principal
    from signpost.policy.policy_items import PolicyItem
    from signpost.policy.rules import PolicyDecision

    type DenialListener = Callable[[PolicyItem, PolicyDecision], None]
    """Receives each denial of an item that a caller requested by name."""


class Access:
    """Access to everything, for principals that no rule restricts.

    Principals with the same rules share one object, so that lists derived from it can be cached with it.
    """

    is_open = True
    """Whether no item is denied, and no hidden item is shown."""

    def allows(self, item: "PolicyItem", *, over_mcp: bool = True) -> bool:
        """Whether the principal may use the item. For lists: denials are not reported."""
        del item, over_mcp
        return True

    def filter[Entry](self, entries: "Sequence[Entry]", item_of: "Callable[[Entry], PolicyItem]") -> "Sequence[Entry]":
        """The entries of a list whose items the principal may use."""
        return entries if self.is_open else [entry for entry in entries if self.allows(item_of(entry))]

    def admits(self, item: "PolicyItem", *, over_mcp: bool = True) -> bool:
        """Whether the principal may use an item that it requested by name. Reports a denial to the operator, not to the
        caller."""
        del item, over_mcp
        return True

    def shows(self, item: "PolicyItem") -> bool:
        """Whether the item is listed for the principal although it is hidden."""
        del item
        return False

    def report_missing(self, name: str, items: "Callable[[], Iterable[PolicyItem]]") -> None:
        """Reports a denial if a name that was answered as not existing belongs to one of the items and that item is
        denied."""
        del name, items


OPEN = Access()


class AccessLookup(Protocol):
    def of(self, principal: "Principal") -> Access:
        """The access of the principal. Raises Unavailable if the rules cannot be read, so that no caller gets past
        them."""
        ...


class UnrestrictedAccess:
    """Allows everything, for code whose caller has checked access already."""

    def of(self, principal: "Principal") -> Access:
        del principal
        return OPEN
