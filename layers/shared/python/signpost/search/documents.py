"""The documents that a search covers."""

from collections.abc import Sequence

from signpost.records import dataclass

FIELDS = ("title", "tags", "aliases", "id", "description", "text")
"""The fields that a search looks at. Rankings list the weights of the fields in this order."""
COUNTED_TWICE = 3
"""The first fields, in which the fused ranking counts a stem twice."""


@dataclass(frozen=True, slots=True)
class SearchDocument:
    """A catalogue item as search sees it. `text` describes its contents: states, transitions and goals."""

    id: str
    kind: str
    title: str
    description: str = ""
    tags: Sequence[str] = ()
    aliases: Sequence[str] = ()
    text: str = ""
    place: int = 0
    """Among equal scores, documents with a lower number come first."""

    def fields(self) -> tuple[str, ...]:
        """The texts of `FIELDS`."""
        return (self.title, " ".join(self.tags), " ".join(self.aliases), self.id, self.description, self.text)
