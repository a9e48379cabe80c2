"""The headers of a modern request repeat what its body says, for whoever routes without reading bodies.

They must agree: a gateway in front may have decided on the header what we decide on the body.
"""

import base64
from collections.abc import Mapping

from signpost.errors import HEADER_MISMATCH, Rejection
from signpost.model import Json
from signpost.protocol.eras import Era
from signpost.protocol.messages import Message

NAME_IN = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Which parameter `Mcp-Name` repeats."""
ENCODED_START, ENCODED_END = "=?base64?", "?="


def mismatch(message: Message, era: Era, headers: Mapping[str, str]) -> Rejection | None:
    if not era.modern:
        return None
    expected: dict[str, Json] = {"mcp-protocol-version": era.version, "mcp-method": message.method}
    if message.method in NAME_IN:
        expected["mcp-name"] = message.params.get(NAME_IN[message.method])
    for name, value in expected.items():
        if name not in headers:
            return Rejection(HEADER_MISMATCH, f"The header {name} is missing.")
        if decoded(headers[name]) != value:
            return Rejection(HEADER_MISMATCH, f"The header {name} does not agree with the body.")
    return None


def decoded(value: str) -> str | None:
    """Values that a header cannot carry come as base64 in a marker; None if that is malformed."""
    if not (value.startswith(ENCODED_START) and value.endswith(ENCODED_END)):
        return value
    try:
        return base64.b64decode(value[len(ENCODED_START) : -len(ENCODED_END)], validate=True).decode()
    except ValueError:  # of which wrong base64 and wrong UTF-8 are kinds
        return None
