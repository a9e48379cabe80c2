"""Arguments as a model writes them that its API holds to a schema."""

import json

from signpost.model import Json, JsonObject, as_object
from tests.frameworks.json_lists import as_list


def constrain(value: Json, schema: JsonObject) -> Json:
    """Return the value as the schema lets it be written: an object without the members that a closed schema lacks, or
    its text if the schema takes a text as well."""
    if not isinstance(value, dict):
        return value
    choices = [as_object(choice) for choice in as_list(schema.get("anyOf"))] or [schema]
    written = [_write_object(value, choice) for choice in choices if choice.get("type") == "object"]
    if not written or value in written:
        return value
    takes_text = any(choice.get("type") == "string" for choice in choices)
    return json.dumps(value) if takes_text else written[0]


def _write_object(value: JsonObject, schema: JsonObject) -> JsonObject:
    is_closed, properties = schema.get("additionalProperties") is False, as_object(schema.get("properties"))
    return {
        name: constrain(member, as_object(properties.get(name)))
        for name, member in value.items()
        if name in properties or not is_closed
    }
