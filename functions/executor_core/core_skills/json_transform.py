"""`core::json_transform`."""

from typing import Any

from core_skills.allowance import Allowance, Exhausted, Unwritable, size_of
from core_skills.jmespath_within import Refused, searched
from signpost.model import JsonObject
from signpost.toolkit import Function, ToolError

TIMEOUT_MS = 10_000
LONGEST_EXPRESSION = 4_000
LARGEST_RESULT = 1_000_000
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "data": {"description": "Any JSON value."},
        "expression": {
            "type": "string",
            "minLength": 1,
            "maxLength": LONGEST_EXPRESSION,
            "description": "JMESPath, for example people[?age > `30`].{name: name, city: address.city}.",
        },
    },
    "required": ["data", "expression"],
    "additionalProperties": False,
}
SAYS = "Applies a JMESPath expression to JSON data and answers what it selects; null if that is nothing."


def transform(arguments: dict[str, Any]) -> JsonObject:
    try:
        result = searched(arguments["expression"], arguments["data"], Allowance())
        size = size_of(result, LARGEST_RESULT)
    except Refused as refused:
        raise ToolError(str(refused)) from None
    except Exhausted:
        raise ToolError("The expression makes too much of this data; select less, or do it in steps.") from None
    except Unwritable:
        raise ToolError("The result is no JSON: it has an expression (&…) or a number that is too large.") from None
    if size > LARGEST_RESULT:
        raise ToolError(f"The result has more than {LARGEST_RESULT:,} characters; select less.")
    return {"result": result}


JSON_TRANSFORM = Function(
    "core::json_transform", transform, input_schema=SCHEMA, timeout_ms=TIMEOUT_MS, description=SAYS
)
