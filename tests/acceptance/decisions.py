"""Cases that expect something else than product.md has decided, or than an invariant of docs/invariants.md promises."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Contradiction:
    source: str
    """The decision of product.md, or the invariant, by its number."""
    says: str

    @property
    def reason(self) -> str:
        return f"{self.source}: {self.says}"


CONTRADICTED: dict[str, Contradiction] = {}
"""Cases of the registry, by their ids. None so far: every case that is known passes."""
WORKFLOWS_CONTRADICTED: Mapping[str, Contradiction] = {
    "ACT-06": Contradiction("invariant 93", "only the engine takes a deterministic transition that is not linked."),
}
"""Cases of workflows, by their ids."""
