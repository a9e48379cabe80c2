"""Suggests the probable name for a mistyped one."""

from collections.abc import Callable, Iterable

SIMILARITY_CUTOFF = 60
"""The least similarity of a suggestion, of at most 100."""


def suggest_name(name: str, names: Iterable[str], cutoff: int = SIMILARITY_CUTOFF) -> str | None:
    """Returns the most similar name, or None if none is similar enough."""
    from rapidfuzz import fuzz, process  # noqa: PLC0415 - imported on first use: only a mistyped name needs it

    match = process.extractOne(name, list(names), scorer=fuzz.ratio, score_cutoff=cutoff)
    return match[0] if match else None


def build_suggestion(name: str, names: Iterable[str], quote: Callable[[str], str] = str) -> str:
    """Build a question for the most similar of the names, as a further sentence; empty if none is similar enough."""
    similar = suggest_name(name, names)
    return f" Did you mean {quote(similar)}?" if similar else ""
