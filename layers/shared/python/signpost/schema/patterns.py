"""Translates the patterns of schemas into regular expressions of Python. JSON Schema reads patterns as ECMA-262 does,
where `$` is the very end of a text, and `\\d` and `\\w` are ASCII."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Self, cast

from signpost.model import Json, JsonObject

type _Ranges = Sequence[tuple[int, int]]
"""Ascending ranges of code points."""

_DIGITS: _Ranges = ((0x30, 0x39),)
_WORD_CHARACTERS: _Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_LINE_ENDS: _Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
_SPACES: _Ranges = (
    (0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F),
    (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
)  # fmt: skip
_LAST_CODE_POINT = 0x10FFFF


def _complement(ranges: _Ranges) -> _Ranges:
    starts = [0, *(last + 1 for _, last in ranges)]
    ends = [*(first - 1 for first, _ in ranges), _LAST_CODE_POINT]
    return [(start, end) for start, end in zip(starts, ends, strict=True) if start <= end]


def _format(ranges: _Ranges) -> str:
    """Formats ranges for a class. No accepted pattern has `\\U`, so two patterns never become the same."""
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


_IN_CLASSES: Mapping[str, str] = {
    r"\d": _format(_DIGITS),
    r"\D": _format(_complement(_DIGITS)),
    r"\w": _format(_WORD_CHARACTERS),
    r"\W": _format(_complement(_WORD_CHARACTERS)),
    r"\s": _format(_SPACES),
    r"\S": _format(_complement(_SPACES)),
}
_OUTSIDE: Mapping[str, str] = {
    **{escape: f"[{ranges}]" for escape, ranges in _IN_CLASSES.items()},
    ".": f"[{_format(_complement(_LINE_ENDS))}]",
    "$": r"\Z",
    r"\b": r"(?a:\b)",
    r"\B": r"(?!(?a:\b))",  # `\B` of Python 3.13 is not at the end of the empty text
}
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_PART = re.compile(
    r"""
    \\.                                                  # an escape
    | \[ \^? \]? (?: [^\]\\] | \\. )* \]                 # a class, which for Python may begin with a bracket
    | \( \? <? .                                         # the beginning of a group that is more than a group
    | \{ , [0-9]* \}                                     # a repetition without its least number
    | (?: [*+?] | \{ [0-9]+ (?: , [0-9]* )? \} ) \+      # a possessive repetition
    | [.$]
    """,
    re.DOTALL | re.VERBOSE,
)
_FOREIGN_ESCAPES = frozenset({r"\A", r"\Z", r"\a", r"\U", r"\N"})
_GROUPS = frozenset({"(?:", "(?=", "(?!", "(?<=", "(?<!"})


def find_foreign_part(pattern: str) -> str | None:
    """Returns the first part of a regular expression of Python that ECMA-262 does not have or reads otherwise."""
    return next((part for part in _PART.findall(pattern) if _is_foreign(part)), None)


def _is_foreign(part: str) -> bool:
    if part.startswith("["):
        return part.startswith(("[]", "[^]")) or not _FOREIGN_ESCAPES.isdisjoint(_ESCAPE.findall(part))
    if part.startswith("(?"):
        return part not in _GROUPS
    return part in _FOREIGN_ESCAPES or part[0] in "{*+?"


def translate_pattern(pattern: str) -> str:
    """Translates a pattern without a foreign part."""
    return _PART.sub(lambda part: _translate_part(part[0]), pattern)


def _translate_part(part: str) -> str:
    if part.startswith("["):
        return _ESCAPE.sub(lambda escape: _IN_CLASSES.get(escape[0], escape[0]), part)
    return _OUTSIDE.get(part, part)


class TranslatedPattern(str):
    """A pattern as Python reads it. The library's messages quote it as the author wrote it."""

    __slots__ = ("_written",)

    def __new__(cls, written: str) -> Self:
        pattern = super().__new__(cls, translate_pattern(written))
        pattern._written = written
        return pattern

    def __repr__(self) -> str:
        return repr(self._written)


_VALUES = ("const", "enum", "default", "examples")
_SCHEMAS_BY_NAME = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")


def translate_schema(schema: JsonObject) -> JsonObject:
    """Returns the schema with all its patterns translated. Members that a reference may lead to count as schemas."""
    return {keyword: _translate_operand(keyword, operand) for keyword, operand in schema.items()}


def _translate_operand(keyword: str, operand: Json) -> Json:
    if keyword == "pattern" and isinstance(operand, str):
        return TranslatedPattern(operand)
    if keyword in _SCHEMAS_BY_NAME and isinstance(operand, Mapping):
        return dict(_translate_members(keyword, cast("JsonObject", operand)))
    return operand if keyword in _VALUES else _translate_subschema(operand)


def _translate_members(keyword: str, schemas: JsonObject) -> Iterator[tuple[str, Json]]:
    for name, schema in schemas.items():
        yield TranslatedPattern(name) if keyword == "patternProperties" else name, _translate_subschema(schema)


def _translate_subschema(node: Json) -> Json:
    if isinstance(node, list):
        return [_translate_subschema(item) for item in node]
    return translate_schema(cast("JsonObject", node)) if isinstance(node, Mapping) else node
