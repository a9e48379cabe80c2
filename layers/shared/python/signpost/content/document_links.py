"""Finds the `iii://` links of a document outside of its code. Import this module on first use: only publications need
it."""

import re
from collections.abc import Iterator

from signpost.content.uris import SCHEME

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_INLINE_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_LINK = re.compile(rf"{SCHEME}[^\s<>()\[\]{{}}\"'`|*…]+")
_END_OF_SENTENCE = ".,;:!?"
_PLACEHOLDER = "{<*…["
"""What follows a link that stands for many, such as `iii://notes/{id}`."""


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
        if line[link.end() : link.end() + 1] not in tuple(_PLACEHOLDER):
            yield link[0].rstrip(_END_OF_SENTENCE)
