"""What a schema or a value may cost before anything walks it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, cast

from signpost.model import Json

# The parser of `re` has no public name. Reading the tree it makes is surer than guessing at the text of a pattern,
# and a test notices if a release of Python moves it.
_parser: Any = import_module("re._parser")
_REPEATS: Any = (_parser.MAX_REPEAT, _parser.MIN_REPEAT)

DEEPEST_VALUE = 64
LARGEST_SCHEMA = 64 * 1024
LONGEST_PATTERN = 1024


def is_too_deep(value: Json, deepest: int = DEEPEST_VALUE) -> bool:
    """Level by level, so that a value that is deeper than Python's stack does no harm."""
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


def fault_of_pattern(pattern: str) -> str | None:
    """Why a pattern is not taken: a repetition inside a repetition can take longer than anybody lives. Other patterns
    can be slow too; the time for checking a value is limited besides."""
    if len(pattern) > LONGEST_PATTERN:
        return f"a pattern has {LONGEST_PATTERN} characters at most"
    try:
        parsed = _parser.parse(pattern)
    except (re.error, RecursionError, OverflowError):
        return f"{pattern!r} is not a regular expression"
    return f"{pattern!r} repeats a repetition" if _nests(parsed, inside=False) else None


def _nests(parsed: Any, *, inside: bool) -> bool:
    for operation, argument in parsed:
        repeats = operation in _REPEATS and argument[1] > 1
        # Inside another one, repeating a fixed number of times leaves nothing to try.
        if repeats and inside and argument[1] > argument[0]:
            return True
        if any(_nests(part, inside=inside or repeats) for part in _parts(argument)):
            return True
    return False


def _parts(argument: Any) -> Iterator[Any]:
    if isinstance(argument, _parser.SubPattern):
        yield argument
    elif isinstance(argument, list | tuple):
        for part in cast("Sequence[Any]", argument):
            yield from _parts(part)
