"""Limits on schemas and values, checked before any code walks them recursively."""

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, cast

from signpost.model import Json

# The parser of `re` has no public name. Its tree is more reliable than an analysis of the pattern's text, and a test
# fails if a release of Python moves it.
_parser: Any = import_module("re._parser")
_REPEATS: Any = (_parser.MAX_REPEAT, _parser.MIN_REPEAT)

DEEPEST_VALUE = 64
LARGEST_SCHEMA = 64 * 1024
LONGEST_PATTERN = 1024


def is_too_deep(value: Json, deepest: int = DEEPEST_VALUE) -> bool:
    """Whether the value has more levels. It is walked level by level, so that one deeper than Python's stack does no
    harm."""
    level: list[Json] = [value]
    for _ in range(deepest):
        level = [child for node in level for child in _children(node)]
        if not level:
            return False
    return True


def _children(node: Json) -> Sequence[Json]:
    if isinstance(node, Mapping):
        return [child for child in node.values() if isinstance(child, dict | list)]
    if isinstance(node, list):
        return [child for child in node if isinstance(child, dict | list)]
    return ()


def find_pattern_fault(pattern: str) -> str | None:
    """Why a pattern is refused; None if it is accepted.

    A repetition inside a repetition can take practically for ever. Other patterns can be slow too, so the time for
    validating a value is limited as well.
    """
    if len(pattern) > LONGEST_PATTERN:
        return f"a pattern can have at most {LONGEST_PATTERN} characters"
    try:
        re.compile(pattern)  # refuses more than the parser: a look-behind that has no fixed length
        parsed = _parser.parse(pattern)
    except (re.error, RecursionError, OverflowError):
        return f"{pattern!r} is not a regular expression"
    if _has_nested_repeat(parsed, inside=False):
        return f"{pattern!r} has a repetition inside a repetition"
    return _find_foreign_syntax(pattern)


def _find_foreign_syntax(pattern: str) -> str | None:
    from signpost.schema.patterns import find_foreign_part  # noqa: PLC0415 - most cold starts judge no pattern

    part = find_foreign_part(pattern)
    return f"{pattern!r} has {part!r}, which ECMA-262 does not have or reads otherwise" if part else None


def _has_nested_repeat(parsed: Any, *, inside: bool) -> bool:
    for operation, argument in parsed:
        is_repeat = operation in _REPEATS and argument[1] > 1
        # A fixed number of repetitions inside another repetition leaves no alternatives to try.
        if is_repeat and inside and argument[1] > argument[0]:
            return True
        if any(_has_nested_repeat(part, inside=inside or is_repeat) for part in _subpatterns(argument)):
            return True
    return False


def _subpatterns(argument: Any) -> Iterator[Any]:
    if isinstance(argument, _parser.SubPattern):
        yield argument
    elif isinstance(argument, list | tuple):
        for part in cast("Sequence[Any]", argument):
            yield from _subpatterns(part)
