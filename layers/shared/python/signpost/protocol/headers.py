"""The headers of a modern request repeat what its body says, for whoever routes without reading bodies.

They must agree: a gateway in front may have decided on the header what we decide on the body.
"""

import base64
from collections.abc import Mapping

from signpost.errors import HEADER_MISMATCH, Rejection
from signpost.model import Json, JsonObject, as_object
from signpost.protocol.eras import Era
from signpost.protocol.messages import Message

NAME_IN = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Which parameter `Mcp-Name` repeats."""
PARAMETER_HEADER = "x-mcp-header"
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


def parameter_mismatch(schema: JsonObject, arguments: JsonObject, headers: Mapping[str, str]) -> Rejection | None:
    """Arguments that a tool wants repeated in `Mcp-Param-…` headers: there if the argument is, and equal to it."""
    for name, definition in as_object(schema.get("properties")).items():
        suffix = as_object(definition).get(PARAMETER_HEADER)
        if not isinstance(suffix, str) or arguments.get(name) is None:
            continue
        header = f"mcp-param-{suffix.lower()}"
        if header not in headers:
            return Rejection(HEADER_MISMATCH, f"The header {header} is missing.")
        if not _repeats(decoded(headers[header]), arguments[name]):
            return Rejection(HEADER_MISMATCH, f"The header {header} does not agree with the argument {name}.")
    return None


def _repeats(header: str | None, argument: Json) -> bool:
    if isinstance(argument, bool):
        return header == str(argument).lower()
    if isinstance(argument, int) and header is not None and header.lstrip("-").isdecimal():
        return int(header) == argument
    return header == argument


def decoded(value: str) -> str | None:
    """Values that a header cannot carry come as base64 in a marker; None if that is malformed."""
    if not (value.startswith(ENCODED_START) and value.endswith(ENCODED_END)):
        return value
    try:
        return base64.b64decode(value[len(ENCODED_START) : -len(ENCODED_END)], validate=True).decode()
    except ValueError:  # of which wrong base64 and wrong UTF-8 are kinds
        return None
