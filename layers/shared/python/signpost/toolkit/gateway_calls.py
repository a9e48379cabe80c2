"""Nested calls through the gateway, which knows the executors of functions and the permissions of the call."""

from typing import TYPE_CHECKING

from signpost.calling import wire
from signpost.calling.nested_transport import send_context_operation, send_nested
from signpost.contract import CallReply, FunctionCall
from signpost.model import JsonObject

if TYPE_CHECKING:
    from signpost.calling.ports import LambdaTransport


class GatewayCalls:
    """Sends nested calls and context operations to the nested calls function."""

    def __init__(self, transport: "LambdaTransport", gateway_arn: str) -> None:
        self._link = transport
        self._gateway_arn = gateway_arn

    def call(self, token: str, parent: FunctionCall, function: str, arguments: JsonObject) -> CallReply:
        nested = wire.NestedCall(token, parent.call_id, function, arguments, trace=parent.trace)
        return send_nested(self._link, self._gateway_arn, nested, parent.deadline)

    def perform(self, token: str, call: FunctionCall, action: str, fields: JsonObject) -> CallReply:
        operation = wire.ContextOperation(token, call.call_id, action, fields)
        return send_context_operation(self._link, self._gateway_arn, operation, call.deadline)
