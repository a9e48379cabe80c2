"""Finds parts of markdown that clients read and no rendered page shows: comments, hidden elements of HTML, and encoded
characters without a shape. Fenced code and inline code are shown, so nothing in them is hidden.

Blocks are cut as CommonMark cuts them, so that no fence and no backtick covers a part that a page hides.

The time of a search grows with the length of a text, whatever it contains."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from signpost.hazards.characters import find_encoded_characters
from signpost.hazards.elements import find_hidden_elements
from signpost.hazards.model import Hazard
from signpost.records import dataclass

COMMENT = "a comment, which clients read and no rendered page shows. Remove it, or write it as text."
_FRONT_MATTER = re.compile(r"\ufeff?---\r?\n(.*?\r?\n)??---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_QUOTE = re.compile(r" {0,3}> ?")
_ITEM = re.compile(r"( {0,3})([-+*]|\d{1,9}[.)])( {1,4})(?=\S)")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})")
_COMMENT_LINE = re.compile(r""" {0,3}\[(?:[^\]\\]|\\.)+\]:[ \t]*(?:<>|#)[ \t]+["'(]""")
_NEW_BLOCK = re.compile(r" {0,3}(?:#{1,6}(?:[ \t]|\Z)|<!--|(?:[-*_][ \t]*){3,}\Z)")
_ESCAPE_OR_TICKS = re.compile(r"\\[!-/:-@\[-`{-~]|(`+)")
_TICKS = re.compile("`+")
_FILLED = re.compile(r"[^\n]")
_COMMENT_MARK = "<!--"
_HINTS = ("<", "&", "]:")


def find_hidden_markup(markdown: str) -> Iterator[Hazard]:
    """Yield one hazard for each line and kind of hidden part that begins on it."""
    if not any(hint in markdown for hint in _HINTS):
        return
    front_matter = _FRONT_MATTER.match(markdown)
    skipped = markdown[: front_matter.end()] if front_matter else ""
    blocks = _Blocks(markdown[len(skipped) :].splitlines(), skipped.count("\n") + 1)
    found = [
        replace(hazard, line=number)
        for number, line in enumerate(skipped.split("\n"), 1)
        for _, hazard in _find_in_block(line)
    ]
    yield from sorted(dict.fromkeys([*found, *blocks.find_hazards()]), key=lambda hazard: hazard.line)


@dataclass(slots=True)
class _Blocks:
    """Reads markdown line by line, and collects the texts of blocks in which inline code may span lines."""

    lines: list[str]
    first: int
    indent: int = 0
    """The columns by which the content of the current list item is indented."""
    quotes: int = 0
    fence: str = ""
    block: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    def find_hazards(self) -> Iterator[Hazard]:
        for number, line in enumerate(self.lines, self.first):
            quotes, content = _strip_quotes(line, self.quotes if self.fence else len(line))
            if quotes != self.quotes:
                yield from self._end_block()
                self.quotes, self.fence, self.indent = quotes, "", 0
            yield from self._read_line(number, content)
        yield from self._end_block()

    def _read_line(self, number: int, line: str) -> Iterator[Hazard]:
        indent_before = self.indent
        line = self._strip_item(line)
        if self.indent != indent_before:
            yield from self._end_block()
        if self.fence:
            self._close_fence(line)
        elif fence := _FENCE.match(line):
            yield from self._end_block()
            self.fence = fence[1]
        elif _COMMENT_LINE.match(line):
            yield Hazard("hidden_comment", COMMENT, number)
        else:
            if not line.strip() or _NEW_BLOCK.match(line):
                yield from self._end_block()
            self.block.append((number, line))

    def _strip_item(self, line: str) -> str:
        """Strip the indentation of the current list item. A line that is indented less ends the item and its fence."""
        if line.strip() and self.indent and len(line) - len(line.lstrip(" ")) < self.indent:
            self.indent, self.fence = 0, ""
        begin = self.indent
        while not self.fence and (item := _ITEM.match(line, begin)):
            begin = self.indent = item.end()
        return line[begin:]

    def _close_fence(self, line: str) -> None:
        text = line.strip()
        if len(text) >= len(self.fence) and not text.strip(self.fence[0]) and len(line) - len(line.lstrip(" ")) < 4:
            self.fence = ""

    def _end_block(self) -> Iterator[Hazard]:
        text = "\n".join(line for _, line in self.block)
        numbers = [number for number, _ in self.block]
        self.block = []
        line, counted_to = 0, 0
        for at, hazard in _find_in_block(text):
            line, counted_to = line + text.count("\n", counted_to, at), at
            yield replace(hazard, line=numbers[line])


def _strip_quotes(line: str, most: int) -> tuple[int, str]:
    """Strip the marks of quotes. Inside a fence only those before it count; the others are part of the code."""
    quotes, begin = 0, 0
    while quotes < most and (quote := _QUOTE.match(line, begin)):
        quotes, begin = quotes + 1, quote.end()
    return quotes, line[begin:]


def _find_in_block(text: str) -> Sequence[tuple[int, Hazard]]:
    """Return the hidden parts of one block in the order of their places."""
    if not any(hint in text for hint in _HINTS):
        return ()
    shown = _blank_code(text)
    comments = ((mark.start(), Hazard("hidden_comment", COMMENT)) for mark in re.finditer(_COMMENT_MARK, shown))
    elements = (
        (at, Hazard("hidden_element", f"an element that clients read and no page shows ({reason}). Remove it."))
        for at, reason in find_hidden_elements(shown)
    )
    return sorted([*comments, *elements, *find_encoded_characters(shown)], key=lambda found: found[0])


def _blank_code(text: str) -> str:
    """Replace inline code and escaped characters by as many other characters. A run of backticks is code up to the next
    run of its length."""
    runs = _places_of_runs(text)
    pieces: list[str] = []
    at = 0
    while piece := _ESCAPE_OR_TICKS.search(text, at):
        pieces.append(text[at : piece.start()])
        ticks = len(piece[1] or "")
        ends = runs.get(ticks, ())
        index = bisect_left(ends, piece.end())
        at = ends[index] + ticks if ticks and index < len(ends) else piece.end()
        pieces.append(_FILLED.sub("x", text[piece.start() : at]))
    return "".join([*pieces, text[at:]])


def _places_of_runs(text: str) -> Mapping[int, Sequence[int]]:
    """Return the places of the runs of backticks by their length."""
    runs: dict[int, list[int]] = {}
    for run in _TICKS.finditer(text):
        runs.setdefault(len(run[0]), []).append(run.start())
    return runs
