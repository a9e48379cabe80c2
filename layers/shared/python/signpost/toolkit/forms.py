"""The forms in which an author says what a tool takes and what it answers, and what becomes of each."""

import json
from collections.abc import Mapping
from typing import Any, NoReturn, cast

from signpost.model import Json, JsonObject
from signpost.records import dataclass
from signpost.schema.validation import SchemaRefused, check
from signpost.toolkit import models
from signpost.toolkit.annotations import Unsupported, spec_of
from signpost.toolkit.casting import Cast
from signpost.toolkit.fields import Reader, SpecRefused
from signpost.toolkit.json_text import NotJson, json_of


@dataclass(frozen=True, slots=True)
class Shape:
    schema: JsonObject
    cast: Cast | None = None
    """None if what satisfies the schema is delivered as it came."""

    def delivered(self, value: Json) -> Any:
        """Raises ArgumentsRefused."""
        return value if self.cast is None else self.cast(value, "")


ANYTHING = Shape({"type": "object"})


class ShapeRefused(Exception):  # noqa: N818 - it names what happened to it
    """The message says why."""


def shape_of(said: object, reader: Reader) -> Shape:
    """Of `input` or `output`. Raises ShapeRefused."""
    if isinstance(said, str) or _is_raw(said):
        return raw_shape_of(said, reader)
    if models.is_model_class(said):
        return _of_model(said, reader)
    try:
        return _of_fields(said, reader)
    except (SpecRefused, Unsupported) as fault:
        raise ShapeRefused(str(fault)) from fault
    except RecursionError as fault:
        raise ShapeRefused("it is defined by itself") from fault


def _is_raw(said: object) -> bool:
    """A field that is called `type` cannot be an object: that would have fields, which one word does not say."""
    return isinstance(said, Mapping) and cast("JsonObject", said).get("type") == "object"


def raw_shape_of(said: object, reader: Reader) -> Shape:
    """Of JSON Schema, as an object or as text. Raises ShapeRefused."""
    if reader.strict:
        raise ShapeRefused("strict is for field specs; a schema says `additionalProperties` itself")
    schema = _decoded(said) if isinstance(said, str) else _copied(said)
    if not isinstance(schema, Mapping):
        raise ShapeRefused("it is no JSON object")
    try:
        check(schema)
    except SchemaRefused as fault:
        raise ShapeRefused(f"it is refused, because {fault}") from fault
    return Shape(schema)


def _of_fields(said: object, reader: Reader) -> Shape:
    if isinstance(said, Mapping):
        read = reader.record(cast("object", said))
    elif isinstance(said, type):
        read = reader.whole(spec_of(said))
    else:
        raise ShapeRefused("it is neither a mapping of fields, nor a JSON Schema, nor its text, nor a class")
    if read.schema.get("type") != "object":
        raise ShapeRefused("it is no object")
    return Shape(read.schema, read.cast)


def _of_model(model: Any, reader: Reader) -> Shape:
    if reader.strict:
        raise ShapeRefused("strict is for field specs; a model says `extra='forbid'` itself")
    schema = models.schema_of(model, output=reader.output)
    if schema.get("type") != "object":
        raise ShapeRefused(f"{model.__name__} is no object")

    return Shape(schema, lambda value, _place: models.instance_of(model, json.dumps(value)))


def _copied(said: object) -> Json:
    try:
        return json_of(said)
    except NotJson as fault:
        raise ShapeRefused(f"it is no JSON: {fault}") from fault


def _decoded(text: str) -> Json:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as fault:
        raise ShapeRefused(f"its text is no JSON: {fault}") from fault


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")
