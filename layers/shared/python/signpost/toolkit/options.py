"""Options of tools, and their checks."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypedDict, cast

from signpost.directory.listing import check_flag
from signpost.model import Json, JsonObject
from signpost.toolkit import function
from signpost.toolkit.fields import FieldSpecReader
from signpost.toolkit.schemas import CastSchema, CastSchemaRefused, read_json_schema, read_schema

type Schema = Mapping[str, Any] | str | type
"""A field spec, JSON Schema as an object or as text, or a class: a model of Pydantic's, a dataclass, a TypedDict."""


class ToolOptions(TypedDict, total=False):
    name: str
    title: str
    description: str
    category: str
    input: Schema
    output: Schema
    input_schema: Mapping[str, Any] | str
    output_schema: Mapping[str, Any] | str
    annotations: Mapping[str, bool | str]
    icons: Sequence[JsonObject]
    meta: Mapping[str, Json]
    hidden: bool
    visible: bool
    strict: bool
    timeout_ms: int
    permissions: Collection[str]
    idempotent: bool
    isolate: bool
    readable: bool
    expose: bool
    doc: str
    calls: Collection[str]
    needs: Sequence[str]
    task: str
    visible_when: Mapping[str, Json]


HINTS: Mapping[str, str] = {
    "title": "title",
    "read_only_hint": "readOnlyHint",
    "destructive_hint": "destructiveHint",
    "idempotent_hint": "idempotentHint",
    "open_world_hint": "openWorldHint",
}
SCHEMA_OPTIONS = ("input_schema", "input", "output_schema", "output")
"""Options that declare input or output. If both forms are declared, the first of this list counts."""
COPIED_OPTIONS = (
    "name", "title", "description", "category", "icons", "meta", "hidden", "timeout_ms", "permissions", "idempotent",
    "isolate", "readable", "expose", "doc", "calls", "needs", "task", "visible_when",
)  # fmt: skip
"""Options that are copied to the Function field of the same name."""


def fault_of_option(name: str, value: object) -> str | None:
    """Find the fault of an option, in words that follow its name; None if it has none."""
    if name in SCHEMA_OPTIONS:
        return _fault_of_schema_option(name, value)
    if name in _OPTION_CHECKS:
        return _OPTION_CHECKS[name](value)
    if name not in COPIED_OPTIONS:
        return f"is not an option; the options are {', '.join(sorted(ToolOptions.__annotations__))}"
    return "must not be None" if value is None else function.OPTIONS[name](value)


def read_schema_option(name: str, value: object, *, strict: bool) -> CastSchema:
    """Read the value of a schema option. Raises CastSchemaRefused."""
    reader = read_json_schema if name.endswith("_schema") else read_schema
    return reader(value, FieldSpecReader(strict=strict and name.startswith("input"), output=name.startswith("output")))


def _fault_of_schema_option(name: str, value: object) -> str | None:
    try:
        read_schema_option(name, value, strict=False)
    except CastSchemaRefused as fault:
        return f"is not valid: {fault}"
    return None


def _fault_of_annotations(value: object) -> str | None:
    if not isinstance(value, Mapping):
        return "must be a mapping"
    for hint, hint_value in cast("Mapping[object, object]", value).items():
        if hint not in HINTS and hint not in HINTS.values():
            return f"has an unknown hint {hint!r}; use one of {', '.join(HINTS)}"
        if not isinstance(hint_value, str if hint == "title" else bool):
            return f"must have a {'text' if hint == 'title' else 'boolean'} as its hint {hint}"
    return None


def camel_case(annotations: Mapping[str, Json]) -> JsonObject:
    return {HINTS.get(hint, hint): value for hint, value in annotations.items()}


def _fault_of_document(value: object) -> str | None:
    # Imported on first use: few tools have a document, and only those need the rules of the registry.
    from signpost.content.names import problem_with_skill_id  # noqa: PLC0415

    if not isinstance(value, str):
        return "must be the id of a skill document"
    problem = problem_with_skill_id(value)
    return problem and f"is not a valid id of a skill document: {problem}"


_OPTION_CHECKS: Mapping[str, Callable[[object], str | None]] = {
    "annotations": _fault_of_annotations,
    "visible": check_flag,
    "strict": check_flag,
    "doc": _fault_of_document,
}
