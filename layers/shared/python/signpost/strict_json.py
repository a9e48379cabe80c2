"""Parses strict JSON, which all parsers read alike: finite numbers, and text that UTF-8 can encode."""

import json
import re
from math import isfinite
from typing import Any, NoReturn

from signpost.model import Json

_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


def parse(text: str) -> Json:
    """Parses a text. Raises ValueError if it is no JSON, or contains NaN, an infinity or a number that no double
    holds."""
    return json.loads(text, parse_constant=_refuse_constant, parse_float=_parse_finite)


def parse_bytes(data: bytes, *, unique_keys: bool = False) -> Json:
    """Parses bytes as `parse` does.

    Raises ValueError also if the data is no UTF-8 or escapes half of a surrogate pair, and with `unique_keys` if an
    object repeats a key.
    """
    hook = _refuse_repeated_keys if unique_keys else None
    value = json.loads(
        data.decode(), parse_constant=_refuse_constant, parse_float=_parse_finite, object_pairs_hook=hook
    )
    if _SURROGATE_ESCAPE.search(data):
        json.dumps(value, ensure_ascii=False).encode()
    return value


def is_encodable(text: str) -> bool:
    """Whether UTF-8 can encode the text; it cannot encode half of a surrogate pair.

    JSON can escape such a half, but storing it fails, and an answer that contains it ends the sandbox, because Lambda's
    runtime encodes after the handler returned.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_json(text: str) -> bool:
    """Whether `parse` accepts the text."""
    try:
        parse(text)
    except (ValueError, RecursionError):
        return False
    return True


def has_encodable_text(value: Json) -> bool:
    return is_encodable(json.dumps(value, ensure_ascii=False))


def byte_length(text: str) -> int:
    """The length of the text in UTF-8. Half of a surrogate pair counts as three bytes."""
    return len(text.encode("utf-8", "surrogatepass"))


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def _parse_finite(number: str) -> float:
    value = float(number)
    if not isfinite(value):
        raise ValueError(f"{number} is too large for a number")
    return value


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Builds an object and refuses repeated keys, of which different parsers take different values."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("repeated key")
    return members
