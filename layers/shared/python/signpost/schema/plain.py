"""Values that satisfy a schema beyond doubt, told without the library, whose import a first call would feel: most
schemas say nothing but what kind of thing each member is."""

from collections.abc import Callable, Mapping
from typing import Any

from signpost.model import Json, JsonObject

_MOST_LEVELS = 8
_MOST_MEMBERS = 50
_LONGEST_WORDS = 300
_IS: Mapping[str, Callable[[Json], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "null": lambda value: value is None,
}


def satisfies(schema: JsonObject, value: Json) -> bool:
    """Only True is an answer; whatever else has to be looked at."""
    return _is_plain(schema, _MOST_LEVELS) and _fits(schema, value)


def _is_plain(schema: Any, levels: int) -> bool:
    """Whether all of it is understood here, so that there is nothing in it that would be refused."""
    if not _IS["object"](schema) or levels == 0:
        return False
    return all(word in _UNDERSTOOD and _UNDERSTOOD[word](said, levels - 1) for word, said in schema.items())


def _are_words(said: Any, _levels: int) -> bool:
    return isinstance(said, str) and len(said) <= _LONGEST_WORDS


def _are_names(said: Any, _levels: int) -> bool:
    is_list = _IS["array"](said) and len(said) <= _MOST_MEMBERS
    return is_list and all(isinstance(one, str) for one in said) and len(set(said)) == len(said)


def _is_count(said: Any, _levels: int) -> bool:
    return isinstance(said, int) and not isinstance(said, bool) and said >= 0


def _are_members(said: Any, levels: int) -> bool:
    is_object = _IS["object"](said) and len(said) <= _MOST_MEMBERS
    return is_object and all(_is_plain(member, levels) for member in said.values())


_UNDERSTOOD: Mapping[str, Callable[[Any, int], bool]] = {
    "type": lambda said, _: isinstance(said, str) and said in _IS,
    "title": _are_words,
    "description": _are_words,
    "default": lambda said, _: not isinstance(said, dict | list),
    "enum": _are_names,
    "minLength": _is_count,
    "maxLength": _is_count,
    "minimum": _is_count,
    "items": _is_plain,
    "properties": _are_members,
    "required": _are_names,
    "additionalProperties": lambda said, _: isinstance(said, bool),
}


def _fits(schema: Any, value: Json) -> bool:
    """The schema is understood."""
    if isinstance(value, dict) and schema.get("additionalProperties") is False:
        properties: JsonObject = schema.get("properties", {})
        if not value.keys() <= properties.keys():
            return False
    return all(_HOLDS[word](said, value) for word, said in schema.items() if word in _HOLDS)


_HOLDS: Mapping[str, Callable[[Any, Any], bool]] = {
    "type": lambda said, value: _IS[said](value),
    "enum": lambda said, value: value in said,
    "minLength": lambda said, value: not isinstance(value, str) or len(value) >= said,
    "maxLength": lambda said, value: not isinstance(value, str) or len(value) <= said,
    "minimum": lambda said, value: not _IS["number"](value) or value >= said,
    "items": lambda said, value: not _IS["array"](value) or all(_fits(said, one) for one in value),
    "required": lambda said, value: not _IS["object"](value) or all(name in value for name in said),
    "properties": lambda said, value: (
        not _IS["object"](value) or all(_fits(one, value[name]) for name, one in said.items() if name in value)
    ),
}
"""What each word asks of a value."""
