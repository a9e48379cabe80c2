"""Reads the answer of a tool, whichever form it has."""

from typing import Any

from tests.support.memory_gateway import GatewayAnswer


def read_tool_answer(answer: GatewayAnswer) -> Any:
    """Return the content of a tool's answer. A refusal, an error result and a protocol error have the same form."""
    message = answer.json
    if "error" in message:
        return {"error": {"code": str(message["error"]["code"]), "message": message["error"]["message"]}}
    result = message["result"]
    if "structuredContent" in result:
        return result["structuredContent"]
    text = result["content"][0]["text"]
    return {"error": {"code": "", "message": text}} if result.get("isError") else text
