"""`core::wait`."""

import time
from typing import Any

from signpost.toolkit import Context, Function, ToolError

SCHEMA = {
    "type": "object",
    "properties": {"seconds": {"type": "number", "minimum": 0, "description": "How long to wait."}},
    "required": ["seconds"],
    "additionalProperties": False,
}
SAYS = "Waits for so many seconds and answers how long it has waited."


def wait(arguments: dict[str, Any], ctx: Context) -> dict[str, float]:
    seconds = arguments["seconds"]
    if seconds >= ctx.remaining():
        raise ToolError(f"There are {ctx.remaining():.1f} s left for this call; wait for less than that.")
    time.sleep(seconds)
    return {"waited": seconds}


WAIT = Function("core::wait", wait, input_schema=SCHEMA, description=SAYS)
