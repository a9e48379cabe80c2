"""Acts once, by a row that is claimed before the act and has its outcome afterwards."""

import json
import time
from collections.abc import Callable
from math import ceil

from signpost.model import Json
from signpost.toolkit import Context, ToolError
from stage import effects


def once[Outcome: Json](ctx: Context, key: str, act: Callable[[], Outcome]) -> Outcome:
    """Return the outcome of the act, which is done by the first call that claims it. Raises ToolError while that call
    may still be at it, and if it has ended without an outcome: then the act is in doubt, and is not repeated."""
    if effects.claim(key, ctx.deadline):
        outcome = act()
        effects.write(key, "outcome", json.dumps(outcome))
        return outcome
    written = effects.read(key, "outcome")
    if written is not None:
        return json.loads(written)
    left = effects.read_claim(key) - time.time()
    if left > 0:
        raise ToolError(f"It is in progress. Try again in {ceil(left)} s.", kind="transient_error")
    raise ToolError("Whether it was done is in doubt: it is not repeated.")
