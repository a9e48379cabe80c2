"""What may be said of a function for lists to show. Authors are held to it at import, executors at placement: lists
are asked for often, and what spoils one spoils it for everybody."""

import json
from collections.abc import Callable, Mapping
from typing import cast

from signpost.contract import LONGEST_DESCRIPTION, LONGEST_DOC, LONGEST_EXTRAS, LONGEST_NAME, LONGEST_TITLE
from signpost.model import Json, JsonObject
from signpost.schema.limits import is_too_deep
from signpost.schema.validation import SchemaRefused, check

ICON_SOURCES = ("https://", "data:")
HINTS: Mapping[str, type] = {
    "title": str, "readOnlyHint": bool, "destructiveHint": bool, "idempotentHint": bool, "openWorldHint": bool,
}  # fmt: skip
"""What MCP knows of how a tool behaves."""


def fault_of(member: str, value: object) -> str | None:
    """What is wrong with one of `MEMBERS`, in words that follow its name."""
    return MEMBERS[member](value)


def _described(value: object) -> str | None:
    fits = isinstance(value, str) and len(value) <= LONGEST_DESCRIPTION
    return None if fits else f"is no text of {LONGEST_DESCRIPTION} characters at most"


def _schema(value: object) -> str | None:
    if value is None:
        return None
    try:
        check(cast("JsonObject", value))
    except SchemaRefused as fault:
        return f"is refused, because {fault}"
    except (AttributeError, RecursionError, TypeError, ValueError):
        return "is no JSON object"
    return None


def _named(value: object) -> str | None:
    if value is None or (_is_text(value, LONGEST_NAME) and cast("str", value).isprintable()):
        return None
    return f"is no text of 1 to {LONGEST_NAME} printable characters"


def _titled(value: object) -> str | None:
    fits = value is None or _is_text(value, LONGEST_TITLE)
    return None if fits else f"is no text of 1 to {LONGEST_TITLE} characters"


def _is_text(value: object, longest: int) -> bool:
    return isinstance(value, str) and bool(value.strip()) and len(value) <= longest


def _extras(value: object) -> str | None:
    if not isinstance(value, Mapping):
        return "is no object"
    return _too_long(cast("object", value))


def _annotations(value: object) -> str | None:
    said = _object(value)
    wrong = [hint for hint in HINTS if hint in said and not isinstance(said[hint], HINTS[hint])]
    return f"says of {wrong[0]} what no client reads" if wrong else _extras(value)


def _icons(value: object) -> str | None:
    if not isinstance(value, list | tuple) or not all(map(_is_icon, cast("list[object]", value))):
        return "is no list of objects with a `src` that begins with https:// or data:"
    return _too_long(cast("object", value))


def _is_icon(value: object) -> bool:
    icon = _object(value)
    source, sizes = icon.get("src"), icon.get("sizes", [])
    is_known = isinstance(icon.get("mimeType", ""), str) and isinstance(sizes, list | tuple)
    return is_known and isinstance(source, str) and source.startswith(ICON_SOURCES)


def _object(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _too_long(value: object) -> str | None:
    try:
        length = len(json.dumps(value, allow_nan=False))
        too_deep = is_too_deep(cast("Json", value))
    except (RecursionError, TypeError, ValueError):
        return "is no JSON"
    if too_deep:
        return "is nested too deeply"
    return f"has more than {LONGEST_EXTRAS} characters" if length > LONGEST_EXTRAS else None


def no_flag(value: object) -> str | None:
    return None if isinstance(value, bool) else "is neither true nor false"


def _document(value: object) -> str | None:
    return None if value is None or _is_text(value, LONGEST_DOC) else "is not the id of a skill document"


def _component(value: object) -> str | None:
    if value is None:
        return None
    # Most functions are tools.
    from signpost.execution.components import fault_of_component  # noqa: PLC0415

    return fault_of_component(value)


MEMBERS: Mapping[str, Callable[[object], str | None]] = {
    "description": _described,
    "input_schema": _schema,
    "output_schema": _schema,
    "name": _named,
    "title": _titled,
    "category": _titled,
    "annotations": _annotations,
    "icons": _icons,
    "meta": _extras,
    "hidden": no_flag,
    "idempotent": no_flag,
    "doc": _document,
    "component": _component,
}
"""Members of `contract.Hosted`."""
