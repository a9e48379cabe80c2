"""A function that takes longer than a client waits, and declares so with its timeout."""

import time

from signpost.model import Json, JsonObject
from signpost.toolkit import Context, Function, executor
from stage import effects

LONGEST_MS = 45_000


def _linger(arguments: JsonObject, ctx: Context) -> Json:
    began = effects.count(str(arguments["effect"]))
    time.sleep(float(str(arguments["seconds"])))
    return {"time": began, "subject": ctx.principal.subject, "tenant": ctx.principal.tenant, "step": ctx.step}


handler = executor(Function("patient::linger", _linger, {"type": "object"}, timeout_ms=LONGEST_MS))
