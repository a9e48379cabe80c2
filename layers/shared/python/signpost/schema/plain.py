"""Validates values against plain schemas without the JSON Schema library, whose import would slow the first call. Most
schemas state only the type of each member."""

from collections.abc import Callable, Mapping
from typing import Any

from signpost.model import Json, JsonObject

_MOST_LEVELS = 8
_MOST_MEMBERS = 50
_LONGEST_TEXT = 300
_TYPE_CHECKS: Mapping[str, Callable[[Json], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "null": lambda value: value is None,
}


def is_surely_valid(schema: JsonObject, value: Json) -> bool:
    """Whether the value satisfies the schema for certain. False means only that the library has to decide."""
    return _is_plain(schema, _MOST_LEVELS) and _is_valid(schema, value)


def _is_plain(schema: Any, levels: int) -> bool:
    """Whether this module understands the whole schema, so that it contains nothing that would be refused."""
    if not _TYPE_CHECKS["object"](schema) or levels == 0:
        return False
    return all(
        keyword in _KEYWORD_FORMS and _KEYWORD_FORMS[keyword](operand, levels - 1)
        for keyword, operand in schema.items()
    )


def _is_short_text(operand: Any, _levels: int) -> bool:
    return isinstance(operand, str) and len(operand) <= _LONGEST_TEXT


def _is_list_of_names(operand: Any, _levels: int) -> bool:
    is_list = _TYPE_CHECKS["array"](operand) and len(operand) <= _MOST_MEMBERS
    return is_list and all(isinstance(name, str) for name in operand) and len(set(operand)) == len(operand)


def _is_count(operand: Any, _levels: int) -> bool:
    return isinstance(operand, int) and not isinstance(operand, bool) and operand >= 0


def _is_list_of_plain_schemas(operand: Any, levels: int) -> bool:
    is_list = _TYPE_CHECKS["array"](operand) and 0 < len(operand) <= _MOST_MEMBERS
    return is_list and all(_is_plain(member, levels) for member in operand)


def _is_plain_properties(operand: Any, levels: int) -> bool:
    is_object = _TYPE_CHECKS["object"](operand) and len(operand) <= _MOST_MEMBERS
    return is_object and all(_is_plain(member, levels) for member in operand.values())


_KEYWORD_FORMS: Mapping[str, Callable[[Any, int], bool]] = {
    "type": lambda operand, _: isinstance(operand, str) and operand in _TYPE_CHECKS,
    "title": _is_short_text,
    "description": _is_short_text,
    "default": lambda operand, _: not isinstance(operand, dict | list),
    "enum": _is_list_of_names,
    "minLength": _is_count,
    "maxLength": _is_count,
    "minimum": _is_count,
    "items": _is_plain,
    "anyOf": _is_list_of_plain_schemas,
    "properties": _is_plain_properties,
    "required": _is_list_of_names,
    "additionalProperties": lambda operand, _: isinstance(operand, bool),
}


def _is_valid(schema: Any, value: Json) -> bool:
    """Whether the value satisfies a plain schema."""
    if isinstance(value, dict) and schema.get("additionalProperties") is False:
        properties: JsonObject = schema.get("properties", {})
        if not value.keys() <= properties.keys():
            return False
    return all(
        _KEYWORD_CHECKS[keyword](operand, value) for keyword, operand in schema.items() if keyword in _KEYWORD_CHECKS
    )


_KEYWORD_CHECKS: Mapping[str, Callable[[Any, Any], bool]] = {
    "type": lambda operand, value: _TYPE_CHECKS[operand](value),
    "enum": lambda operand, value: value in operand,
    "minLength": lambda operand, value: not isinstance(value, str) or len(value) >= operand,
    "maxLength": lambda operand, value: not isinstance(value, str) or len(value) <= operand,
    "minimum": lambda operand, value: not _TYPE_CHECKS["number"](value) or value >= operand,
    "items": lambda operand, value: not _TYPE_CHECKS["array"](value) or all(_is_valid(operand, item) for item in value),
    "anyOf": lambda operand, value: any(_is_valid(member, value) for member in operand),
    "required": lambda operand, value: not _TYPE_CHECKS["object"](value) or all(name in value for name in operand),
    "properties": lambda operand, value: (
        not _TYPE_CHECKS["object"](value)
        or all(_is_valid(member, value[name]) for name, member in operand.items() if name in value)
    ),
}
"""The check of a value for each keyword."""
