"""`core::template_render`."""

from typing import Any

from signpost.model import JsonObject
from signpost.toolkit import Function, ToolError

TIMEOUT_MS = 10_000
LONGEST_TEMPLATE = 50_000
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "template": {
            "type": "string",
            "maxLength": LONGEST_TEMPLATE,
            "description": "Jinja: {{ name }}, {% for item in items %}…{% endfor %}, {% if … %}…{% endif %}, filters.",
        },
        "values": {
            "type": "object",
            "default": {},
            "description": "What the names in the template stand for. One that is missing is an error.",
        },
    },
    "required": ["template"],
    "additionalProperties": False,
}
SAYS = "Fills values into a Jinja template and answers the text. Nothing is escaped unless the filter e says so."


def render(arguments: dict[str, Any]) -> JsonObject:
    # Here and not above: the other functions need not wait for Jinja.
    from core_skills.template_language import LARGEST_TEXT, Refused, TooLong, rendered  # noqa: PLC0415

    try:
        return {"text": rendered(arguments["template"], arguments.get("values", {}))}
    except Refused as refused:
        raise ToolError(f"The template cannot be rendered. {refused}") from None
    except TooLong:
        raise ToolError(f"The text would have more than {LARGEST_TEXT:,} characters; render less of it.") from None


TEMPLATE_RENDER = Function(
    "core::template_render", render, input_schema=SCHEMA, timeout_ms=TIMEOUT_MS, description=SAYS
)
