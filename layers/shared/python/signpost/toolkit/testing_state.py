"""Effects and handles of trials, kept in memory in place of the gateway."""

from signpost.adapters.clock import SystemClock
from signpost.adapters.memory.function_state import MemoryEffectRecords, MemoryHandles
from signpost.calling.effect_actions import EffectActions
from signpost.calling.failures import failure
from signpost.calling.handle_actions import HandleActions
from signpost.contract import CallReply, FunctionCall
from signpost.model import JsonObject
from signpost.signing.capability_tokens import grant_of

EXECUTOR = "test"


class TrialState:
    """Effects and handles that trials share, as rounds of one request do."""

    def __init__(self) -> None:
        clock = SystemClock()
        effects, handles = EffectActions(MemoryEffectRecords(), clock), HandleActions(MemoryHandles(), clock)
        self._actions = {**effects.actions, **handles.actions}

    def perform(self, token: str, call: FunctionCall, action: str, fields: JsonObject) -> CallReply:
        """Perform a context operation of a trial. All trials with one id of a call are one request."""
        del token
        perform = self._actions.get(action)
        return (
            failure("unknown_function", action)
            if perform is None
            else perform(grant_of(call, EXECUTOR, call.deadline), fields)
        )
