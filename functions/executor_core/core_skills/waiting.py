"""The tool `core::wait`."""

import time
from typing import Annotated

from signpost.toolkit import Context, ToolError, Toolkit

KIT = Toolkit("core", category="Time")


@KIT.tool(
    title="Wait",
    annotations={"read_only_hint": True, "open_world_hint": False},
    idempotent=True,
    strict=True,
    doc="core/wait",
)
def wait(seconds: Annotated[float, {"min": 0, "description": "Seconds to wait."}], ctx: Context) -> dict[str, float]:
    """Waits for the given number of seconds and answers how long it waited."""
    if seconds >= ctx.remaining():
        raise ToolError(f"There are {ctx.remaining():.1f} s left for this call; wait for less than that.")
    time.sleep(seconds)
    return {"waited": seconds}
