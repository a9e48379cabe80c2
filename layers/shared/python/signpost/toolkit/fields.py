"""A field spec: names, and of each what it holds, in the words of the table below. It becomes a schema that is
published, and the cast that goes with it."""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, cast

from signpost.model import Json, JsonObject
from signpost.records import dataclass
from signpost.schema.limits import fault_of_pattern
from signpost.schema.plain import satisfies
from signpost.schema.validation import Validators
from signpost.toolkit import casting
from signpost.toolkit.annotations import MAKE, Unsupported, spec_of
from signpost.toolkit.answers import ArgumentsRefused
from signpost.toolkit.casting import Cast, Field
from signpost.toolkit.json_text import NotJson, json_of

type Spec = Mapping[str, Any]


class SpecRefused(Exception):  # noqa: N818 - it names what happened to the spec
    """The message says which field is wrong, and how."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A type that a field may have."""

    schema: JsonObject
    keywords: Mapping[str, str]
    """Its options that JSON Schema has a word for."""
    parts: Sequence[str] = ()
    """Its options that say what is in it."""
    cast: Cast | None = None


_NUMERIC = {
    "min": "minimum",
    "max": "maximum",
    "exclusive_min": "exclusiveMinimum",
    "exclusive_max": "exclusiveMaximum",
    "multiple_of": "multipleOf",
}
_TEXTUAL = {
    "min": "minLength",
    "max": "maxLength",
    "min_length": "minLength",
    "max_length": "maxLength",
    "pattern": "pattern",
    "format": "format",
}
_LISTED = {"min": "minItems", "max": "maxItems", "unique": "uniqueItems"}

KINDS: Mapping[str, Kind] = {
    "string": Kind({"type": "string"}, _TEXTUAL, ("values",)),
    "integer": Kind({"type": "integer"}, _NUMERIC, ("values",), casting.whole_number),
    "number": Kind({"type": "number"}, _NUMERIC, ("values",)),
    "boolean": Kind({"type": "boolean"}, {}),
    "enum": Kind({}, {}, ("values",)),
    "date": Kind({"type": "string", "format": "date"}, {}, (), casting.date),
    "time": Kind({"type": "string", "format": "time"}, {}, (), casting.time),
    "datetime": Kind({"type": "string", "format": "date-time"}, {}, (), casting.moment),
    "local_datetime": Kind({"type": "string", "format": "date-time"}, {}, (), casting.local_moment),
    "object": Kind({"type": "object"}, {}, ("fields", MAKE)),
    "map": Kind({"type": "object"}, {}, ("items",)),
    "array": Kind({"type": "array"}, _LISTED, ("items",)),
    "one_of": Kind({}, {}, ("of",)),
    "any_of": Kind({}, {}, ("of",)),
    "any": Kind({}, {}),
    "null": Kind({"type": "null"}, {}),
}
ABOUT = ("title", "description", "examples", "deprecated")
COMMON: Mapping[str, str] = {name: name for name in (*ABOUT, "const")}
OPTIONS = ("type", "required", "default", "nullable", "not", *COMMON)
"""What every field may have."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads field specs, all of one tool alike."""

    strict: bool = False
    """Whether what is not declared is refused instead of dropped."""
    output: bool = False
    """Whether what is not required may also be null, as results often are."""

    def record(self, fields: object, place: str = "", make: Callable[..., object] | None = None) -> Field:
        """Raises SpecRefused."""
        if not isinstance(fields, Mapping):
            raise SpecRefused(f"{_at(place)}its fields are no mapping of names")
        read: dict[str, Field] = {}
        for name, said in cast("Mapping[object, object]", fields).items():
            if not isinstance(name, str) or not name:
                raise SpecRefused(f"{_at(place)}{name!r} is no name of a field")
            read[name] = self.field(said, f"{place}.{name}" if place else name)
        required = [name for name, field in read.items() if field.required]
        schema: JsonObject = {
            "type": "object",
            "properties": {name: field.schema for name, field in read.items()},
            **({"required": required} if required else {}),
            **({"additionalProperties": False} if self.strict else {}),
        }
        return Field(schema, casting.members(read, make))

    def whole(self, said: Spec) -> Field:
        """What is no part of anything, and hence there."""
        return self._read(said, "")[0]

    def field(self, said: object, place: str) -> Field:
        read, spec = self._read(said, place)
        may_be_null = self.output and not spec.get("required") and not spec.get("nullable")
        return _or_null(read) if may_be_null else read

    def _read(self, said: object, place: str) -> tuple[Field, Spec]:
        name, spec = _spec(said, place)
        kind = KINDS[name]
        _check_options(name, kind, spec, place)
        inner = self._inner(name, kind, spec, place)
        stated = Field(_stated(inner.schema, kind, spec, place), inner.cast, bool(spec.get("required")))
        read = _or_null(stated) if spec.get("nullable") else stated
        return (_with_default(read, spec, place) if "default" in spec else read), spec

    def _inner(self, name: str, kind: Kind, spec: Spec, place: str) -> Field:
        if "values" in spec or name == "enum":
            return _choice(kind, spec.get("values"), place)
        if name == "object":
            return self._of_object(spec, place)
        if name in ("one_of", "any_of"):
            return self._alternatives(name, spec.get("of"), place)
        if "items" in spec:
            return self._collection(name, kind, spec, place)
        return Field(kind.schema, kind.cast)

    def _of_object(self, spec: Spec, place: str) -> Field:
        if "fields" not in spec:
            raise SpecRefused(f"{_at(place)}an object needs fields; one with any members is a map")
        return self.record(spec["fields"], place, spec.get(MAKE))

    def _alternatives(self, name: str, of: object, place: str) -> Field:
        if not isinstance(of, list | tuple) or not of:
            raise SpecRefused(f"{_at(place)}{name} needs `of`, a list of what it may be")
        branches = [self._part(one, place) for one in cast("list[object]", of)]
        schema: JsonObject = {"oneOf" if name == "one_of" else "anyOf": [branch.schema for branch in branches]}
        is_cast = any(branch.cast for branch in branches)
        return Field(schema, casting.first_that_fits(branches) if is_cast else None)

    def _collection(self, name: str, kind: Kind, spec: Spec, place: str) -> Field:
        item = self._part(spec["items"], place)
        if name == "map":
            schema = {**kind.schema, "additionalProperties": item.schema}
            return Field(schema, item.cast and casting.each_member(item.cast))
        return Field({**kind.schema, "items": item.schema}, item.cast and casting.each(item.cast))

    def _part(self, said: object, place: str) -> Field:
        """A field without a name, which is there whenever what it is part of is."""
        return self._read(said, place)[0]


