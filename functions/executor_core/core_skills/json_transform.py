"""The tool `core::json_transform`."""

from typing import Annotated, Any

from core_skills.allowance import Allowance, Exhausted, Unwritable, size_of
from core_skills.caller_input import CoreToolkit
from core_skills.jmespath_within import Refused, search
from signpost.model import JsonObject
from signpost.toolkit import ToolError

TIMEOUT_MS = 10_000
LONGEST_EXPRESSION = 4_000
LARGEST_RESULT = 1_000_000
KIT = CoreToolkit("Data")
EXPRESSION = {
    "min_length": 1,
    "max_length": LONGEST_EXPRESSION,
    "description": "JMESPath, for example people[?age > `30`].{name: name, city: address.city}.",
}


@KIT.tool(
    title="Transform JSON",
    annotations={"read_only_hint": True, "open_world_hint": False},
    idempotent=True,
    strict=True,
    timeout_ms=TIMEOUT_MS,
    doc="core/json_transform",
)
def json_transform(data: Annotated[Any, "Any JSON value."], expression: Annotated[str, EXPRESSION]) -> JsonObject:
    """Applies a JMESPath expression to JSON data and answers the result; null if the expression selects nothing."""
    try:
        result = search(expression, data, Allowance())
        size = size_of(result, LARGEST_RESULT)
    except Refused as refused:
        raise ToolError(str(refused)) from None
    except Exhausted:
        raise ToolError("The expression builds too much data; select less, or do it in steps.") from None
    except Unwritable:
        raise ToolError(
            "The result is not JSON: it has an expression reference (&…) or a number that is too large."
        ) from None
    if size > LARGEST_RESULT:
        raise ToolError(f"The result has more than {LARGEST_RESULT:,} characters; select less.")
    return {"result": result}
