"""The kernel of the MCP SDK, called directly in one lasting event loop, without ASGI and Mangum."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
from mcp.server.connection import Connection
from mcp.server.runner import serve_one
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    InboundLadderRejection,
    classify_inbound_request,
    validate_mcp_param_headers,
)
from mcp.shared.message import MessageMetadata
from mcp.shared.transport_context import TransportContext

from bench.peers import dynamodb
from bench.peers.sdk import SCHEMAS, server

TRANSPORT = TransportContext(kind="lambda", can_send_request=False)

client = dynamodb.client
loop = asyncio.Runner()


@dataclass(slots=True)
class KernelRequest:
    """The context of one request, which the kernel reads and to which it sends notifications while it answers."""

    request_id: str | int
    transport: TransportContext = TRANSPORT
    message_metadata: MessageMetadata = None
    can_send_request: bool = False
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        del params, opts
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        """Drop the notification; the tools of the bench send none."""

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Drop the progress; the tools of the bench report none."""


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    del context
    headers = {name.lower(): value for name, value in event["headers"].items()}
    message = json.loads(event["body"])
    route = classify_inbound_request(message, headers=headers)
    if isinstance(route, InboundLadderRejection):
        return _error_answer(message, route)
    mismatch = _parameter_mismatch(message["params"], headers)
    if mismatch:
        return _error_answer(message, mismatch)
    connection = Connection.from_envelope(route.protocol_version, route.client_info, route.client_capabilities)
    serving = serve_one(
        server,
        KernelRequest(message["id"]),
        message["method"],
        message["params"],
        connection=connection,
        lifespan_state={},
    )
    return _answer(200, message, {"result": loop.run(serving)})


def _parameter_mismatch(params: dict[str, Any], headers: Mapping[str, str]) -> InboundLadderRejection | None:
    schema = SCHEMAS.get(params.get("name", ""))
    return None if schema is None else validate_mcp_param_headers(schema, params.get("arguments", {}), headers)


def _error_answer(message: dict[str, Any], rejection: InboundLadderRejection) -> dict[str, Any]:
    error = {"code": rejection.code, "message": rejection.message, "data": rejection.data}
    return _answer(ERROR_CODE_HTTP_STATUS.get(rejection.code, 200), message, {"error": error})


def _answer(status: int, message: dict[str, Any], outcome: dict[str, Any]) -> dict[str, Any]:
    body = json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}, ensure_ascii=False, separators=(",", ":"))
    return {"statusCode": status, "headers": {"content-type": "application/json"}, "body": body}
