"""The core functions, which every deployment ships."""

import time
from typing import Any

from signpost.toolkit import Context, Function, ToolError, executor

WAIT = {
    "type": "object",
    "properties": {"seconds": {"type": "number", "minimum": 0, "description": "How long to wait."}},
    "required": ["seconds"],
    "additionalProperties": False,
}


def wait(arguments: dict[str, Any], ctx: Context) -> dict[str, float]:
    seconds = arguments["seconds"]
    if seconds >= ctx.remaining():
        raise ToolError(f"There are {ctx.remaining():.1f} s left for this call; wait for less than that.")
    time.sleep(seconds)
    return {"waited": seconds}


SAYS = "Waits for so many seconds and answers how long it has waited."

handler = executor(Function("core::wait", wait, input_schema=WAIT, description=SAYS))
