"""What somebody probably meant who mistyped a name."""

from collections.abc import Iterable

ALIKE = 60
"""Of a hundred. What is less alike is something else."""


def meant(name: str, names: Iterable[str]) -> str | None:
    """The name that is most like it, if any is."""
    from rapidfuzz import fuzz, process  # noqa: PLC0415 - everything imports this, and only a mistake needs it

    found = process.extractOne(name, list(names), scorer=fuzz.ratio, score_cutoff=ALIKE)
    return found[0] if found else None
