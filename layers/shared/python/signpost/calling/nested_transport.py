"""Sends nested calls: from an executor to the nested calls function, and from there to the registry function."""

import json
from collections.abc import Container, Iterable, Mapping
from typing import TYPE_CHECKING

from signpost.calling import wire
from signpost.calling.failures import failure
from signpost.contract import CallReply, TransportFailure
from signpost.model import JsonObject

if TYPE_CHECKING:
    from signpost.calling.context_operations import ContextAction
    from signpost.calling.ports import LambdaTransport
    from signpost.signing.capability_tokens import CapabilityGrant, TokenMint

ANSWER_MARGIN = 0.2
"""Seconds before the deadline of a nested call that are left for passing the reply of the registry function back."""


def send_nested(link: "LambdaTransport", arn: str, nested: wire.NestedCall, give_up_at: float) -> CallReply:
    """Send a nested call to the Lambda function that answers it, and return its reply."""
    return _send(link, arn, wire.nested_message(nested), nested.function, give_up_at)


def send_context_operation(
    link: "LambdaTransport", arn: str, operation: wire.ContextOperation, give_up_at: float
) -> CallReply:
    """Send a context operation to the nested calls function, and return its reply."""
    return _send(link, arn, wire.context_message(operation), operation.action, give_up_at)


def _send(link: "LambdaTransport", arn: str, message: JsonObject, name: str, give_up_at: float) -> CallReply:
    """Send a message. Failures name the function or the action that was asked for."""
    payload = json.dumps(message, separators=(",", ":")).encode()
    if len(payload) > wire.LARGEST_PAYLOAD:
        return failure("request_too_large", name)
    answer = link.send(arn, payload, give_up_at)
    if isinstance(answer, TransportFailure):
        return failure(answer.code, name)
    try:
        return wire.parse_reply(answer)
    except wire.MalformedMessage:
        return failure("malformed_reply", name)


class RegistryTransport:
    """Passes nested calls of registry functions on to the registry function, with the token by which it judges them."""

    def __init__(self, link: "LambdaTransport", registry_arn: str, functions: Container[str]) -> None:
        self.functions = functions
        """The ids of the functions of the registry."""
        self._link = link
        self._registry_arn = registry_arn

    def pass_on(self, nested: wire.NestedCall, ends_at: float) -> CallReply:
        return send_nested(self._link, self._registry_arn, nested, ends_at - ANSWER_MARGIN)


class RegistryActions:
    """Passes context operations on that the registry function performs, since it alone may change content."""

    def __init__(self, link: "LambdaTransport", registry_arn: str, mint: "TokenMint", actions: Iterable[str]) -> None:
        self._link = link
        self._registry_arn = registry_arn
        self._mint = mint
        self._names = actions

    @property
    def actions(self) -> "Mapping[str, ContextAction]":
        return {name: self._build_action(name) for name in self._names}

    def _build_action(self, action: str) -> "ContextAction":
        def pass_on(grant: "CapabilityGrant", fields: JsonObject) -> CallReply:
            operation = wire.ContextOperation(self._mint.mint(grant), grant.call, action, fields)
            return send_context_operation(self._link, self._registry_arn, operation, grant.deadline - ANSWER_MARGIN)

        return pass_on
