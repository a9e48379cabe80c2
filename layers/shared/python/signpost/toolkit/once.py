"""Effects that happen at most once in all rounds of a request and all attempts of a workflow step.

An effect is claimed at the gateway before it begins, and its value is recorded there before the function goes on.
"""

import hashlib
import json
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager, suppress
from types import CoroutineType
from typing import Any, cast

from signpost.calling.effects import CLAIM, DOUBT, LONGEST_NAME, LONGEST_OUTCOME, RECORD, RELEASE
from signpost.contract import FunctionCall
from signpost.errors import DeadlinePassed
from signpost.model import Json, JsonObject
from signpost.records import dataclass
from signpost.schema.limits import is_too_deep
from signpost.toolkit.answers import CallEnded, CallFailed, EffectInDoubt, EffectRunning, ToolError
from signpost.toolkit.json_text import NotJson, json_text
from signpost.toolkit.operations import Perform, make_token, perform_repeatedly
from signpost.toolkit.secrets import Secrets


@dataclass(frozen=True, slots=True)
class ClaimedEffect:
    """An effect that this call has claimed."""

    name: str
    fields: JsonObject
    """The fields that name the effect and the claim in each operation."""


@dataclass(frozen=True, slots=True)
class EffectValue:
    """The value of an effect as JSON text, or why it cannot be kept."""

    text: str = ""
    loss: str = ""