def _at(place: str) -> str:
    return f"field `{place}`: " if place else ""


def _spec(said: object, place: str) -> tuple[str, Spec]:
    """The name of its kind, and its options."""
    spec = cast("Spec", said) if isinstance(said, Mapping) else {"type": said}
    if "type" not in spec:
        raise SpecRefused(f"{_at(place)}it has no type")
    kind = spec["type"]
    if isinstance(kind, str):
        if kind not in KINDS:
            raise SpecRefused(f"{_at(place)}{kind!r} is none of the types {', '.join(KINDS)}")
        return kind, spec
    return _spec(_written_out(kind, spec, place), place)


def _written_out(kind: Any, spec: Spec, place: str) -> Spec:
    """A pair that says what an array holds, or a type of Python's, in the words of the table."""
    rest = {name: value for name, value in spec.items() if name != "type"}
    if isinstance(kind, list | tuple):
        return _array(cast("list[object]", kind), rest, place)
    try:
        return {**spec_of(kind), **rest}
    except Unsupported as fault:
        raise SpecRefused(f"{_at(place)}{fault}") from fault


def _array(pair: Sequence[object], rest: Spec, place: str) -> Spec:
    if len(pair) != 2 or pair[0] != "array":
        raise SpecRefused(f"{_at(place)}{pair!r} is no type; an array of texts is ('array', 'string')")
    inner = {name: rest[name] for name in ("fields", "values", "items", "of") if name in rest}
    outer = {name: value for name, value in rest.items() if name not in inner}
    return {"type": "array", "items": {"type": pair[1], **inner}, **outer}


def _check_options(name: str, kind: Kind, spec: Spec, place: str) -> None:
    known = (*OPTIONS, *kind.keywords, *kind.parts)
    if unknown := [option for option in spec if option not in known]:
        there = ", ".join(option for option in known if option != MAKE)
        raise SpecRefused(f"{_at(place)}{unknown[0]!r} is no option of type {name}, which has {there}")
    for flag in ("required", "nullable"):
        if not isinstance(spec.get(flag, False), bool):
            raise SpecRefused(f"{_at(place)}{flag} is neither true nor false")
    if spec.get("required") and "default" in spec:
        raise SpecRefused(f"{_at(place)}what is required has no use for a default")


