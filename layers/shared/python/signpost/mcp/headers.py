"""Checks the headers of a modern request, which repeat parts of its body for proxies that route without reading bodies.

Header and body must agree: a proxy in front may have decided by the header, and the gateway decides by the body.
"""

import base64
import re
from collections.abc import Mapping

from signpost.errors import HEADER_MISMATCH, Rejection
from signpost.mcp.messages import JsonRpcMessage
from signpost.mcp.revisions import ProtocolRevision
from signpost.model import Json, JsonObject, as_object

NAME_PARAMETER = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The parameter that `Mcp-Name` repeats, by method."""
TASK_PARAMETER = "taskId"
"""The parameter that `Mcp-Name` repeats in the methods of the tasks extension."""
INTEGER = re.compile(r"-?[0-9]{1,20}")
PARAMETER_HEADER = "x-mcp-header"
ENCODED_START, ENCODED_END = "=?base64?", "?="


def find_mismatch(message: JsonRpcMessage, revision: ProtocolRevision, headers: Mapping[str, str]) -> Rejection | None:
    if not revision.is_modern:
        return None
    expected: dict[str, Json] = {"mcp-protocol-version": revision.version, "mcp-method": message.method}
    if message.method in NAME_PARAMETER:
        expected["mcp-name"] = message.params.get(NAME_PARAMETER[message.method])
    faults = (find_header_fault(name, value, headers) for name, value in expected.items())
    return next((fault for fault in faults if fault is not None), None)


def find_header_fault(name: str, value: Json, headers: Mapping[str, str]) -> Rejection | None:
    """Find the fault of a header that repeats a value of the body."""
    if name not in headers:
        return Rejection(HEADER_MISMATCH, f"The header {name} is missing.")
    if decode_header(headers[name]) != value:
        return Rejection(HEADER_MISMATCH, f"The header {name} does not agree with the body.")
    return None


def find_parameter_mismatch(schema: JsonObject, arguments: JsonObject, headers: Mapping[str, str]) -> Rejection | None:
    """Finds the first `Mcp-Param-…` header that does not agree with its argument.

    The tool's schema names the arguments that are repeated, at any depth. A header must be present if and only if its
    argument is, and equal to it.
    """
    for name, definition in as_object(schema.get("properties")).items():
        property_schema, argument = as_object(definition), arguments.get(name)
        suffix = property_schema.get(PARAMETER_HEADER)
        fault = (
            _find_parameter_fault(f"mcp-param-{suffix.lower()}", argument, headers) if isinstance(suffix, str) else None
        )
        fault = fault or find_parameter_mismatch(property_schema, as_object(argument), headers)
        if fault:
            return fault
    return None


def _find_parameter_fault(header: str, argument: Json, headers: Mapping[str, str]) -> Rejection | None:
    is_expected = isinstance(argument, str | int | float)
    if is_expected != (header in headers):
        return Rejection(HEADER_MISMATCH, f"The header {header} is {'missing' if is_expected else 'not expected'}.")
    if is_expected and not _is_same_value(decode_header(headers[header]), argument):
        return Rejection(HEADER_MISMATCH, f"The header {header} does not agree with the argument it repeats.")
    return None


def _is_same_value(header: str | None, argument: Json) -> bool:
    if isinstance(argument, bool):
        return header == str(argument).lower()
    if isinstance(argument, int | float):
        return header is not None and INTEGER.fullmatch(header) is not None and int(header) == argument
    return header == argument


def decode_header(value: str) -> str | None:
    """Decodes a value that is sent as base64 in a marker because a header cannot carry it. None if it is malformed."""
    if not (value.startswith(ENCODED_START) and value.endswith(ENCODED_END)):
        return value
    try:
        return base64.b64decode(value[len(ENCODED_START) : -len(ENCODED_END)], validate=True).decode()
    except ValueError:  # the base class of the errors for wrong base64 and wrong UTF-8
        return None
