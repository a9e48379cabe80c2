"""Reader of field specs: an author's short notation for fields, in the words of the table below.

A field spec becomes the JSON schema that is published, and the cast that goes with it.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, cast

from signpost.model import Json, JsonObject
from signpost.records import dataclass
from signpost.schema.limits import find_pattern_fault
from signpost.schema.plain import is_surely_valid
from signpost.schema.validation import Validators
from signpost.toolkit import casting
from signpost.toolkit.annotations import MAKE, UnsupportedAnnotation, spec_of
from signpost.toolkit.answers import ArgumentsRefused
from signpost.toolkit.casting import Cast, Field
from signpost.toolkit.deadline import nested_alarm
from signpost.toolkit.json_text import NotJson, json_of

type FieldSpec = Mapping[str, Any]


class SpecRefused(Exception):  # noqa: N818 - it names a refusal
    """Raised for a wrong field spec; the message names the field and the fault."""


@dataclass(frozen=True, slots=True)
class FieldKind:
    """A type that a field may have, with its options."""

    schema: JsonObject
    keywords: Mapping[str, str]
    """Options that JSON Schema has a keyword for."""
    parts: Sequence[str] = ()
    """Options that describe the content of the field."""
    cast: Cast | None = None


_NUMBER_KEYWORDS = {
    "min": "minimum",
    "max": "maximum",
    "exclusive_min": "exclusiveMinimum",
    "exclusive_max": "exclusiveMaximum",
    "multiple_of": "multipleOf",
}
_STRING_KEYWORDS = {
    "min": "minLength",
    "max": "maxLength",
    "min_length": "minLength",
    "max_length": "maxLength",
    "pattern": "pattern",
    "format": "format",
}
_ARRAY_KEYWORDS = {"min": "minItems", "max": "maxItems", "unique": "uniqueItems"}

KINDS: Mapping[str, FieldKind] = {
    "string": FieldKind({"type": "string"}, _STRING_KEYWORDS, ("values",)),
    "integer": FieldKind({"type": "integer"}, _NUMBER_KEYWORDS, ("values",), casting.cast_integer),
    "number": FieldKind({"type": "number"}, _NUMBER_KEYWORDS, ("values",)),
    "boolean": FieldKind({"type": "boolean"}, {}),
    "enum": FieldKind({}, {}, ("values",)),
    "date": FieldKind({"type": "string", "format": "date"}, {}, (), casting.date),
    "time": FieldKind({"type": "string", "format": "time"}, {}, (), casting.time),
    "datetime": FieldKind({"type": "string", "format": "date-time"}, {}, (), casting.moment),
    "local_datetime": FieldKind({"type": "string", "format": "date-time"}, {}, (), casting.local_moment),
    "object": FieldKind({"type": "object"}, {}, ("fields", MAKE)),
    "map": FieldKind({"type": "object"}, {}, ("items",)),
    "array": FieldKind({"type": "array"}, _ARRAY_KEYWORDS, ("items",)),
    "one_of": FieldKind({}, {}, ("of",)),
    "any_of": FieldKind({}, {}, ("of",)),
    "any": FieldKind({}, {}),
    "null": FieldKind({"type": "null"}, {}),
}
ABOUT = ("title", "description", "examples", "deprecated")
COMMON: Mapping[str, str] = {name: name for name in (*ABOUT, "const")}
OPTIONS = ("type", "required", "default", "nullable", "not", *COMMON)
"""Options of every field."""


@dataclass(frozen=True, slots=True)
class FieldSpecReader:
    """Reads the field specs of one tool, all with the same settings."""

    strict: bool = False
    """Whether undeclared members are refused instead of dropped."""
    output: bool = False
    """Whether optional members may also be null, as those of results often are."""

    def read_record(self, fields: object, place: str = "", make: Callable[..., object] | None = None) -> Field:
        """Read the fields of an object. Raises SpecRefused."""
        if not isinstance(fields, Mapping):
            raise SpecRefused(f"{_place_prefix(place)}its fields must be a mapping of names")
        by_name: dict[str, Field] = {}
        for name, notation in cast("Mapping[object, object]", fields).items():
            if not isinstance(name, str) or not name:
                raise SpecRefused(f"{_place_prefix(place)}{name!r} is not the name of a field; use a text")
            by_name[name] = self.read_field(notation, f"{place}.{name}" if place else name)
        required = [name for name, field in by_name.items() if field.required]
        schema: JsonObject = {
            "type": "object",
            "properties": {name: field.schema for name, field in by_name.items()},
            **({"required": required} if required else {}),
            **({"additionalProperties": False} if self.strict else {}),
        }
        return Field(schema, casting.object_cast(by_name, make))

    def read_whole(self, spec: FieldSpec) -> Field:
        """Read a spec that is no part of another one. Raises SpecRefused."""
        return self._read(spec, "")[0]

    def read_field(self, notation: object, place: str) -> Field:
        field, spec = self._read(notation, place)
        may_be_null = self.output and not spec.get("required") and not spec.get("nullable")
        return _make_nullable(field) if may_be_null else field

    def _read(self, notation: object, place: str) -> tuple[Field, FieldSpec]:
        name, spec = _normalize_spec(notation, place)
        kind = KINDS[name]
        _check_options(name, kind, spec, place)
        inner = self._read_inner(name, kind, spec, place)
        field = Field(_add_keywords(inner.schema, kind, spec, place), inner.cast, bool(spec.get("required")))
        nullable_field = _make_nullable(field) if spec.get("nullable") else field
        return (_add_default(nullable_field, spec, place) if "default" in spec else nullable_field), spec

    def _read_inner(self, name: str, kind: FieldKind, spec: FieldSpec, place: str) -> Field:
        if "values" in spec or name == "enum":
            return _build_choice(kind, spec.get("values"), place)
        if name == "object":
            return self._read_object(spec, place)
        if name in ("one_of", "any_of"):
            return self._read_alternatives(name, spec.get("of"), place)
        if "items" in spec:
            return self._read_collection(name, kind, spec, place)
        return Field(kind.schema, kind.cast)

    def _read_object(self, spec: FieldSpec, place: str) -> Field:
        if "fields" not in spec:
            raise SpecRefused(f"{_place_prefix(place)}an object needs `fields`; for any members, use type map")
        return self.read_record(spec["fields"], place, spec.get(MAKE))

    def _read_alternatives(self, name: str, alternatives: object, place: str) -> Field:
        if not isinstance(alternatives, list | tuple) or not alternatives:
            raise SpecRefused(f"{_place_prefix(place)}{name} needs `of`, a list of its alternatives")
        branches = [self._read_part(alternative, place) for alternative in cast("list[object]", alternatives)]
        schema: JsonObject = {"oneOf" if name == "one_of" else "anyOf": [branch.schema for branch in branches]}
        needs_cast = any(branch.cast for branch in branches)
        return Field(schema, casting.union_cast(branches) if needs_cast else None)

    def _read_collection(self, name: str, kind: FieldKind, spec: FieldSpec, place: str) -> Field:
        item = self._read_part(spec["items"], place)
        if name == "map":
            schema = {**kind.schema, "additionalProperties": item.schema}
            return Field(schema, item.cast and casting.map_cast(item.cast))
        return Field({**kind.schema, "items": item.schema}, item.cast and casting.array_cast(item.cast))

    def _read_part(self, notation: object, place: str) -> Field:
        """Read a field without a name, such as the item of an array. It is always present, so it is not made
        nullable."""
        return self._read(notation, place)[0]


def _place_prefix(place: str) -> str:
    return f"field `{place}`: " if place else ""


def _normalize_spec(notation: object, place: str) -> tuple[str, FieldSpec]:
    """Split a notation into the name of its kind and its options. Raises SpecRefused."""
    spec = cast("FieldSpec", notation) if isinstance(notation, Mapping) else {"type": notation}
    if "type" not in spec:
        raise SpecRefused(f"{_place_prefix(place)}its `type` is missing")
    kind = spec["type"]
    if isinstance(kind, str):
        if kind not in KINDS:
            raise SpecRefused(f"{_place_prefix(place)}{kind!r} is not one of the types {', '.join(KINDS)}")
        return kind, spec
    return _normalize_spec(_expand_type(kind, spec, place), place)


def _expand_type(kind: Any, spec: FieldSpec, place: str) -> FieldSpec:
    """Translate a type that is a pair such as ('array', 'string'), or a Python type, into the words of the table."""
    rest = {name: value for name, value in spec.items() if name != "type"}
    if isinstance(kind, list | tuple):
        return _expand_array(cast("list[object]", kind), rest, place)
    try:
        return {**spec_of(kind), **rest}
    except UnsupportedAnnotation as fault:
        raise SpecRefused(f"{_place_prefix(place)}{fault}") from fault


def _expand_array(pair: Sequence[object], rest: FieldSpec, place: str) -> FieldSpec:
    if len(pair) != 2 or pair[0] != "array":
        raise SpecRefused(f"{_place_prefix(place)}{pair!r} is not a type; an array of texts is ('array', 'string')")
    inner = {name: rest[name] for name in ("fields", "values", "items", "of") if name in rest}
    outer = {name: value for name, value in rest.items() if name not in inner}
    return {"type": "array", "items": {"type": pair[1], **inner}, **outer}


def _check_options(name: str, kind: FieldKind, spec: FieldSpec, place: str) -> None:
    known = (*OPTIONS, *kind.keywords, *kind.parts)
    if unknown := [option for option in spec if option not in known]:
        allowed = ", ".join(option for option in known if option != MAKE)
        raise SpecRefused(f"{_place_prefix(place)}type {name} has no option {unknown[0]!r}; it has {allowed}")
    for flag in ("required", "nullable"):
        if not isinstance(spec.get(flag, False), bool):
            raise SpecRefused(f"{_place_prefix(place)}{flag} must be true or false")
    if spec.get("required") and "default" in spec:
        raise SpecRefused(f"{_place_prefix(place)}a required field cannot have a default")


def _add_keywords(schema: JsonObject, kind: FieldKind, spec: FieldSpec, place: str) -> JsonObject:
    keywords = {**kind.keywords, **COMMON}
    values = {keywords[option]: _as_json(spec[option], place, option) for option in spec if option in keywords}
    for option in spec:
        if option in keywords and (fault := _fault_of(keywords[option], values[keywords[option]])):
            raise SpecRefused(f"{_place_prefix(place)}{option} {fault}")
    unequal: JsonObject = {"not": {"const": _as_json(spec["not"], place, "not")}} if "not" in spec else {}
    return {**schema, **values, **unequal}


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_above_zero(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


_KEYWORD_RULES: Sequence[tuple[str, Callable[[Json], bool], Sequence[str]]] = (
    ("must be a whole number of at least 0", _is_count, ("minLength", "maxLength", "minItems", "maxItems")),
    ("must be a number", _is_number, ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")),
    ("must be a number above 0", _is_above_zero, ("multipleOf",)),
    ("must be true or false", lambda value: isinstance(value, bool), ("uniqueItems", "deprecated")),
    ("must be a text", lambda value: isinstance(value, str), ("pattern", "format", "title", "description")),
    ("must be a list", lambda value: isinstance(value, list), ("examples",)),
)
"""The check of each keyword's value, so that no schema is built that would be refused: fault, check, keywords."""


