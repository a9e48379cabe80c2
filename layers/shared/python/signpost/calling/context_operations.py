"""Context operations: running functions read and write, through the gateway, the state that their context offers.

Principal, tenant, function and thread are those of the token. No field of an operation can name others.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from signpost.calling import wire
from signpost.calling.failures import failure
from signpost.calling.live_grants import read_live_grant
from signpost.contract import CallReply
from signpost.model import JsonObject
from signpost.signing.capability_tokens import CapabilityGrant, TokenMint

if TYPE_CHECKING:
    from signpost.ports import Clock

type ContextAction = Callable[[CapabilityGrant, JsonObject], CallReply]
"""Performs one kind of operation for the call that the grant allows. It checks the fields itself."""


class ContextOperations:
    """Performs context operations by the name of their action."""

    def __init__(self, *, mint: TokenMint, clock: "Clock", actions: Mapping[str, ContextAction]) -> None:
        self._mint = mint
        self._clock = clock
        self._actions = actions

    def answer(self, message: JsonObject) -> JsonObject:
        return wire.reply_message(self._reply(message))

    def _reply(self, message: JsonObject) -> CallReply:
        try:
            operation = wire.parse_context_operation(message)
        except wire.MalformedMessage:
            return failure(
                "not_understood", "the gateway", message="This context operation does not follow the contract."
            )
        grant = read_live_grant(self._mint, operation.token, self._clock.now())
        if isinstance(grant, str):
            return failure(grant, operation.action)
        action = self._actions.get(operation.action)
        if action is None:
            sentence = f"This gateway knows no context operation {operation.action}. Update its stack."
            return failure("not_understood", "the gateway", message=sentence)
        return action(grant, operation.fields)
