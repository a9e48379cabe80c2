"""Calls of other functions: they go to the gateway, which knows where those run and what this call may do there."""

import json

from signpost.contract import FunctionCall, Reply, Undelivered
from signpost.execution import wire
from signpost.execution.failures import failure
from signpost.model import JsonObject
from signpost.ports import Link


class GatewayCalls:
    def __init__(self, link: Link, gateway_arn: str) -> None:
        self._link = link
        self._gateway_arn = gateway_arn

    def call(self, token: str, parent: FunctionCall, function: str, arguments: JsonObject) -> Reply:
        nested = wire.NestedCall(token, parent.call_id, function, arguments, trace=parent.trace)
        payload = json.dumps(wire.nested_message(nested), separators=(",", ":")).encode()
        if len(payload) > wire.LARGEST_PAYLOAD:
            return failure("request_too_large", function)
        answer = self._link.send(self._gateway_arn, payload, parent.deadline)
        if isinstance(answer, Undelivered):
            return failure(answer.code, function)
        try:
            return wire.reply_of(answer)
        except wire.NotOurs:
            return failure("malformed_reply", function)
