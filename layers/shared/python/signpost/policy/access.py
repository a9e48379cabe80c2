"""What policy leaves to somebody, as everything asks that finds or lists anything."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from signpost.model import Principal
    from signpost.policy.items import Item
    from signpost.policy.rules import Decision

    type Notice = Callable[[Item, Decision], None]
    """Hears of what somebody asked for by name and is denied."""


class Access:
    """Everything, where no rule says anything. One object for all whom the same rules concern, so that what is made by
    it can be kept with it."""

    is_open = True
    """Whether nothing is denied, and nothing shown that is hidden from others."""

    def allows(self, item: "Item", *, over_mcp: bool = True) -> bool:
        """For lists."""
        del item, over_mcp
        return True

    def admits(self, item: "Item", *, over_mcp: bool = True) -> bool:
        """The same of what was asked for by name. That it was denied is noticed, by others than who asked."""
        del item, over_mcp
        return True

    def shows(self, item: "Item") -> bool:
        """Whether it is listed although it is hidden."""
        del item
        return False

    def missed(self, name: str, items: "Callable[[], Iterable[Item]]") -> None:
        """Somebody asked for it, and was told that there is nothing of this name. If it is one of these that is denied,
        that is noticed."""
        del name, items


OPEN = Access()


class Accesses(Protocol):
    def of(self, principal: "Principal") -> Access:
        """Raises Unavailable where that cannot be said now: nobody gets by because the rules cannot be read."""
        ...


class Unrestricted:
    """Where others have decided already who may do what."""

    def of(self, principal: "Principal") -> Access:
        del principal
        return OPEN

    def uses(self, principal: "Principal", function: str) -> bool:
        del principal, function
        return True
