"""What an author says of a prompt, a resource or a template beside its function, and what of it cannot be."""

from collections.abc import Callable, Collection, Mapping, Sequence
from types import FunctionType
from typing import Any, TypedDict, cast

from signpost.contract import PROMPT, RESOURCE, TEMPLATE
from signpost.execution.components import fault_of_pattern, fault_of_uri
from signpost.execution.listing import no_flag
from signpost.model import Json, JsonObject
from signpost.toolkit import function, options
from signpost.toolkit.content import About, annotations_in
from signpost.toolkit.options import Schema

type Completions = Mapping[str, Sequence[str] | Callable[..., Sequence[str]]]
"""By argument: what it may be, or what says so of what was typed, of the other arguments, and in which context."""


class _Options(TypedDict, total=False):
    name: str
    title: str
    description: str
    icons: Sequence[JsonObject]
    meta: Mapping[str, Json]
    hidden: bool
    visible: bool
    timeout_ms: int
    permissions: Collection[str]
    isolate: bool


class PromptOptions(_Options, total=False):
    arguments: Schema
    complete: Completions


class ResourceOptions(_Options, total=False):
    mime_type: str
    size: int
    annotations: About


class TemplateOptions(_Options, total=False):
    mime_type: str
    annotations: About
    complete: Completions
    enumerate: Callable[..., Sequence[Any]]


OPTIONS: Mapping[str, Collection[str]] = {
    PROMPT: PromptOptions.__annotations__,
    RESOURCE: ResourceOptions.__annotations__,
    TEMPLATE: TemplateOptions.__annotations__,
}
PLAIN = tuple(option for option in _Options.__annotations__ if option != "visible")
"""Options that a function has under the same name."""


def fault_of_option(kind: str, name: str, value: object) -> str | None:
    """In words that follow its name."""
    if name == "uri":
        return _fault_of_uri(kind, value)
    if name not in OPTIONS[kind]:
        return f"is no option of a {kind}; there are {', '.join(sorted(OPTIONS[kind]))}"
    if name in _SPECIAL:
        return _SPECIAL[name](value)
    return "is None" if value is None else function.OPTIONS[name](value)


def _fault_of_uri(kind: str, value: object) -> str | None:
    if not isinstance(value, str):
        return "is no text"
    fault = fault_of_uri(value) if kind == RESOURCE else fault_of_pattern(value)
    return f"{value!r} {fault}" if fault else None


def _arguments(value: object) -> str | None:
    return options.fault_of_option("input", value)


def _completions(value: object) -> str | None:
    if not isinstance(value, Mapping):
        return "is no mapping of arguments"
    for name, said in cast("Mapping[object, object]", value).items():
        if not isinstance(said, FunctionType) and not _are_texts(said):
            return f"has for {name!r} neither a list of texts nor a function"
    return None


def _are_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, str) for one in cast("Sequence[object]", value))


def _function(value: object) -> str | None:
    return None if isinstance(value, FunctionType) else "is no function"


def _mime_type(value: object) -> str | None:
    return None if isinstance(value, str) and "/" in value else "is no text of the form type/subtype"


def _size(value: object) -> str | None:
    fits = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return None if fits else "is no whole number from 0"


def _annotations(value: object) -> str | None:
    if not isinstance(value, Mapping):
        return "is no mapping"
    about = cast("About", value)
    if unknown := [name for name in about if name not in About.__annotations__]:
        return f"has no {unknown[0]!r}; there are {', '.join(About.__annotations__)}"
    try:
        annotations_in(about)
    except (AttributeError, TypeError, ValueError) as fault:
        return f"cannot be: {fault}"
    return None


_SPECIAL: Mapping[str, Callable[[object], str | None]] = {
    "arguments": _arguments,
    "complete": _completions,
    "enumerate": _function,
    "mime_type": _mime_type,
    "size": _size,
    "annotations": _annotations,
    "visible": no_flag,
}
