"""Finds hazards in the texts that clients read as markdown: documents, descriptions, guidance."""

from collections.abc import Iterator

from signpost.hazards.characters import find_hidden_characters
from signpost.hazards.comments import find_comments
from signpost.hazards.model import Hazard


def find_text_hazards(text: str) -> Iterator[Hazard]:
    yield from find_hidden_characters(text)
    yield from find_comments(text)
