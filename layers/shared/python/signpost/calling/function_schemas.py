"""The schemas of functions as clients see them. Executors check arguments with the declared schema."""

from collections.abc import Mapping

from signpost.calling.runtime_settings import is_declared_long
from signpost.contract import HostedFunction
from signpost.model import JsonObject, as_object

GENERIC: JsonObject = {
    "input": {"type": "string", "description": "The text for the skill to work on, if it takes one."},
    "config": {"type": "object", "description": "Further arguments of the skill, by name."},
}
"""The properties that a skill takes if its author declared no schema."""
CLOSING_KEYWORDS = ("additionalProperties", "unevaluatedProperties")


def client_schema(schema: JsonObject | None) -> JsonObject:
    """Return the schema as clients accept it: some refuse `true` or `false` as a property's schema, and all require an
    object."""
    plain = _without_booleans({"properties": {}} if schema is None else schema)
    return {**plain, "type": "object"}


def listed_output_schema(hosted: HostedFunction) -> JsonObject | None:
    """Return the output schema that lists show of a function; None if it is not that of an object, or if the call is
    long. In both cases no structured content would satisfy it."""
    schema = hosted.output_schema
    if schema is None or schema.get("type") != "object" or is_declared_long(hosted):
        return None
    return client_schema(schema)


def skill_arguments(declared: JsonObject | None) -> JsonObject:
    """Return the schema of the arguments of a skill: the declared one, else the generic properties and no others."""
    if declared is None:
        return {"type": "object", "properties": GENERIC, "additionalProperties": False}
    return client_schema(declared)


def skill_schema(declared: JsonObject | None) -> JsonObject:
    """Return the input schema of the tool of a skill: the generic properties and those that the author declared, which
    take precedence. A closed schema stays as declared. If the author declared nothing, it has the generic properties
    only."""
    if declared is None:
        return skill_arguments(None)
    shown = client_schema(declared)
    if any(declared.get(keyword) is False for keyword in CLOSING_KEYWORDS):
        return shown
    return {**shown, "properties": {**GENERIC, **as_object(shown.get("properties"))}}


def merge_config(declared: JsonObject | None, arguments: JsonObject) -> JsonObject:
    """Return the arguments as the function takes them. If it declares no `config` of its own, the members of `config`
    are arguments, too; arguments beside `config` take precedence."""
    if declared is None or "config" in as_object(declared.get("properties")):
        return arguments
    others = {name: value for name, value in arguments.items() if name != "config"}
    return {**as_object(arguments.get("config")), **others}


def _without_booleans(schema: JsonObject) -> JsonObject:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return schema
    plain: JsonObject = {name: _without_booleans(as_object(declared)) for name, declared in properties.items()}
    return {**schema, "properties": plain}
