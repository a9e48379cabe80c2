"""The schemas of functions as clients see them. Executors check arguments with the declared schema."""

from collections.abc import Mapping

from signpost.model import JsonObject, as_object

GENERIC: JsonObject = {
    "input": {"type": "string", "description": "The text for the skill to work on, if it takes one."},
    "config": {"type": "object", "description": "Further arguments of the skill, by name."},
}
"""The properties that a skill takes if its author declared no schema."""


def client_schema(schema: JsonObject | None) -> JsonObject:
    """Return the schema as clients accept it: some refuse `true` or `false` as a property's schema, and all require an
    object."""
    plain = _without_booleans({"properties": {}} if schema is None else schema)
    return {**plain, "type": "object"}


def skill_arguments(declared: JsonObject | None) -> JsonObject:
    """Return the schema of the arguments of a skill: the declared one, else the generic properties and no others."""
    if declared is None:
        return {"type": "object", "properties": GENERIC, "additionalProperties": False}
    return client_schema(declared)


def _without_booleans(schema: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return schema
    plain: JsonObject = {name: _without_booleans(as_object(declared)) for name, declared in properties.items()}
    return {**schema, "properties": plain}
