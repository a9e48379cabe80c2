"""Functions that take longer than a client waits: one declares so with its timeout, the others require a task."""

import time

from signpost.model import InputRequired, Json, JsonObject, as_object
from signpost.toolkit import Context, Function, executor
from stage import effects

LONGEST_MS = 120_000


def _linger(arguments: JsonObject, ctx: Context) -> Json:
    began = effects.count(str(arguments["effect"]))
    time.sleep(float(str(arguments["seconds"])))
    return {"time": began, "subject": ctx.principal.subject, "tenant": ctx.principal.tenant, "step": ctx.step}


def _interview(arguments: JsonObject, ctx: Context) -> Json | InputRequired:
    """Work for half of the time, ask, and work for the other half."""
    half = float(str(arguments["seconds"])) / 2
    answer = as_object(ctx.answers.get("name"))
    if not answer:
        time.sleep(half)
        schema: JsonObject = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        params: JsonObject = {"message": "What is your name?", "requestedSchema": schema}
        return InputRequired({"name": {"method": "elicitation/create", "params": params}})
    effects.count(str(arguments["effect"]))
    time.sleep(half)
    return {"name": as_object(answer.get("content")).get("name"), "step": ctx.step}


handler = executor(
    Function("patient::linger", _linger, {"type": "object"}, timeout_ms=LONGEST_MS),
    Function("patient::toil", _linger, {"type": "object"}, timeout_ms=LONGEST_MS, task="required"),
    Function("patient::interview", _interview, {"type": "object"}, timeout_ms=LONGEST_MS, task="required"),
)
