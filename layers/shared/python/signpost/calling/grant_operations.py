"""The context operations on grants: a running function gives grants to the caller of its call, and takes them."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING

from signpost.calling.context_operations import ContextAction
from signpost.calling.failures import reported_failure
from signpost.contract import CallReply, Failure, Result
from signpost.model import Json, JsonObject
from signpost.signing.capability_tokens import CapabilityGrant

if TYPE_CHECKING:
    from signpost.calling.ports import GrantStore
    from signpost.ports import Clock

GRANT, REVOKE, HAS = "grant", "revoke", "has_grant"
"""The names of the operations."""
GRANT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}")
LONGEST_GRANT = 366 * 86_400
"""The greatest number of seconds for which a grant with an expiry can last."""


def fault_of_grant(name: object, seconds: object = None) -> str | None:
    """Return the fault of a grant's name or lifetime as a sentence; None if there is none."""
    if not isinstance(name, str) or not GRANT_NAME.fullmatch(name):
        return (
            "The name of a grant has 1 to 128 letters, digits, `_`, `.`, `:` and `-`, and begins with a letter or a "
            "digit."
        )
    if seconds is None or (
        isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 < seconds <= LONGEST_GRANT
    ):
        return None
    return f"A grant lasts more than 0 and at most {LONGEST_GRANT} seconds, or for ever."


class GrantOperations:
    """Performs operations on the grants of the principal of the call. No field names another principal."""

    def __init__(self, *, store: "Callable[[], GrantStore]", clock: "Clock") -> None:
        self._store = cache(store)
        self._clock = clock

    @property
    def actions(self) -> Mapping[str, ContextAction]:
        return {
            GRANT: _check(self._grant),
            REVOKE: _check(self._revoke),
            HAS: _check(self._has),
        }

    def _grant(self, call: CapabilityGrant, name: str, seconds: float | None) -> CallReply:
        # Imported on first use: nested calls need no grants.
        from signpost.calling.grants import MOST_GRANTS, HeldGrant  # noqa: PLC0415

        now = self._clock.now()
        end = None if seconds is None else now + seconds
        if self._store().give(call.principal, HeldGrant(name, now, call.function, end)):
            return Result(None)
        return reported_failure(
            "permanent_error",
            f"The grant {name} was not given: {call.subject} holds {MOST_GRANTS} grants, and no more are kept. "
            "Revoke one first, or give grants that expire.",
        )

    def _revoke(self, call: CapabilityGrant, name: str, _: float | None) -> CallReply:
        return Result(self._store().take(call.principal, name, self._clock.now()))

    def _has(self, call: CapabilityGrant, name: str, _: float | None) -> CallReply:
        held = self._store().of(call.principal).get(name)
        return Result(held is not None and not held.is_over(self._clock.now()))


def _check(perform: Callable[[CapabilityGrant, str, float | None], CallReply]) -> ContextAction:
    """Build the action that checks its fields before it is performed."""

    def act(call: CapabilityGrant, fields: JsonObject) -> CallReply:
        name, seconds = fields.get("name"), fields.get("seconds")
        fault = fault_of_grant(name, seconds)
        return _refuse(fault) if fault else perform(call, str(name), _number_of(seconds))

    return act


def _number_of(value: Json) -> float | None:
    return value if isinstance(value, int | float) else None


def _refuse(sentence: str) -> Failure:
    return reported_failure("permanent_error", sentence)
