"""The headers of a modern request repeat what its body says, for whoever routes without reading bodies.

They must agree: a gateway in front may have decided on the header what we decide on the body.
"""

import base64
import re
from collections.abc import Mapping

from signpost.errors import HEADER_MISMATCH, Rejection
from signpost.model import Json, JsonObject, as_object
from signpost.protocol.eras import Era
from signpost.protocol.messages import Message

NAME_IN = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Which parameter `Mcp-Name` repeats."""
INTEGER = re.compile(r"-?[0-9]{1,20}")
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
    """Arguments that a tool wants repeated in `Mcp-Param-…` headers: there if the argument is, and equal."""
    for name, definition in as_object(schema.get("properties")).items():
        described, argument = as_object(definition), arguments.get(name)
        suffix = described.get(PARAMETER_HEADER)
        fault = _parameter_fault(f"mcp-param-{suffix.lower()}", argument, headers) if isinstance(suffix, str) else None
        fault = fault or parameter_mismatch(described, as_object(argument), headers)
        if fault:
            return fault
    return None


def _parameter_fault(header: str, argument: Json, headers: Mapping[str, str]) -> Rejection | None:
    can_be_repeated = isinstance(argument, str | int | float)
    if can_be_repeated != (header in headers):
        return Rejection(
            HEADER_MISMATCH, f"The header {header} is {'missing' if can_be_repeated else 'not called for'}."
        )
    if can_be_repeated and not _repeats(decoded(headers[header]), argument):
        return Rejection(HEADER_MISMATCH, f"The header {header} does not agree with the argument it repeats.")
    return None


def _repeats(header: str | None, argument: Json) -> bool:
    if isinstance(argument, bool):
        return header == str(argument).lower()
    if isinstance(argument, int | float):
        return header is not None and INTEGER.fullmatch(header) is not None and int(header) == argument
    return header == argument


def decoded(value: str) -> str | None:
    """Values that a header cannot carry come as base64 in a marker; None if that is malformed."""
    if not (value.startswith(ENCODED_START) and value.endswith(ENCODED_END)):
        return value
    try:
        return base64.b64decode(value[len(ENCODED_START) : -len(ENCODED_END)], validate=True).decode()
    except ValueError:  # of which wrong base64 and wrong UTF-8 are kinds
        return None
