"""Reader of the forms in which an author declares input and output: field specs, JSON Schema, classes and models."""

import json
from collections.abc import Mapping
from typing import Any, cast

from signpost import strict_json
from signpost.model import Json, JsonObject
from signpost.records import dataclass
from signpost.schema.validation import SchemaRefusal, check_schema
from signpost.toolkit import models
from signpost.toolkit.annotations import UnsupportedAnnotation, spec_of
from signpost.toolkit.casting import Cast
from signpost.toolkit.fields import FieldSpecReader, SpecRefused
from signpost.toolkit.json_text import NotJson, json_of


@dataclass(frozen=True, slots=True)
class CastSchema:
    """A JSON schema with the cast of the values that satisfy it."""

    schema: JsonObject
    cast: Cast | None = None
    """None if values are delivered without a cast."""

    def deliver(self, value: Json) -> Any:
        """Cast a value that satisfies the schema. Raises ArgumentsRefused."""
        return value if self.cast is None else self.cast(value, "")


ANY_OBJECT = CastSchema({"type": "object"})


class CastSchemaRefused(Exception):  # noqa: N818 - it names a refusal
    """Raised for a declared schema that cannot be used; the message names the reason."""


def read_schema(notation: object, reader: FieldSpecReader) -> CastSchema:
    """Read the value of `input` or `output`, in any form. Raises CastSchemaRefused."""
    if isinstance(notation, str) or _is_json_schema(notation):
        return read_json_schema(notation, reader)
    if models.is_model_class(notation):
        return _read_model(notation, reader)
    try:
        return _read_fields(notation, reader)
    except (SpecRefused, UnsupportedAnnotation) as fault:
        raise CastSchemaRefused(str(fault)) from fault
    except RecursionError as fault:
        raise CastSchemaRefused("the type refers to itself") from fault


def _is_json_schema(notation: object) -> bool:
    """Whether a mapping is a JSON Schema: its `type` is "object". It cannot be a field spec with a field named `type`,
    because a field of type "object" needs `fields`, which a single word does not give."""
    return isinstance(notation, Mapping) and cast("JsonObject", notation).get("type") == "object"


def read_json_schema(notation: object, reader: FieldSpecReader) -> CastSchema:
    """Read a JSON Schema, as an object or as text. Raises CastSchemaRefused."""
    if reader.strict:
        raise CastSchemaRefused("strict works with field specs only; set `additionalProperties` in the schema")
    schema = _decode_json(notation) if isinstance(notation, str) else _copy_json(notation)
    if not isinstance(schema, Mapping):
        raise CastSchemaRefused("it must be a JSON object")
    try:
        check_schema(schema)
    except SchemaRefusal as fault:
        raise CastSchemaRefused(f"it is refused, because {fault}") from fault
    return CastSchema(schema)


def _read_fields(notation: object, reader: FieldSpecReader) -> CastSchema:
    if isinstance(notation, Mapping):
        field = reader.read_record(cast("object", notation))
    elif isinstance(notation, type):
        field = reader.read_whole(spec_of(notation))
    else:
        raise CastSchemaRefused("it must be a mapping of fields, a JSON Schema as object or text, or a class")
    if field.schema.get("type") != "object":
        raise CastSchemaRefused("it must describe an object")
    return CastSchema(field.schema, field.cast)


def _read_model(model: Any, reader: FieldSpecReader) -> CastSchema:
    if reader.strict:
        raise CastSchemaRefused("strict works with field specs only; set `extra='forbid'` in the model")
    schema = models.schema_of(model, output=reader.output)
    if schema.get("type") != "object":
        raise CastSchemaRefused(f"{model.__name__} must describe an object")

    return CastSchema(schema, lambda value, _place: models.instance_of(model, json.dumps(value)))


def _copy_json(value: object) -> Json:
    try:
        return json_of(value)
    except NotJson as fault:
        raise CastSchemaRefused(f"it has no form in JSON: {fault}") from fault


def _decode_json(text: str) -> Json:
    try:
        return strict_json.parse(text)
    except (ValueError, RecursionError) as fault:
        raise CastSchemaRefused(f"its text is not JSON: {fault}") from fault
