"""The check of tool schemas that OpenAI's API makes."""

from collections.abc import Iterator, Sequence

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from signpost.model import JsonObject, as_object
from tests.frameworks.following_model import OfferedTool
from tests.frameworks.json_lists import as_list

_KINDS = ("type", "anyOf", "enum", "const", "$ref")
"""The keywords of which the schema of a value has one."""


def find_schema_refusal(tools: Sequence[OfferedTool]) -> str | None:
    """Return the API's refusal of the first schema that it does not allow, or None if it allows all."""
    for tool in tools:
        if fault := _find_fault(tool):
            return f"Invalid schema for function '{tool.name}': {fault}"
    return None


def _find_fault(tool: OfferedTool) -> str | None:
    try:
        Draft202012Validator.check_schema(tool.input_schema)
    except SchemaError as error:
        return error.message
    if tool.input_schema.get("type") == "object" and "properties" not in tool.input_schema:
        return "In context=(), object schema missing properties."
    faults = (_find_fault_within(schema, is_strict=tool.is_strict) for schema in _schemas_in(tool.input_schema))
    return next((fault for fault in faults if fault), None)


def _find_fault_within(schema: JsonObject, *, is_strict: bool) -> str | None:
    if schema.get("type") == "array" and "items" not in schema:
        return "array schema missing items."
    return _find_strict_fault(schema) if is_strict else None


def _find_strict_fault(schema: JsonObject) -> str | None:
    """Return the fault of a schema that the API holds the model to."""
    if not any(keyword in schema for keyword in _KINDS):
        return "schema must have a 'type' key."
    if schema.get("type") != "object":
        return None
    if schema.get("additionalProperties") is not False:
        return "'additionalProperties' is required to be supplied and to be false."
    if set(as_list(schema.get("required"))) != set(as_object(schema.get("properties"))):
        return "'required' is required to be supplied and to be an array including every key in properties."
    return None


def _schemas_in(schema: JsonObject) -> Iterator[JsonObject]:
    """Yield the schema and those of its members, items and choices."""
    yield schema
    members = [*as_object(schema.get("properties")).values(), schema.get("items"), *as_list(schema.get("anyOf"))]
    for member in members:
        if isinstance(member, dict):
            yield from _schemas_in(member)
