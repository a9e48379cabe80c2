"""The tool `core::wait`."""

import time
from typing import Annotated

from core_skills.caller_input import RESERVE, CoreToolkit
from signpost.toolkit import Context, ToolError

KIT = CoreToolkit("Time")


@KIT.tool(
    title="Wait",
    annotations={"read_only_hint": True, "open_world_hint": False},
    idempotent=True,
    strict=True,
    doc="core/wait",
)
def wait(seconds: Annotated[float, {"min": 0, "description": "Seconds to wait."}], ctx: Context) -> dict[str, float]:
    """Waits for the given number of seconds and answers how long it waited."""
    left = max(ctx.remaining() - RESERVE, 0.0)
    if seconds >= left:
        raise ToolError(f"There are {left:.1f} s left for this call; wait for less than that.")
    time.sleep(seconds)
    return {"waited": seconds}
