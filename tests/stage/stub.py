"""An executor that plays scripts: it hosts every function id, and records how it was called.

A script is a list of entries; call n plays entry n, and the last one repeats. An entry may have

    delayMs                 the time that it takes
    error, message          the class of the failure that it reports
    output, evidence        the result
    asks                    requests for input that the client has to answer first, by their keys
    returns, echo, template, raises, timeout      the same in the notation of the registry's cases
"""

import json
import os
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from signpost.model import InputRequired, JsonObject
from signpost.toolkit import Answer, Context, Function
from signpost.toolkit.function import ExecutorFunctions
from signpost.toolkit.production import build_harness
from stage import effects
from stage.scripts import play_entry

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


class ScriptedFunctions(Mapping[str, Function]):
    """Hosts every function id, of any form. An id without a script answers null."""

    def __getitem__(self, function: str) -> Function:
        return SCRIPTED_FUNCTION

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def play_script(arguments: JsonObject, ctx: Context) -> Answer | InputRequired:
    script_key = effects.build_script_key(ctx.principal.tenant, ctx.function)
    number = effects.count(script_key)
    call_record = {
        "arguments": arguments,
        "idempotencyKey": ctx.idempotency_key,
        "step": ctx.step,
        "call": ctx.call_id,
        "answers": dict(ctx.answers),
    }
    effects.write(script_key, f"call#{number:06}", json.dumps({**call_record, "at": time.time()}))
    script: list[dict[str, Any]] = json.loads(effects.read(script_key, "script") or "[{}]")
    entry = script[min(number, len(script)) - 1]
    if "asks" in entry:
        return InputRequired(entry["asks"])
    return Answer(play_entry(entry, arguments), evidence=entry.get("evidence", []))


SCRIPTED_FUNCTION = Function("stub", play_script)
harness = build_harness(ExecutorFunctions(ScriptedFunctions()), os.environ)


def handler(event: dict[str, Any], context: "LambdaContext") -> JsonObject:
    return harness.handle(event, context.get_remaining_time_in_millis())
