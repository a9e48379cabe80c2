"""What a call of a function has to look at, in memory for as long as the catalogue is."""

import re
from dataclasses import dataclass

from signpost.contract import FunctionState
from signpost.ports import Clock, FunctionStates

REVALIDATED_EVERY = 2.0
"""Seconds for which calls may go by what was placed, set, opened or closed before."""
REMEMBERED_FUNCTIONS = 1024

POSSIBLE_ID = re.compile(r"[A-Za-z0-9_.:-]{1,256}")
"""Wider than the ids that our own harness hosts (`function_ids`): an executor is whatever speaks the contract."""

NOTHING_KNOWN = FunctionState(own=None, shipped=None, settings={}, tenant_settings={}, breaker=None)


@dataclass(frozen=True, slots=True)
class _Remembered:
    state: FunctionState
    looked_at: float


def may_exist(function: str) -> bool:
    """Whether it is worth looking for. What a caller made up never becomes part of a key."""
    return POSSIBLE_ID.fullmatch(function) is not None


class FunctionView:
    def __init__(self, *, states: FunctionStates, clock: Clock) -> None:
        self._states = states
        self._clock = clock
        self._by_function: dict[tuple[str, str], _Remembered] = {}

    def state(self, tenant: str, function: str) -> FunctionState:
        """NOTHING_KNOWN where no function can have this name."""
        now = self._clock.now()
        remembered = self._by_function.get((tenant, function))
        if remembered is not None and now - remembered.looked_at < REVALIDATED_EVERY:
            return remembered.state
        if not may_exist(function):
            return NOTHING_KNOWN
        state = self._states.read(tenant, function)
        if len(self._by_function) >= REMEMBERED_FUNCTIONS:
            self._by_function.clear()  # most of it is older than two seconds
        self._by_function[tenant, function] = _Remembered(state, now)
        return state

    def forget(self, tenant: str, function: str) -> None:
        self._by_function.pop((tenant, function), None)
