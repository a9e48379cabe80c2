"""Translation of Python type annotations into field specs."""

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
"""The option of an object field that holds the class to construct, such as a dataclass. The leading space keeps an
author from writing it by accident."""
type FieldSpecDict = dict[str, Any]


class UnsupportedAnnotation(Exception):  # noqa: N818 - it names a property of the annotation
    """Raised for an annotation that no field type expresses; the message names the annotation."""


def spec_of(annotation: Any) -> FieldSpecDict:
    """Translate an annotation into a field spec. Raises UnsupportedAnnotation."""
    annotation = annotation.__value__ if isinstance(annotation, TypeAliasType) else annotation
    origin = get_origin(annotation)
    if origin in _SPEC_BUILDERS:
        return _SPEC_BUILDERS[origin](annotation)
    if origin in (list, Sequence):
        return {"type": "array", "items": spec_of(get_args(annotation)[0])}
    if origin in (dict, Mapping):
        return _spec_of_map(annotation)
    if isinstance(annotation, type) and origin is None:
        return _spec_of_class(annotation)
    raise UnsupportedAnnotation(f"no field type fits {annotation!r}")


def _spec_of_annotated(annotation: Any) -> FieldSpecDict:
    """Add the metadata of `Annotated`: a text is the description, a mapping holds options."""
    spec = spec_of(annotation.__origin__)
    for note in annotation.__metadata__:
        if isinstance(note, str):
            spec["description"] = note
        elif isinstance(note, Mapping):
            spec |= cast("Mapping[str, Any]", note)
    return spec


def _spec_of_literal(annotation: Any) -> FieldSpecDict:
    values = get_args(annotation)
    spec: FieldSpecDict = {"type": "enum", "values": [value for value in values if value is not None]}
    return {**spec, "nullable": True} if None in values else spec


def _spec_of_union(annotation: Any) -> FieldSpecDict:
    branches = get_args(annotation)
    members = [branch for branch in branches if branch is not types.NoneType]
    spec = (
        spec_of(members[0]) if len(members) == 1 else {"type": "any_of", "of": [spec_of(branch) for branch in members]}
    )
    return {**spec, "nullable": True} if len(members) < len(branches) else spec


def _spec_of_inner(annotation: Any) -> FieldSpecDict:
    return spec_of(get_args(annotation)[0])


def _spec_of_map(annotation: Any) -> FieldSpecDict:
    key, value = get_args(annotation)
    if key is not str:
        raise UnsupportedAnnotation(f"the keys of {annotation!r} must be of type str")
    return {"type": "map", "items": spec_of(value)}


_SPEC_BUILDERS: Mapping[Any, Callable[[Any], FieldSpecDict]] = {
    Annotated: _spec_of_annotated,
    Literal: _spec_of_literal,
    Union: _spec_of_union,
    types.UnionType: _spec_of_union,
    Required: _spec_of_inner,
    NotRequired: _spec_of_inner,
    ReadOnly: _spec_of_inner,
}
_TYPE_NAMES: Mapping[Any, str] = {
    str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "map", object: "any",
    types.NoneType: "null", Any: "any",
}  # fmt: skip
_MOMENTS = ("date", "time", "datetime")


def _spec_of_class(annotation: Any) -> FieldSpecDict:
    if annotation in _TYPE_NAMES:
        return {"type": _TYPE_NAMES[annotation]}
    # Compared by name, so that an executor without dates does not import datetime.
    if annotation.__module__ == "datetime" and annotation.__name__ in _MOMENTS:
        return {"type": annotation.__name__}
    if issubclass(annotation, Enum):
        return {"type": "enum", "values": annotation}
    if is_typeddict(annotation):
        return _spec_of_typed_dict(annotation)
    if is_dataclass(annotation):
        return _spec_of_dataclass(annotation)
    raise UnsupportedAnnotation(f"no field type fits {annotation.__qualname__}")


def _spec_of_typed_dict(annotation: Any) -> FieldSpecDict:
    hints = hints_of(annotation)
    required = annotation.__required_keys__
    members = {name: {**spec_of(hints[name]), "required": name in required} for name in hints}
    return {"type": "object", "fields": members}


def _spec_of_dataclass(annotation: Any) -> FieldSpecDict:
    hints = hints_of(annotation)
    init_fields = [member for member in fields(annotation) if member.init]
    members = {
        member.name: spec_of_member(hints[member.name], member.default, member.default_factory)
        for member in init_fields
    }
    return {"type": "object", "fields": members, MAKE: annotation}


def spec_of_member(annotation: Any, default: object, factory: object = MISSING) -> FieldSpecDict:
    """Translate the annotation and default of a parameter or a dataclass field into a field spec."""
    spec = spec_of(annotation)
    if default is MISSING:
        return {**spec, "required": factory is MISSING}
    # A default of None on a field that may not be null means "not given"; it is no value to publish.
    is_value = default is not None or "nullable" in spec or spec["type"] in ("any", "null")
    return {**spec, "default": default} if is_value else spec


def hints_of(annotated: Any) -> Mapping[str, Any]:
    """Read the resolved type hints of a function or a class. Raises UnsupportedAnnotation."""
    try:
        return get_type_hints(annotated, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError) as fault:
        raise UnsupportedAnnotation(f"its annotations cannot be read: {fault}") from fault
