"""A function that asks three questions in two rounds and writes once in between. Its process is killed where the caller
says, once, so that a repeated round can be compared with one that was never interrupted."""

import os
import signal

from signpost.toolkit import Context, Elicit, Toolkit, executor
from stage import effects

BEFORE, CLAIMED, WRITTEN, AFTER = "before", "claimed", "written", "after"
"""The places at which the process dies: before the write, in it (once it was claimed, and once it had its effect), and
after it."""
TIMEOUT_MS = 3_000
"""The time after which a write whose outcome is unknown is in doubt. It is short, because tests wait for it."""
FIRST_ROUND = {
    "name": Elicit("For whom?", {"name": {"type": "string", "required": True}}),
    "size": Elicit("How many?", {"size": {"type": "integer", "required": True}}),
}

kit = Toolkit("interview")


@kit.tool(timeout_ms=TIMEOUT_MS)
def order(effect: str, dies: str, ctx: Context) -> object:
    """Asks for whom and how many, notes the order, and asks whether to send it."""
    asked = ctx.ask_all(FIRST_ROUND)
    _die_once(effect, dies, BEFORE)

    def note() -> int:
        _die_once(effect, dies, CLAIMED)
        number = effects.count(effect)
        _die_once(effect, dies, WRITTEN)
        return number

    number = ctx.once("note", note)
    _die_once(effect, dies, AFTER)
    sent = ctx.elicit("confirm", "Shall it be sent?", {"confirm": {"type": "boolean", "required": True}})
    name, size = asked["name"].content["name"], asked["size"].content["size"]
    return f"Order {number}: {size} for {name}, {'sent' if sent.content['confirm'] else 'kept'}."


@kit.tool
def die() -> None:
    """Ends the process of the executor."""
    os.kill(os.getpid(), signal.SIGKILL)


def _die_once(effect: str, dies: str, place: str) -> None:
    if dies == place and effects.count(f"{effect}.{place}") == 1:
        os.kill(os.getpid(), signal.SIGKILL)


handler = executor(kit)
