"""Nested calls through the gateway, which knows the executors of functions and the permissions of the call."""

import json
from typing import TYPE_CHECKING

from signpost.calling import wire
from signpost.calling.failures import failure
from signpost.contract import CallReply, FunctionCall, TransportFailure
from signpost.model import JsonObject

if TYPE_CHECKING:
    from signpost.calling.ports import LambdaTransport


class GatewayCalls:
    """Sends nested calls to the gateway's Lambda function."""

    def __init__(self, transport: "LambdaTransport", gateway_arn: str) -> None:
        self._link = transport
        self._gateway_arn = gateway_arn

    def call(self, token: str, parent: FunctionCall, function: str, arguments: JsonObject) -> CallReply:
        nested = wire.NestedCall(token, parent.call_id, function, arguments, trace=parent.trace)
        payload = json.dumps(wire.nested_message(nested), separators=(",", ":")).encode()
        if len(payload) > wire.LARGEST_PAYLOAD:
            return failure("request_too_large", function)
        answer = self._link.send(self._gateway_arn, payload, parent.deadline)
        if isinstance(answer, TransportFailure):
            return failure(answer.code, function)
        try:
            return wire.parse_reply(answer)
        except wire.MalformedMessage:
            return failure("malformed_reply", function)
