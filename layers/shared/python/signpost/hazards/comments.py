"""Finds comments in markdown, which clients read and no rendered page shows. Comments inside fenced code and inline
code are shown, so they are none.

Blocks are cut as CommonMark cuts them, so that no fence and no backtick hides a comment that a page hides."""

import re
from collections.abc import Iterator
from dataclasses import field

from signpost.hazards.model import Hazard
from signpost.records import dataclass

MESSAGE = "a comment, which clients read and no rendered page shows. Remove it, or write it as text."
_FRONT_MATTER = re.compile(r"\ufeff?---\r?\n(.*?\r?\n)??---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_QUOTE = re.compile(r" {0,3}> ?")
_ITEM = re.compile(r"( {0,3})([-+*]|\d{1,9}[.)])( {1,4})(?=\S)")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})")
_COMMENT_LINE = re.compile(r""" {0,3}\[(?:[^\]\\]|\\.)+\]:[ \t]*(?:<>|#)[ \t]+["'(]""")
_NEW_BLOCK = re.compile(r" {0,3}(?:#{1,6}(?:[ \t]|\Z)|<!--|(?:[-*_][ \t]*){3,}\Z)")
_PIECES = re.compile(r"\\[!-/:-@\[-`{-~]|(`+)|<!--")
_HINT = "<!--"


def find_comments(markdown: str) -> Iterator[Hazard]:
    """Yield one hazard for each line on which a comment begins."""
    if _HINT not in markdown and "]:" not in markdown:
        return
    front_matter = _FRONT_MATTER.match(markdown)
    skipped = markdown[: front_matter.end()] if front_matter else ""
    blocks = _Blocks(markdown[len(skipped) :].splitlines(), skipped.count("\n") + 1)
    numbers = {number for number, line in enumerate(skipped.split("\n"), 1) if _comments_in(line)}
    numbers.update(blocks.find_lines())
    yield from (Hazard("hidden_comment", MESSAGE, number) for number in sorted(numbers))


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

    def find_lines(self) -> Iterator[int]:
        for number, line in enumerate(self.lines, self.first):
            quotes, content = _strip_quotes(line, self.quotes if self.fence else len(line))
            if quotes != self.quotes:
                yield from self._end_block()
                self.quotes, self.fence, self.indent = quotes, "", 0
            yield from self._read_line(number, content)
        yield from self._end_block()

    def _read_line(self, number: int, line: str) -> Iterator[int]:
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
            yield number
        else:
            if not line.strip() or _NEW_BLOCK.match(line):
                yield from self._end_block()
            self.block.append((number, line))

    def _strip_item(self, line: str) -> str:
        """Strip the indentation of the current list item. A line that is indented less ends the item and its fence."""
        if line.strip() and self.indent and len(line) - len(line.lstrip(" ")) < self.indent:
            self.indent, self.fence = 0, ""
        line = line[self.indent :]
        while not self.fence and (item := _ITEM.match(line)):
            self.indent += item.end()
            line = line[item.end() :]
        return line

    def _close_fence(self, line: str) -> None:
        text = line.strip()
        if len(text) >= len(self.fence) and not text.strip(self.fence[0]) and len(line) - len(line.lstrip(" ")) < 4:
            self.fence = ""

    def _end_block(self) -> Iterator[int]:
        text = "\n".join(line for _, line in self.block)
        numbers = [number for number, _ in self.block]
        self.block = []
        yield from (numbers[text.count("\n", 0, at)] for at in _comments_in(text))


def _strip_quotes(line: str, most: int) -> tuple[int, str]:
    """Strip the marks of quotes. Inside a fence only those before it count; the others are part of the code."""
    quotes = 0
    while quotes < most and (quote := _QUOTE.match(line)):
        quotes, line = quotes + 1, line[quote.end() :]
    return quotes, line


def _comments_in(text: str) -> list[int]:
    """Return the places of the comments in one block. A run of backticks is code up to the next run of its length."""
    places: list[int] = []
    at = 0
    while piece := _PIECES.search(text, at):
        at = piece.end()
        if piece[0] == _HINT:
            places.append(piece.start())
        elif ticks := piece[1]:
            end = re.compile(f"(?<!`){ticks}(?!`)").search(text, at)
            at = end.end() if end else at
    return places