class EffectRunner:
    """Runs the effects of one call."""

    def __init__(
        self,
        call: FunctionCall,
        perform: Perform,
        secrets: Secrets,
        remaining: Callable[[], float],
        open_effects: set[str],
    ) -> None:
        """`open_effects` has the names of the effects that this call is carrying out, and is kept by the runners."""
        self._call = call
        self._perform = perform
        self._secrets = secrets
        self._remaining = remaining
        self._open_effects = open_effects

    def run(self, name: str, effect: Callable[[], Any], *, repeat: bool) -> Any:
        """Run an effect, or return its recorded value. Raises EffectRunning, EffectInDoubt, or what the effect
        raises."""
        claimed = self._describe(name)
        found = self._claim(claimed, repeat=repeat)
        if found.get("state") == "done":
            return self._take_recorded(claimed, found)
        with self._open(claimed):
            value = effect()
        if isinstance(value, CoroutineType):
            return _await(self._finish(claimed, cast("Coroutine[Any, Any, object]", value)))
        return self._record(claimed, value, is_awaited=False)

    async def _finish(self, claimed: ClaimedEffect, running: Coroutine[Any, Any, object]) -> Json:
        with self._open(claimed):
            value = await running
        return self._record(claimed, value, is_awaited=True)

    @contextmanager
    def _open(self, claimed: ClaimedEffect) -> Generator[None]:
        """Carry out an effect in the enclosed block, and give up its claim if the block raises."""
        self._open_effects.add(claimed.name)
        try:
            yield
        except BaseException as fault:
            self._give_up(claimed, fault)
            raise
        finally:
            self._open_effects.discard(claimed.name)

    def _describe(self, name: str) -> ClaimedEffect:
        if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:  # pyright: ignore[reportUnnecessaryIsInstance] - authors may write no types
            raise ValueError(f"The name of an effect must be a text of 1 to {LONGEST_NAME} characters, not {name!r}.")
        if name in self._open_effects:
            raise ValueError(f"The effect {name!r} is carried out already: give an effect inside of it another name.")
        arguments = json.dumps(self._call.arguments, sort_keys=True).encode()
        scope = hashlib.sha256(arguments).hexdigest()[:32]
        return ClaimedEffect(name, {"name": name, "scope": scope, "claim": make_token()})

    def _claim(self, claimed: ClaimedEffect, *, repeat: bool) -> JsonObject:
        found = perform_repeatedly(self._perform, CLAIM, {**claimed.fields, "repeat": repeat})
        match found.get("state"):
            case "running":
                raise self._build_running(claimed, int(cast("float", found.get("retryAfterMs", 0))))
            case "in_doubt":
                raise EffectInDoubt(
                    f"It is not known whether {claimed.name!r} of {self._call.function} has happened: a call that "
                    "began it ended without recording an outcome. It is not repeated. Check whether it has happened; "
                    "if it has not, send a new request."
                )
            case "claimed" | "done":
                return found
            case _:
                raise ToolError(
                    "The gateway did not say whether the effect may happen. Its operator updates the stack."
                )

    def _build_running(self, claimed: ClaimedEffect, milliseconds: int) -> EffectRunning:
        message = (
            f"Another call of the same request is carrying out {claimed.name!r} of {self._call.function}. A new "
            "request would carry it out a second time: send this one again, or check whether it has happened."
        )
        return EffectRunning(message, "transient_error", milliseconds, counts=False)

    def _take_recorded(self, claimed: ClaimedEffect, found: JsonObject) -> Any:
        if loss := str(found.get("loss", "")):
            raise self._build_loss(claimed, loss)
        value = json.loads(str(found["text"]))
        return _await(_give(value)) if found.get("awaited") is True else value

    def _record(self, claimed: ClaimedEffect, value: object, *, is_awaited: bool) -> Json:
        """Record the value of an effect that has happened, and return it as later calls get it."""
        encoded = self._encode(value)
        fields = {**claimed.fields, "text": encoded.text, "loss": encoded.loss, "awaited": is_awaited}
        try:
            is_recorded = perform_repeatedly(self._perform, RECORD, fields).get("recorded") is True
        except CallFailed as failed:
            raise EffectInDoubt(f"{self._state_happened(claimed)} {failed.message}") from failed
        if not is_recorded:
            raise EffectInDoubt(f"{self._state_happened(claimed)} Another call has taken it over.")
        if encoded.loss:
            raise self._build_loss(claimed, encoded.loss)
        return json.loads(encoded.text)

    def _encode(self, value: object) -> EffectValue:
        try:
            text = json_text(value)
        except NotJson as fault:
            return EffectValue(loss=f"it is not JSON ({self._secrets.mask(str(fault))[:LONGEST_NAME]})")
        except Exception as fault:  # noqa: BLE001 - a method of the author's value
            return EffectValue(loss=f"its encoding raised {type(fault).__name__}")
        if len(text) > LONGEST_OUTCOME:
            return EffectValue(loss=f"it has more than {LONGEST_OUTCOME} characters of JSON")
        if is_too_deep(json.loads(text)):
            return EffectValue(loss="it is nested too deeply")
        return EffectValue(self._secrets.mask_json(text) if self._secrets.has_read_any else text)

    def _give_up(self, claimed: ClaimedEffect, fault: BaseException) -> None:
        """Release the claim if the effect reports that nothing happened; else leave it in doubt. Without time left, the
        deadline of the call ends the claim."""
        if isinstance(fault, DeadlinePassed) or self._remaining() <= 0:
            return
        did_nothing = isinstance(fault, ToolError) and fault.outcome == "none"
        with suppress(ToolError, CallEnded):
            perform_repeatedly(self._perform, RELEASE if did_nothing else DOUBT, claimed.fields)

    def _state_happened(self, claimed: ClaimedEffect) -> str:
        return f"{claimed.name!r} of {self._call.function} has happened, but its outcome could not be recorded."

    def _build_loss(self, claimed: ClaimedEffect, loss: str) -> EffectInDoubt:
        return EffectInDoubt(
            f"{claimed.name!r} of {self._call.function} has happened and is not repeated, but its value could not be "
            f"kept: {loss}."
        )


async def _give(value: Json) -> Json:
    return value


def _await(answer: Coroutine[Any, Any, Json]) -> Any:
    """Return the answer for the `await` of an async function; in a plain function, run it to its end."""
    from signpost.toolkit.event_loop import is_loop_running, run_to_end  # noqa: PLC0415 - it imports asyncio

    return answer if is_loop_running() else run_to_end(answer)
