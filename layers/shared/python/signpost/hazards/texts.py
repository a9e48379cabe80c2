"""Finds hazards in the texts that clients read as markdown: documents, descriptions, guidance."""

from collections.abc import Iterator

from signpost.hazards.characters import find_hidden_characters
from signpost.hazards.markup import find_hidden_markup
from signpost.hazards.model import Hazard
from signpost.hazards.orders import find_orders


def find_text_hazards(text: str) -> Iterator[Hazard]:
    yield from find_hidden_characters(text)
    yield from find_hidden_markup(text)
    yield from find_orders(text)
