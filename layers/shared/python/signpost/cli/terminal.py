"""Text for people at a terminal. What others wrote is only ever shown: nothing of it can give the terminal orders."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import zip_longest

from signpost.model import Json

GAP = "  "


def visible(text: str) -> str:
    """On one line, with names for the characters that nobody could see."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Aligned columns. The last one may be as long as it wants to be."""
    shown = [headings, *([visible(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip_longest(*shown, fillvalue="")]
    for row in shown:
        yield GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip()


def moment(at: float) -> str:
    """In UTC, to the second."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%SZ}"


def value(name: str, found: Json) -> Iterator[str]:
    """As JSON, so that a text and a number cannot be mistaken for each other; but long texts as they are read."""
    if isinstance(found, str) and "\n" in found:
        yield f"{visible(name)}:"
        yield from (f"{GAP}| {visible(line)}" for line in found.split("\n"))
    else:
        yield f"{visible(name)}: {visible(json.dumps(found, ensure_ascii=False))}"
