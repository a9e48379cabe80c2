"""Checks of the members of a hosted function that lists show.

Toolkits check authors' functions at import, the registry checks executors at placement: lists are requested often, and
one malformed member would break the list for every client.
"""

import json
from collections.abc import Callable, Mapping
from typing import cast

from signpost.contract import (
    CLIENT_CAPABILITIES,
    LONGEST_DESCRIPTION,
    LONGEST_DOCUMENT_ID,
    LONGEST_EXTRAS,
    LONGEST_NAME,
    LONGEST_TITLE,
    TASK_CHOICES,
)
from signpost.model import OVERRIDE_PREFIX, Json, JsonObject
from signpost.schema.limits import is_too_deep
from signpost.schema.validation import SchemaRefusal, check_schema

ICON_SOURCES = ("https://", "data:")
HINTS: Mapping[str, type] = {
    "title": str, "readOnlyHint": bool, "destructiveHint": bool, "idempotentHint": bool, "openWorldHint": bool,
}  # fmt: skip
"""The annotations of tool behaviour that MCP defines, with their types."""


def fault_of(member: str, value: object) -> str | None:
    """Return the fault of one of the members in `MEMBER_CHECKS`, as words that follow its name, or None."""
    return MEMBER_CHECKS[member](value)


def _check_description(value: object) -> str | None:
    fits = isinstance(value, str) and len(value) <= LONGEST_DESCRIPTION
    return None if fits else f"is not a text of at most {LONGEST_DESCRIPTION} characters"


def _check_schema(value: object) -> str | None:
    if value is None:
        return None
    try:
        check_schema(cast("JsonObject", value))
    except SchemaRefusal as fault:
        return f"is refused, because {fault}"
    except (AttributeError, RecursionError, TypeError, ValueError):
        return "is not a JSON object"
    return None


def _check_name(value: object) -> str | None:
    if value is None:
        return None
    if not _is_text(value, LONGEST_NAME) or not cast("str", value).isprintable():
        return f"is not a text of 1 to {LONGEST_NAME} printable characters"
    is_reserved = cast("str", value).startswith(OVERRIDE_PREFIX)
    return f"begins with {OVERRIDE_PREFIX}, which is reserved for overrides of runs" if is_reserved else None


def _check_title(value: object) -> str | None:
    fits = value is None or _is_text(value, LONGEST_TITLE)
    return None if fits else f"is not a text of 1 to {LONGEST_TITLE} characters"


def _is_text(value: object, longest: int) -> bool:
    return isinstance(value, str) and bool(value.strip()) and len(value) <= longest


def _check_extras(value: object) -> str | None:
    if not isinstance(value, Mapping):
        return "is not an object"
    return _check_size(cast("object", value))


def _check_annotations(value: object) -> str | None:
    hints = _object(value)
    wrong = [hint for hint in HINTS if hint in hints and not isinstance(hints[hint], HINTS[hint])]
    return f"has a {wrong[0]} of the wrong type" if wrong else _check_extras(value)


def _check_icons(value: object) -> str | None:
    if not isinstance(value, list | tuple) or not all(map(_is_icon, cast("list[object]", value))):
        return "is not a list of objects with a `src` that begins with https:// or data:"
    return _check_size(cast("object", value))


def _is_icon(value: object) -> bool:
    icon = _object(value)
    source, sizes = icon.get("src"), icon.get("sizes", [])
    has_valid_options = isinstance(icon.get("mimeType", ""), str) and isinstance(sizes, list | tuple)
    return has_valid_options and isinstance(source, str) and source.startswith(ICON_SOURCES)


def _object(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _check_size(value: object) -> str | None:
    try:
        length = len(json.dumps(value, allow_nan=False))
        too_deep = is_too_deep(cast("Json", value))
    except (RecursionError, TypeError, ValueError):
        return "is not JSON"
    if too_deep:
        return "is nested too deeply"
    return f"has more than {LONGEST_EXTRAS} characters" if length > LONGEST_EXTRAS else None


def check_flag(value: object) -> str | None:
    return None if isinstance(value, bool) else "is neither true nor false"


def _check_document(value: object) -> str | None:
    return None if value is None or _is_text(value, LONGEST_DOCUMENT_ID) else "is not the id of a skill document"


def _check_component(value: object) -> str | None:
    if value is None:
        return None
    # Imported on first use: most functions are tools and have no component.
    from signpost.calling.components import fault_of_component  # noqa: PLC0415

    return fault_of_component(value)


NEEDS = tuple(
    need for name, parts in CLIENT_CAPABILITIES.items() for need in (name, *(f"{name}.{part}" for part in parts))
)
"""The names by which functions declare the capabilities of clients that they need."""


def _check_needs(value: object) -> str | None:
    if not isinstance(value, list | tuple):
        return "is not a list of capabilities of clients"
    unknown = [need for need in cast("list[object]", value) if need not in NEEDS]
    return f"has {unknown[0]!r}, which is not one of {', '.join(NEEDS)}" if unknown else None


def _check_task(value: object) -> str | None:
    return None if value is None or value in TASK_CHOICES else f"is not one of {', '.join(TASK_CHOICES)}"


def _check_visibility(value: object) -> str | None:
    if value is None:
        return None
    # Imported on first use: few functions are shown to some principals only.
    from signpost.calling.visibility import fault_of_condition  # noqa: PLC0415

    return fault_of_condition(value) or _check_size(value)


MEMBER_CHECKS: Mapping[str, Callable[[object], str | None]] = {
    "description": _check_description,
    "input_schema": _check_schema,
    "output_schema": _check_schema,
    "name": _check_name,
    "title": _check_title,
    "category": _check_title,
    "annotations": _check_annotations,
    "icons": _check_icons,
    "meta": _check_extras,
    "hidden": check_flag,
    "idempotent": check_flag,
    "doc": _check_document,
    "component": _check_component,
    "needs": _check_needs,
    "task": _check_task,
    "visible_when": _check_visibility,
}
"""The check of each member of `contract.HostedFunction` that lists show."""
