"""Lists of the deployment that can be too long for the environment of a function, which has 4 KB for all variables."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from signpost.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from signpost.ports import Clock, DeploymentListStore

SECONDS_KEPT = 10.0
"""A function reads the lists again after this time."""


@dataclass(frozen=True, slots=True)
class DeploymentLists:
    """The lists as the parameters of the stack have them. The custom resource of the stack stores them."""

    origins: Sequence[str] = ()
    """Origins of browser clients beyond those in the environment of the gateway."""
    executors: Sequence[str] = ()
    """ARNs of Lambda functions that tenants may load, with the wildcards * and ?."""
    claims: Sequence[str] = ()
    """Names of the token claims that become claims of principals."""


class RecentList:
    """One of the lists, read when it is first needed."""

    def __init__(
        self, lists: "DeploymentListStore", clock: "Clock", select: "Callable[[DeploymentLists], frozenset[str]]"
    ) -> None:
        self._lists = lists
        self._clock = clock
        self._select = select
        self._entries: frozenset[str] = frozenset()
        self._read_again_at = float("-inf")

    def read(self) -> frozenset[str]:
        """Return the entries, at most ten seconds old. Raises Unavailable."""
        if self._clock.now() >= self._read_again_at:
            self._entries = self._select(self._lists.read())
            self._read_again_at = self._clock.now() + SECONDS_KEPT
        return self._entries


def more_origins(lists: DeploymentLists) -> frozenset[str]:
    return frozenset(origin.rstrip("/") for origin in lists.origins)


def passed_claims(lists: DeploymentLists) -> frozenset[str]:
    return frozenset(lists.claims)
