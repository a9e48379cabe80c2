"""What a tool said, whichever way it was sent."""

from typing import Any

from tests.support.memory_gateway import Answer


def said(answer: Answer) -> Any:
    """An error looks the same as a refusal, as a result that is an error, and as one of the protocol."""
    message = answer.json
    if "error" in message:
        return {"error": {"code": str(message["error"]["code"]), "message": message["error"]["message"]}}
    result = message["result"]
    if "structuredContent" in result:
        return result["structuredContent"]
    text = result["content"][0]["text"]
    return {"error": {"code": "", "message": text}} if result.get("isError") else text
