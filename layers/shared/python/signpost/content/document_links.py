"""Finds the `iii://` links of a document outside of its code. Import this module on first use: only publications need
it."""

import re
from collections.abc import Iterator

from signpost.content.uris import SCHEME

_FENCE = re.compile(r"(?:[ \t>]|[-*+][ \t]|[0-9]{1,9}[.)][ \t])*(`{3,}|~{3,})")
"""The beginning or the end of a block of code, also in a quotation or in an entry of a list."""
_INLINE_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_LINK = re.compile(rf"{SCHEME}[^\s<>()\[\]{{}}\"'`|*\\\x7f-\U0010ffff]+")
"""A URI is ASCII. Other characters, such as dashes and quotation marks, end it."""
_END_OF_SENTENCE = ".,;:!?"
_EMPHASIS = "*_~"
_PLACEHOLDER = "{<*…[«"
"""The characters that follow the fixed part of a link that is a pattern, such as `iii://notes/{id}`."""


def find_document_links(body: str) -> Iterator[tuple[int, str]]:
    """Yield the links of a document, each with its line."""
    if SCHEME not in body:
        return
    fence = ""
    for number, line in enumerate(body.split("\n"), 1):
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
        elif mark:
            fence = mark[1]
        else:
            yield from ((number, link) for link in _find_in_line(_INLINE_CODE.sub("", line)))


def _find_in_line(line: str) -> Iterator[str]:
    for link in _LINK.finditer(line):
        before, after = line[: link.start()][-1:], line[link.end() : link.end() + 1]
        is_emphasis = before in tuple(_EMPHASIS)
        is_pattern = after != "*" or link[0].endswith("/")  # elsewhere an asterisk ends emphasis
        is_placeholder = after in tuple(_PLACEHOLDER) and is_pattern
        if not is_placeholder and not link[0].endswith("..."):
            yield link[0].rstrip(f"{_END_OF_SENTENCE}{before}" if is_emphasis else _END_OF_SENTENCE)
