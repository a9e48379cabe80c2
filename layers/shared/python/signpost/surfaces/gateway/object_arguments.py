"""Reads the arguments of the gateway tools that are objects, in each form in which hosts send them."""

from collections.abc import Mapping

from signpost.errors import Rejection
from signpost.mcp.messages import decode
from signpost.model import Json, JsonObject, Tool
from signpost.surfaces.gateway.tool_specs import START, SUBMIT

_ARGUMENTS = "arguments"
OBJECT_ARGUMENTS: Mapping[str, str] = {START.name: "input", SUBMIT.name: _ARGUMENTS}
"""The argument of a tool that is an object."""


def read_object_argument(tool: Tool, arguments: JsonObject) -> JsonObject | str:
    """Return the arguments with the object that was sent as JSON text, or the name of the argument whose text is none.

    Some hosts close every object that declares no members, so that their models can write members only in a text.
    """
    name = OBJECT_ARGUMENTS.get(tool.name)
    if name is None:
        return arguments
    arguments = _drop_repeated_call(arguments) if tool is SUBMIT else arguments
    text = arguments.get(name)
    if not isinstance(text, str):
        return arguments
    value = _read_object(text)
    return name if value is None else {**arguments, name: value}


def _read_object(text: str) -> JsonObject | None:
    """Return the object of a JSON text, within the limits of a request's body; None if the text is something else."""
    value = decode(text.encode())
    return None if isinstance(value, Rejection) or not isinstance(value, Mapping) else value


def _drop_repeated_call(arguments: JsonObject) -> JsonObject:
    """Return the arguments of workflow.submit without a copy of them in its argument `arguments`.

    Some hosts call all arguments of a call `arguments`, and send all where a tool has an argument of that name.
    """
    sent = arguments.get(_ARGUMENTS)
    if not isinstance(sent, Mapping) or _leave_out_arguments(sent) != _leave_out_arguments(arguments):
        return arguments
    own = sent.get(_ARGUMENTS)
    if not isinstance(own, Mapping | str | None):
        return arguments
    return {**arguments, _ARGUMENTS: {} if own is None else own}


def _leave_out_arguments(fields: JsonObject) -> Mapping[str, Json]:
    return {name: value for name, value in fields.items() if name != _ARGUMENTS}