def _fault_of(keyword: str, value: Json) -> str | None:
    for reason, fits, keywords in _KEYWORD_RULES:
        if keyword in keywords and not fits(value):
            return reason
    fault = find_pattern_fault(str(value)) if keyword == "pattern" else None
    return f"is refused, because {fault}" if fault else None


def _as_json(value: object, place: str, option: str) -> Json:
    try:
        return json_of(value)
    except NotJson as fault:
        raise SpecRefused(f"{_place_prefix(place)}{option} has no form in JSON: {fault}") from fault


def _make_nullable(field: Field) -> Field:
    cast_or_null = None if field.cast is None else casting.nullable_cast(field.cast)
    return Field(_make_schema_nullable(field.schema), cast_or_null, field.required)


def _make_schema_nullable(schema: JsonObject) -> JsonObject:
    if schema.get("type") == "null":
        return schema
    annotations = {name: schema[name] for name in (*ABOUT, "default") if name in schema}
    rules = {name: value for name, value in schema.items() if name not in annotations}
    return {"anyOf": [rules, {"type": "null"}], **annotations} if rules else schema


def _add_default(field: Field, spec: FieldSpec, place: str) -> Field:
    default = _as_json(spec["default"], place, "default")
    if violation := Validators(nested_alarm).find_violation(field.schema, default):
        raise SpecRefused(f"{_place_prefix(place)}its default does not satisfy its own schema: {violation.message}")
    try:
        field.deliver(default, "")
    except ArgumentsRefused as refused:
        raise SpecRefused(f"{_place_prefix(place)}its default {refused}") from refused
    return Field({**field.schema, "default": default}, field.cast)


