"""Lists of the deployment that can be too long for the environment of a function, which has 4 KB for all variables."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from signpost.records import dataclass

if TYPE_CHECKING:
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


class MoreOrigins:
    """The allowed origins that are not in the environment. They are read when they are first needed."""

    def __init__(self, lists: "DeploymentListStore", clock: "Clock") -> None:
        self._lists = lists
        self._clock = clock
        self._origins: frozenset[str] = frozenset()
        self._read_again_at = float("-inf")

    def read(self) -> frozenset[str]:
        """Return the origins, at most ten seconds old. Raises Unavailable."""
        if self._clock.now() >= self._read_again_at:
            self._origins = frozenset(origin.rstrip("/") for origin in self._lists.read().origins)
            self._read_again_at = self._clock.now() + SECONDS_KEPT
        return self._origins
