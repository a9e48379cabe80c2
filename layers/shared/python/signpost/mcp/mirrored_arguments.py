"""The rules for arguments that clients repeat in headers, by `x-mcp-header` in an input schema.

A client must leave out a tool that breaks one of them, so an author would look for the tool in vain.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from signpost.mcp.headers import PARAMETER_HEADER
from signpost.model import Json, JsonObject, as_object

MIRRORED_TYPES = ("string", "integer", "boolean")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUES = frozenset({"const", "default", "enum", "examples"})
"""The keywords that hold values, not schemas."""
_NAMED_PARTS = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})
"""The keywords that hold schemas by names, and names are no keywords."""


def find_header_fault(schema: JsonObject) -> str | None:
    """Return the first rule that a schema breaks, as the rest of a sentence; None if it breaks none."""
    mirrored = list(_list_mirrored(schema))
    names = [str(part[PARAMETER_HEADER]).lower() for part in mirrored]
    if repeated := [name for name in names if names.count(name) > 1]:
        return f"has {PARAMETER_HEADER} {repeated[0]!r} twice"
    if (count := sum(1 for _ in _list_keywords(schema))) != len(mirrored):
        return f"has {PARAMETER_HEADER} where no chain of `properties` leads ({count - len(mirrored)} times)"
    return next((fault for part in mirrored if (fault := _find_fault_of_part(part))), None)


def _find_fault_of_part(part: JsonObject) -> str | None:
    name = part[PARAMETER_HEADER]
    if not isinstance(name, str) or not _TOKEN.fullmatch(name):
        return f"has {PARAMETER_HEADER} {name!r}, which cannot be part of a header's name"
    if part.get("type") not in MIRRORED_TYPES:
        return f"has {PARAMETER_HEADER} {name!r} at an argument that is not of type {', '.join(MIRRORED_TYPES)}"
    return None


def _list_mirrored(schema: JsonObject) -> Iterator[JsonObject]:
    """List the parts with the keyword that a chain of `properties` reaches."""
    for value in as_object(schema.get("properties")).values():
        part = as_object(value)
        if PARAMETER_HEADER in part:
            yield part
        yield from _list_mirrored(part)


def _list_keywords(node: Json) -> Iterator[Json]:
    """List all uses of the keyword, wherever they are."""
    children: Iterable[Json] = ()
    if isinstance(node, Mapping):
        children = _list_parts(node)
        if PARAMETER_HEADER in node:
            yield node[PARAMETER_HEADER]
    elif isinstance(node, Sequence) and not isinstance(node, str):
        children = node
    for child in children:
        yield from _list_keywords(child)


def _list_parts(schema: JsonObject) -> Iterator[Json]:
    """List the schemas in a schema, and the lists of schemas."""
    for keyword, value in schema.items():
        if keyword in _NAMED_PARTS:
            yield from as_object(value).values()
        elif keyword not in _VALUES:
            yield value