def _build_choice(kind: FieldKind, values: object, place: str) -> Field:
    members = _choice_members(values)
    if not members:
        raise SpecRefused(f"{_place_prefix(place)}it needs `values`, a list of the allowed values or an Enum class")
    members_by_value = {_scalar_of(member, place): member for member in members}
    if len(members_by_value) < len(members):
        raise SpecRefused(f"{_place_prefix(place)}two of its values are the same")
    schema: JsonObject = {**(kind.schema or _type_of(list(members_by_value))), "enum": list(members_by_value)}
    if mistyped := [value for value in members_by_value if not is_surely_valid(kind.schema, value)]:
        raise SpecRefused(f"{_place_prefix(place)}its value {mistyped[0]!r} is not of its type")
    needs_cast = any(isinstance(member, Enum) or not isinstance(member, str) for member in members)
    return Field(schema, casting.choice_cast(members_by_value) if needs_cast else None)


def _choice_members(values: object) -> Sequence[object]:
    if isinstance(values, list | tuple | type) and (not isinstance(values, type) or issubclass(values, Enum)):
        return list(cast("Sequence[object]", values))
    return ()


def _scalar_of(value: object, place: str) -> Json:
    scalar = value.value if isinstance(value, Enum) else value
    if not isinstance(scalar, str | int | float):
        raise SpecRefused(f"{_place_prefix(place)}its value {value!r} must be a text, a number or a boolean")
    return _as_json(scalar, place, "values")


def _type_of(values: Sequence[Json]) -> JsonObject:
    """Build the `type` keyword of values; empty if they have more than one type."""
    names: Mapping[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}
    types = {names[type(value)] for value in values}
    return {"type": types.pop()} if len(types) == 1 else {}
