"""A function that asks three questions in two rounds and writes once in between. Its process is killed where the caller
says, once, so that a repeated round can be compared with one that was never interrupted."""

import os
import signal

from signpost.model import InputRequired, JsonObject, as_object
from signpost.toolkit import Context, Toolkit, executor
from stage import effects
from stage.once import once
from stage.samples import build_question

BEFORE, CLAIMED, WRITTEN, AFTER = "before", "claimed", "written", "after"
"""The places at which the process dies: before the write, in it (once it was claimed, and once it had its effect), and
after it."""
TIMEOUT_MS = 3_000
"""The time after which a write whose outcome is unknown is in doubt. It is short, because tests wait for it."""
FIRST_ROUND = {"name": build_question("For whom?", "name"), "size": build_question("How many?", "size", "integer")}
SECOND_ROUND = {"confirm": build_question("Shall it be sent?", "confirm", "boolean")}

kit = Toolkit("interview")


@kit.tool(timeout_ms=TIMEOUT_MS)
def order(effect: str, dies: str, ctx: Context) -> object:
    """Asks for whom and how many, notes the order, and asks whether to send it."""
    answers = {**as_object(ctx.state), **ctx.answers}
    if not FIRST_ROUND.keys() <= answers.keys():
        return InputRequired(FIRST_ROUND, state=answers)
    _die_once(effect, dies, BEFORE)

    def note() -> int:
        _die_once(effect, dies, CLAIMED)
        number = effects.count(effect)
        _die_once(effect, dies, WRITTEN)
        return number

    number = once(ctx, f"{effect}.note", note)
    _die_once(effect, dies, AFTER)
    if not SECOND_ROUND.keys() <= answers.keys():
        return InputRequired(SECOND_ROUND, state=answers)
    name, size, confirm = (_content(answers, key).get(key) for key in ("name", "size", "confirm"))
    return f"Order {number}: {size} for {name}, {'sent' if confirm else 'kept'}."


@kit.tool
def die() -> None:
    """Ends the process of the executor."""
    os.kill(os.getpid(), signal.SIGKILL)


def _content(answers: JsonObject, key: str) -> JsonObject:
    return as_object(as_object(answers[key]).get("content"))


def _die_once(effect: str, dies: str, place: str) -> None:
    if dies == place and effects.count(f"{effect}.{place}") == 1:
        os.kill(os.getpid(), signal.SIGKILL)


handler = executor(kit)
