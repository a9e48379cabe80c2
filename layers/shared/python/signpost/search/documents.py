"""What is searched."""

from collections.abc import Sequence

from signpost.records import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """A thing of the catalogue as search sees it. The text is what describes its inside: states, transitions, goals."""

    id: str
    kind: str
    title: str
    description: str = ""
    tags: Sequence[str] = ()
    aliases: Sequence[str] = ()
    text: str = ""

    def fields(self) -> tuple[str, ...]:
        """In the order in which every ranking states its weights."""
        return (self.title, self.id, " ".join(self.tags), " ".join(self.aliases), self.description, self.text)
