"""Fills in the defaults of a schema."""

from collections.abc import Mapping

from signpost.model import Json, JsonObject, as_object


def fill_defaults(schema: JsonObject, value: Json) -> Json:
    """Adds the defaults that the value leaves out, at any depth of existing objects and lists. It creates no parents
    for them."""
    if isinstance(value, Mapping):
        return _fill_object(as_object(schema.get("properties")), value)
    items = schema.get("items")
    if isinstance(value, list | tuple) and isinstance(items, Mapping):
        return [fill_defaults(items, item) for item in value]
    return value


def _fill_object(properties: JsonObject, value: JsonObject) -> JsonObject:
    filled = {name: fill_defaults(as_object(properties.get(name)), member) for name, member in value.items()}
    for name, schema in properties.items():
        if name not in filled and isinstance(schema, Mapping) and "default" in schema:
            filled[name] = schema["default"]
    return filled
