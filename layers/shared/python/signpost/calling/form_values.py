"""Decides whether a value fits a field of a form: its choices, its limits and its format.

JSON Schema treats formats as remarks. In forms they bind: functions get no text that is no date, address or URI."""

import re
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlsplit

from signpost.model import Json, JsonObject, as_object

_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_MOMENT = re.compile(
    r"([0-9-]{10})[Tt ]([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)(\.[0-9]+)?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
)
_ADDRESS = re.compile(r"[^\s@]{1,64}@[^\s@.]+(\.[^\s@.]+)*")
_LONGEST_ADDRESS = 254
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _is_date(text: str) -> bool:
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    year, month, day = map(int, match.groups())
    is_leap_day = (month, day) == (2, 29) and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return year > 0 and 1 <= month <= 12 and (1 <= day <= _DAYS[month - 1] or is_leap_day)


def _is_moment(text: str) -> bool:
    match = _MOMENT.fullmatch(text)
    return match is not None and _is_date(match.group(1))


def _is_address(text: str) -> bool:
    return len(text) <= _LONGEST_ADDRESS and _ADDRESS.fullmatch(text) is not None


def _is_uri(text: str) -> bool:
    if not text.isprintable() or " " in text:
        return False
    try:
        return bool(urlsplit(text).scheme)
    except ValueError:
        return False


FORMATS: Mapping[str, Callable[[str], bool]] = {
    "date": _is_date,
    "date-time": _is_moment,
    "email": _is_address,
    "uri": _is_uri,
}
"""The formats that a text of a form can have."""


def find_format_fault(schema: JsonObject, content: JsonObject) -> str | None:
    """Return the name of a field whose text does not have the format that its form declares; None if there is none."""
    fields = as_object(schema.get("properties"))
    return next((name for name, value in content.items() if not has_format(as_object(fields.get(name)), value)), None)


def has_format(declared: JsonObject, value: Json) -> bool:
    check = FORMATS.get(str(declared.get("format")))
    return check is None or not isinstance(value, str) or check(value)


def choices_of(declared: JsonObject) -> Sequence[str] | None:
    """Return the values that a choice permits; None if the field is no choice."""
    if isinstance(texts := declared.get("enum"), list):
        return [str(text) for text in texts]
    titled = declared.get("oneOf", declared.get("anyOf"))
    if isinstance(titled, list):
        return [str(as_object(item).get("const")) for item in titled]
    return choices_of(as_object(declared["items"])) if "items" in declared else None


def is_default_permitted(declared: JsonObject) -> bool:
    """Whether the default of a field is a value that a client could answer."""
    default, choices = declared["default"], choices_of(declared)
    chosen = default if isinstance(default, list) else [default]
    if choices is not None and not all(value in choices for value in chosen):
        return False
    limits = _LIMITS.get(type(default))
    return has_format(declared, default) and (limits is None or _is_within(declared, default, *limits))


def _is_within(declared: JsonObject, value: Json, lowest: str, highest: str) -> bool:
    measured = value if isinstance(value, int | float) else len(value if isinstance(value, str | list) else ())
    least, most = declared.get(lowest), declared.get(highest)
    is_low = isinstance(least, int | float) and measured < least
    return not (is_low or (isinstance(most, int | float) and measured > most))


_LIMITS: Mapping[type, tuple[str, str]] = {
    int: ("minimum", "maximum"),
    float: ("minimum", "maximum"),
    str: ("minLength", "maxLength"),
    list: ("minItems", "maxItems"),
}
PAIRS_OF_LIMITS = tuple(dict.fromkeys(_LIMITS.values()))
