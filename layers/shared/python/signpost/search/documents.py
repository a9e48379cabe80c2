"""The documents that a search covers."""

from collections.abc import Sequence

from signpost.records import dataclass


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

    def fields(self) -> tuple[str, ...]:
        """The fields in the order of the weights of each ranking."""
        return (self.title, self.id, " ".join(self.tags), " ".join(self.aliases), self.description, self.text)
