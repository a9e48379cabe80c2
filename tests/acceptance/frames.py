"""MCP cases: what is sent where, and what came back."""

import json
from collections.abc import Mapping
from typing import Any

from signpost.mcp.revisions import PROTOCOL_VERSION
from tests.acceptance.cases import Step
from tests.acceptance.expectations import Seen
from tests.acceptance.values import members_of
from tests.support.memory_gateway import META, GatewayAnswer, build_modern_request

OLDER = "2025-06-18"
RESOURCE_NOT_FOUND = -32002
"""What clients before 2026-07-28 are told, and none after."""


def endpoint_of(step: Step) -> str:
    """The bridge of the cases, where functions are tools, is an endpoint of its own."""
    method = (members_of(step.input) or {}).get("method")
    return "/mcp/functions" if isinstance(method, str) and method.startswith("tools/") else "/mcp"


def frame_of(step: Step) -> tuple[str, dict[str, str]]:
    """The body as the file has it, with the headers that clients of its time send."""
    if isinstance(step.input, str):
        return step.input, _older_headers()
    frame = members_of(step.input) or {}
    params = members_of(frame.get("params")) or {}
    meta = members_of(params.get("_meta")) or {}
    if PROTOCOL_VERSION in meta or _expects_a_modern_answer(step, frame.get("method"), params):
        message, headers = build_modern_request(frame["method"], {**params}, {**(meta or META)})
        return json.dumps({**message, "id": frame["id"]}), headers
    is_first = frame.get("method") == "initialize"
    return json.dumps(step.input), {"content-type": "application/json"} if is_first else _older_headers()


def seen_of_rpc(answer: GatewayAnswer) -> Seen:
    message = json.loads(answer.text) if answer.text else None
    found = members_of(message) or {}
    error = found.get("error", {}).get("message")
    return Seen(answer=found.get("result"), error=error, status=answer.status, body=message)


def _older_headers() -> dict[str, str]:
    return {"content-type": "application/json", "mcp-protocol-version": OLDER}


def _expects_a_modern_answer(step: Step, method: Any, params: Mapping[str, Any]) -> bool:
    """To be told of a resource that is not there as only modern clients are."""
    codes = step.expect.get("rpc_error", [RESOURCE_NOT_FOUND])
    return method == "resources/read" and "uri" in params and RESOURCE_NOT_FOUND not in codes
