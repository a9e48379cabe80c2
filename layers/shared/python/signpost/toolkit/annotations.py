"""What an annotation of Python's says, in the words of a field spec."""

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    ReadOnly,
    Required,
    TypeAliasType,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

MAKE = " make"
"""The option of an object that is no mapping to its author: what makes it. Nobody can write it by accident."""
type Words = dict[str, Any]


class Unsupported(Exception):  # noqa: N818 - it names what the annotation is
    """There is no field for it; the message says so."""


def spec_of(annotation: Any) -> Words:
    """Raises Unsupported."""
    annotation = annotation.__value__ if isinstance(annotation, TypeAliasType) else annotation
    origin = get_origin(annotation)
    if origin in _FORMS:
        return _FORMS[origin](annotation)
    if origin in (list, Sequence):
        return {"type": "array", "items": spec_of(get_args(annotation)[0])}
    if origin in (dict, Mapping):
        return _map(annotation)
    if isinstance(annotation, type) and origin is None:
        return _of_class(annotation)
    raise Unsupported(f"there is no field for {annotation!r}")


def _annotated(annotation: Any) -> Words:
    """A text describes it; a mapping has options."""
    words = spec_of(annotation.__origin__)
    for one in annotation.__metadata__:
        if isinstance(one, str):
            words["description"] = one
        elif isinstance(one, Mapping):
            words |= cast("Mapping[str, Any]", one)
    return words


def _literal(annotation: Any) -> Words:
    values = get_args(annotation)
    words: Words = {"type": "enum", "values": [value for value in values if value is not None]}
    return {**words, "nullable": True} if None in values else words


def _union(annotation: Any) -> Words:
    branches = get_args(annotation)
    some = [branch for branch in branches if branch is not types.NoneType]
    words = spec_of(some[0]) if len(some) == 1 else {"type": "any_of", "of": [spec_of(branch) for branch in some]}
    return {**words, "nullable": True} if len(some) < len(branches) else words


def _inside(annotation: Any) -> Words:
    return spec_of(get_args(annotation)[0])


def _map(annotation: Any) -> Words:
    key, value = get_args(annotation)
    if key is not str:
        raise Unsupported(f"the keys of {annotation!r} are no texts")
    return {"type": "map", "items": spec_of(value)}


_FORMS: Mapping[Any, Callable[[Any], Words]] = {
    Annotated: _annotated,
    Literal: _literal,
    Union: _union,
    types.UnionType: _union,
    Required: _inside,
    NotRequired: _inside,
    ReadOnly: _inside,
}
_CLASSES: Mapping[Any, str] = {
    str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "map", object: "any",
    types.NoneType: "null", Any: "any",
}  # fmt: skip
_MOMENTS = ("date", "time", "datetime")


def _of_class(annotation: Any) -> Words:
    if annotation in _CLASSES:
        return {"type": _CLASSES[annotation]}
    # By name: whoever has no dates need not import their module.
    if annotation.__module__ == "datetime" and annotation.__name__ in _MOMENTS:
        return {"type": annotation.__name__}
    if issubclass(annotation, Enum):
        return {"type": "enum", "values": annotation}
    if is_typeddict(annotation):
        return _typed_dict(annotation)
    if is_dataclass(annotation):
        return _dataclass(annotation)
    raise Unsupported(f"there is no field for {annotation.__qualname__}")


def _typed_dict(annotation: Any) -> Words:
    hints = hints_of(annotation)
    required = annotation.__required_keys__
    members = {name: {**spec_of(hints[name]), "required": name in required} for name in hints}
    return {"type": "object", "fields": members}


def _dataclass(annotation: Any) -> Words:
    hints = hints_of(annotation)
    own = [one for one in fields(annotation) if one.init]
    members = {one.name: member_of(hints[one.name], one.default, one.default_factory) for one in own}
    return {"type": "object", "fields": members, MAKE: annotation}


def member_of(annotation: Any, default: object, factory: object = MISSING) -> Words:
    """One of what is called with names, as functions and classes are."""
    words = spec_of(annotation)
    if default is MISSING:
        return {**words, "required": factory is MISSING}
    # What stands for "not given" is nobody's value.
    is_value = default is not None or "nullable" in words or words["type"] in ("any", "null")
    return {**words, "default": default} if is_value else words


def hints_of(annotated: Any) -> Mapping[str, Any]:
    """Raises Unsupported."""
    try:
        return get_type_hints(annotated, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError) as fault:
        raise Unsupported(f"its annotations cannot be read: {fault}") from fault
