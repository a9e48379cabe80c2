"""Cases that expect something else than product.md has decided."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Contradiction:
    decision: int
    """Its number in product.md."""
    says: str

    @property
    def reason(self) -> str:
        return f"decision {self.decision}: {self.says}"


CONTRADICTED: dict[str, Contradiction] = {}
"""By the id of the case. None so far: every case that is known passes."""
