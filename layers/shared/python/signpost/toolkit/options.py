"""What an author says of a tool beside its function, and what of it cannot be."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypedDict, cast

from signpost.execution.listing import no_flag
from signpost.model import Json, JsonObject
from signpost.toolkit import function
from signpost.toolkit.fields import Reader
from signpost.toolkit.forms import Shape, ShapeRefused, raw_shape_of, shape_of

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


HINTS: Mapping[str, str] = {
    "title": "title",
    "read_only_hint": "readOnlyHint",
    "destructive_hint": "destructiveHint",
    "idempotent_hint": "idempotentHint",
    "open_world_hint": "openWorldHint",
}
FORMS = ("input_schema", "input", "output_schema", "output")
"""Options that say what goes in or comes out; of two the former is what counts."""
PLAIN = (
    "name", "title", "description", "category", "icons", "meta", "hidden", "timeout_ms", "permissions", "idempotent",
    "isolate", "readable", "expose", "doc",
)  # fmt: skip
"""Options that a function has under the same name."""


def fault_of_option(name: str, value: object) -> str | None:
    """In words that follow its name."""
    if name in FORMS:
        return _fault_of_form(name, value)
    if name in _SPECIAL:
        return _SPECIAL[name](value)
    if name not in PLAIN:
        return f"is no option; there are {', '.join(sorted(ToolOptions.__annotations__))}"
    return "is None" if value is None else function.OPTIONS[name](value)


def shape(name: str, value: object, *, strict: bool) -> Shape:
    """Raises ShapeRefused."""
    read = raw_shape_of if name.endswith("_schema") else shape_of
    return read(value, Reader(strict=strict and name.startswith("input"), output=name.startswith("output")))


def _fault_of_form(name: str, value: object) -> str | None:
    try:
        shape(name, value, strict=False)
    except ShapeRefused as fault:
        return f"cannot be: {fault}"
    return None


def _annotations(value: object) -> str | None:
    if not isinstance(value, Mapping):
        return "is no mapping"
    for hint, said in cast("Mapping[object, object]", value).items():
        if hint not in HINTS and hint not in HINTS.values():
            return f"has no hint {hint!r}; there are {', '.join(HINTS)}"
        if not isinstance(said, str if hint == "title" else bool):
            return f"has a hint {hint} that is {'no text' if hint == 'title' else 'neither true nor false'}"
    return None


def camel_case(annotations: Mapping[str, Json]) -> JsonObject:
    return {HINTS.get(hint, hint): said for hint, said in annotations.items()}


def _document(value: object) -> str | None:
    # Few tools have one, and nobody else needs the rules of the registry.
    from signpost.registry.names import problem_with_skill_id  # noqa: PLC0415

    if not isinstance(value, str):
        return "is not the id of a skill document"
    problem = problem_with_skill_id(value)
    return problem and f"is not the id of a skill document: {problem}"


_SPECIAL: Mapping[str, Callable[[object], str | None]] = {
    "annotations": _annotations,
    "visible": no_flag,
    "strict": no_flag,
    "doc": _document,
}
