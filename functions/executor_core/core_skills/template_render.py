"""The tool `core::template_render`."""

from typing import Any

from core_skills.allowance import Allowance, Exhausted
from core_skills.caller_input import CoreToolkit
from signpost.model import JsonObject
from signpost.toolkit import ToolError

TIMEOUT_MS = 10_000
LONGEST_TEMPLATE = 50_000
TEMPLATE = "Jinja: {{ name }}, {% for item in items %}…{% endfor %}, {% if … %}…{% endif %}, filters."
VALUES = "The values of the names in the template. A missing name is an error."
KIT = CoreToolkit("Data")


@KIT.tool(
    title="Render a template",
    input={
        "template": {"type": "string", "required": True, "max_length": LONGEST_TEMPLATE, "description": TEMPLATE},
        "values": {"type": "map", "items": "any", "default": {}, "description": VALUES},
    },
    annotations={"read_only_hint": True, "open_world_hint": False},
    idempotent=True,
    strict=True,
    timeout_ms=TIMEOUT_MS,
    doc="core/template_render",
)
def template_render(args: dict[str, Any]) -> JsonObject:
    """Fills values into a Jinja template and answers the text. Values are escaped only by the filter e."""
    # Imported on first use: the other functions need no Jinja.
    from core_skills.template_language import LARGEST_TEXT, Refused, TooLong, render  # noqa: PLC0415

    try:
        return {"text": render(args["template"], args["values"], Allowance())}
    except Refused as refused:
        raise ToolError(f"The template cannot be rendered. {refused}") from None
    except TooLong:
        raise ToolError(f"The text would have more than {LARGEST_TEXT:,} characters; render less of it.") from None
    except Exhausted:
        raise ToolError("The template does too much work; loop over less, or render it in parts.") from None
