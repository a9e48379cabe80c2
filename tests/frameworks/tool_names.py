"""The check of tool names that OpenAI's API makes."""

import re
from collections.abc import Sequence

from signpost.model import JsonObject
from tests.frameworks.following_model import OfferedTool

LONGEST_NAME = 64
_ALLOWED = re.compile(r"[a-zA-Z0-9_-]+")


def find_name_refusal(tools: Sequence[OfferedTool]) -> str | None:
    """Return the API's refusal of the first tool name that it does not allow, or None if it allows all."""
    for number, tool in enumerate(tools):
        if not _ALLOWED.fullmatch(tool.name):
            return (
                f"Invalid 'tools[{number}].function.name': string does not match pattern. Expected a string that "
                f"matches the pattern '^{_ALLOWED.pattern}$'. The name: {tool.name}"
            )
        if len(tool.name) > LONGEST_NAME:
            return f"Invalid 'tools[{number}].function.name': string too long. The name: {tool.name}"
    return None


def build_refusal(message: str) -> JsonObject:
    return {"error": {"message": message, "type": "invalid_request_error", "param": "tools", "code": "invalid_value"}}
