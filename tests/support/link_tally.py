"""Counts the fidelity of links: how many links that are followed are accepted, and how many moves that are possible are
linked."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class LinkTally:
    """The links that were followed, the moves that were tried, and what falls outside of the promise."""

    followed: int = 0
    accepted: int = 0
    possible: int = 0
    linked: int = 0
    cancelled: int = 0
    """How many of the links that were followed cancel the instance."""
    outside: Counter[str] = field(default_factory=Counter[str])
    besides: Counter[str] = field(default_factory=Counter[str])
    """Further counts that the report prints."""
    violations: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        lines = [
            f"soundness {_format_share(self.accepted, self.followed)}: {self.accepted} of {self.followed} links",
            f"completeness {_format_share(self.linked, self.possible)}: {self.linked} of {self.possible} moves",
            *([f"among both: {self.cancelled} cancellations"] if self.cancelled else []),
            *(f"outside: {count} {reason}" for reason, count in sorted(self.outside.items())),
            *(f"besides: {count} {remark}" for remark, count in sorted(self.besides.items())),
        ]
        return "".join(f"\n    {line}" for line in lines)

    @property
    def is_whole(self) -> bool:
        return not self.violations and self.accepted == self.followed and self.linked == self.possible


def _format_share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f} %" if whole else "of nothing"
