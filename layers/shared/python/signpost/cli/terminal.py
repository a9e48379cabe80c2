"""Format text for a terminal.

Text that other people wrote is made printable first, so that no control sequence in it reaches the terminal."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import zip_longest

from signpost.model import Json

type ShowLine = Callable[[str], None]
"""Shows the operator one line about the progress of a command."""

GAP = "  "


def print_progress(line: str) -> None:
    """Print to standard error: standard output carries only the result, which other programs may read."""
    print(line, file=sys.stderr)


def make_printable(text: str) -> str:
    """Put the text on one line, with an escape sequence for each character that is not printable."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


def format_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table with aligned columns. The width of the last column is not limited."""
    printable_rows = [headings, *([make_printable(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip_longest(*printable_rows, fillvalue="")]
    for row in printable_rows:
        yield GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip()


def format_time(at: float) -> str:
    """Format a time in UTC, to the second."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%SZ}"


def format_value(name: str, value: Json) -> Iterator[str]:
    """Yield the lines that show a value.

    A value is shown as JSON, so that a text and a number cannot be mistaken for each other. A text of several lines is
    shown line by line."""
    if isinstance(value, str) and "\n" in value:
        yield f"{make_printable(name)}:"
        yield from (f"{GAP}| {make_printable(line)}" for line in value.split("\n"))
    else:
        yield f"{make_printable(name)}: {make_printable(json.dumps(value, ensure_ascii=False))}"
