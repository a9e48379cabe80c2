"""Nested calls through the gateway, which knows the executors of functions and the permissions of the call."""

from typing import TYPE_CHECKING

from signpost.calling import wire
from signpost.calling.nested_transport import send_nested
from signpost.contract import CallReply, FunctionCall
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
        return send_nested(self._link, self._gateway_arn, nested, parent.deadline)
