"""Finds elements of HTML that a page does not show: `<template>`, the attribute `hidden`, and styles that hide."""

import re
from collections.abc import Iterator
from html import unescape

_TAG = re.compile(r"""<(?P<name>[a-z][a-z0-9-]*)(?P<attributes>(?:[^<>"']++|"[^"]*+"|'[^']*+')*+)""", re.IGNORECASE)
"""An opening tag, also an unfinished one: the search goes on behind it, so a text is read once."""
_VALUES = re.compile(r"""=\s*(?:"[^"<]*"|'[^'<]*')""")
_HIDDEN = re.compile(r"""(?:[\s"'/]|\A)hidden(?=[\s=/>"']|\Z)""", re.IGNORECASE)
_STYLE = re.compile(r"""\bstyle\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)""", re.IGNORECASE)
_HIDING_STYLE = re.compile(
    r"(?P<property>display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)"
    r"|font-size\s*:\s*(?:0+(?:\.0*)?|\.0+)(?:%|[a-z]+)?(?=\s*(?:;|!|\Z)))",
    re.IGNORECASE,
)
_CSS_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)


def find_hidden_elements(text: str) -> Iterator[tuple[int, str]]:
    """Yield the place of each element that a page does not show, and the part of its tag that hides it."""
    for tag in _TAG.finditer(text):
        if reason := _reason_to_hide(tag["name"].lower(), tag["attributes"]):
            yield tag.start(), reason


def _reason_to_hide(name: str, attributes: str) -> str | None:
    if name == "template":
        return "<template>"
    if _HIDDEN.search(_VALUES.sub('=""', attributes)):
        return "the attribute hidden"
    for style in _STYLE.finditer(attributes):
        css = _CSS_COMMENT.sub("", unescape(style[1].strip("\"'")))
        if hiding := _HIDING_STYLE.search(css):
            return f"the style {''.join(hiding['property'].split())}"
    return None