def _stated(schema: JsonObject, kind: Kind, spec: Spec, place: str) -> JsonObject:
    keywords = {**kind.keywords, **COMMON}
    words = {keywords[option]: _json(spec[option], place, option) for option in spec if option in keywords}
    for option in spec:
        if option in keywords and (fault := _fault_of(keywords[option], words[keywords[option]])):
            raise SpecRefused(f"{_at(place)}{option} {fault}")
    unequal: JsonObject = {"not": {"const": _json(spec["not"], place, "not")}} if "not" in spec else {}
    return {**schema, **words, **unequal}


def _is_number(said: Json) -> bool:
    return isinstance(said, int | float) and not isinstance(said, bool)


def _is_count(said: Json) -> bool:
    return isinstance(said, int) and not isinstance(said, bool) and said >= 0


def _is_above_zero(said: Json) -> bool:
    return isinstance(said, int | float) and not isinstance(said, bool) and said > 0


_WANTS: Sequence[tuple[str, Callable[[Json], bool], Sequence[str]]] = (
    ("is no whole number from 0", _is_count, ("minLength", "maxLength", "minItems", "maxItems")),
    ("is no number", _is_number, ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")),
    ("is no number above 0", _is_above_zero, ("multipleOf",)),
    ("is neither true nor false", lambda said: isinstance(said, bool), ("uniqueItems", "deprecated")),
    ("is no text", lambda said: isinstance(said, str), ("pattern", "format", "title", "description")),
    ("is no list", lambda said: isinstance(said, list), ("examples",)),
)
"""What each keyword wants, so that no schema is made that would be refused."""


def _fault_of(keyword: str, said: Json) -> str | None:
    for words, fits, keywords in _WANTS:
        if keyword in keywords and not fits(said):
            return words
    fault = fault_of_pattern(str(said)) if keyword == "pattern" else None
    return f"is refused, because {fault}" if fault else None


def _json(value: object, place: str, option: str) -> Json:
    try:
        return json_of(value)
    except NotJson as fault:
        raise SpecRefused(f"{_at(place)}{option} is no JSON: {fault}") from fault


def _or_null(field: Field) -> Field:
    cast_or_null = None if field.cast is None else casting.nullable(field.cast)
    return Field(_schema_or_null(field.schema), cast_or_null, field.required)


def _schema_or_null(schema: JsonObject) -> JsonObject:
    if schema.get("type") == "null":
        return schema
    if isinstance(schema.get("type"), str) and not {"enum", "const", "not"} & schema.keys():
        return {**schema, "type": [schema["type"], "null"]}
    about = {name: schema[name] for name in (*ABOUT, "default") if name in schema}
    rules = {name: value for name, value in schema.items() if name not in about}
    return {"anyOf": [rules, {"type": "null"}], **about} if rules else schema


def _with_default(field: Field, spec: Spec, place: str) -> Field:
    default = _json(spec["default"], place, "default")
    if violation := Validators().violation(field.schema, default):
        raise SpecRefused(f"{_at(place)}its default does not satisfy its own schema: {violation.message}")
    try:
        field.delivered(default, "")
    except ArgumentsRefused as refused:
        raise SpecRefused(f"{_at(place)}its default {refused}") from refused
    return Field({**field.schema, "default": default}, field.cast)


def _choice(kind: Kind, values: object, place: str) -> Field:
    listed = _members(values)
    if not listed:
        raise SpecRefused(f"{_at(place)}it needs values, a list of what it may be, or a class of Enum")
    written = {_scalar(one, place): one for one in listed}
    if len(written) < len(listed):
        raise SpecRefused(f"{_at(place)}two of its values are the same")
    schema: JsonObject = {**(kind.schema or _type_of(list(written))), "enum": list(written)}
    if odd := [value for value in written if not satisfies(kind.schema, value)]:
        raise SpecRefused(f"{_at(place)}{odd[0]!r} is not of its type")
    is_cast = any(isinstance(one, Enum) or not isinstance(one, str) for one in listed)
    return Field(schema, casting.choice(written) if is_cast else None)


def _members(values: object) -> Sequence[object]:
    if isinstance(values, list | tuple | type) and (not isinstance(values, type) or issubclass(values, Enum)):
        return list(cast("Sequence[object]", values))
    return ()


def _scalar(value: object, place: str) -> Json:
    written = value.value if isinstance(value, Enum) else value
    if not isinstance(written, str | int | float):
        raise SpecRefused(f"{_at(place)}{value!r} is neither text, number nor truth value")
    return _json(written, place, "values")


def _type_of(values: Sequence[Json]) -> JsonObject:
    """Nothing if they are of more than one."""
    names: Mapping[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}
    types = {names[type(value)] for value in values}
    return {"type": types.pop()} if len(types) == 1 else {}
