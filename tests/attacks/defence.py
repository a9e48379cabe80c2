"""A defence of the product, and the change of its code that removes it."""

from dataclasses import dataclass

from tests.mutants.mutant import replace_once

DEFAULT_GROUP = "open"
APART = "apart"
"""The group of defences without which attacks of the default group would succeed, or fail, for another reason."""


@dataclass(frozen=True, slots=True)
class Removal:
    """The replacement of one text of a source file."""

    file: str
    """The path in the repository, below `layers/shared/python` or `functions`."""
    there: str
    """The text that is replaced. It occurs once in the file."""
    instead: str


@dataclass(frozen=True, slots=True)
class Defence:
    name: str
    """A short name of its own, with hyphens."""
    title: str
    """The defence in words, as in "held by …" and "succeeded without …"."""
    removals: tuple[Removal, ...]
    group: str = DEFAULT_GROUP
    """Defences of one group are removed together, in one build and one stack. A group has no defence whose removal lets
    another attack of the group succeed."""

    def remove_from(self, removal: Removal, source: str) -> str:
        """Return the text of the file without the defence. Raises MisfitError."""
        return replace_once(self.name, removal.file, source, removal.there, removal.instead)
