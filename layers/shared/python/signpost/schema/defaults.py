"""The defaults of a schema, put in where a value leaves them out."""

from collections.abc import Mapping

from signpost.model import Json, JsonObject, as_object


def with_defaults(schema: JsonObject, value: Json) -> Json:
    """At any depth of what is there; nothing is made up around a default."""
    if isinstance(value, Mapping):
        return _object(as_object(schema.get("properties")), value)
    items = schema.get("items")
    if isinstance(value, list | tuple) and isinstance(items, Mapping):
        return [with_defaults(items, item) for item in value]
    return value


def _object(properties: JsonObject, value: JsonObject) -> JsonObject:
    filled = {name: with_defaults(as_object(properties.get(name)), member) for name, member in value.items()}
    for name, schema in properties.items():
        if name not in filled and isinstance(schema, Mapping) and "default" in schema:
            filled[name] = schema["default"]
    return filled
