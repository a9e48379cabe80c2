"""Functions that take longer than a client waits: one declares so with its timeout, the other requires a task."""

import time

from signpost.model import Json, JsonObject
from signpost.toolkit import Context, Function, executor
from stage import effects

LONGEST_MS = 120_000


def _linger(arguments: JsonObject, ctx: Context) -> Json:
    began = effects.count(str(arguments["effect"]))
    time.sleep(float(str(arguments["seconds"])))
    return {"time": began, "subject": ctx.principal.subject, "tenant": ctx.principal.tenant, "step": ctx.step}


handler = executor(
    Function("patient::linger", _linger, {"type": "object"}, timeout_ms=LONGEST_MS),
    Function("patient::toil", _linger, {"type": "object"}, timeout_ms=LONGEST_MS, task="required"),
)
