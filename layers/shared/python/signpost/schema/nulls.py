"""Leaves out null where a schema does not take it: many hosts send null for each argument that a model leaves out."""

from signpost.model import Json, JsonObject, as_object
from signpost.schema.validation import SchemaRefusal, Validators

_KEPT_KEYWORDS = (
    "$schema", "$anchor", "$dynamicAnchor", "$defs", "definitions", "type", "properties", "patternProperties",
    "additionalProperties",
)  # fmt: skip
"""The keywords of an object's schema that say which values a member takes, and to which references lead. No other
member of the object counts, so those that combine members are not among them."""


def leave_out_nulls(validators: Validators, schema: JsonObject, fields: JsonObject) -> JsonObject:
    """Returns the fields without those that are null and optional, and whose schema does not take null.

    Only the fields themselves count, and none of their members. A required field stays, so that it is refused by name;
    so does a field that the schema does not declare.
    """
    required = schema.get("required")
    needed = set(required) if isinstance(required, list | tuple) else set[Json]()
    properties = as_object(schema.get("properties"))
    left_out = {
        name
        for name, value in fields.items()
        if value is None and name in properties and name not in needed and not _takes_null(validators, schema, name)
    }
    return {name: value for name, value in fields.items() if name not in left_out} if left_out else fields


def _takes_null(validators: Validators, schema: JsonObject, name: str) -> bool:
    member = as_object(schema["properties"])[name]
    if _surely_refuses_null(as_object(member)):
        return False
    of_members = {keyword: schema[keyword] for keyword in _KEPT_KEYWORDS if keyword in schema}
    try:
        return validators.find_violation(of_members, {name: None}) is None
    except SchemaRefusal:
        return True  # the validation of the whole refuses the schema


def _surely_refuses_null(schema: JsonObject) -> bool:
    """Whether the schema or all its choices have other types or values, which needs no validation."""
    kind, values, choices = schema.get("type"), schema.get("enum"), schema.get("anyOf")
    if isinstance(kind, str) and kind != "null":
        return True
    if isinstance(values, list | tuple) and None not in values:
        return True
    return isinstance(choices, list | tuple) and all(_surely_refuses_null(as_object(choice)) for choice in choices)
