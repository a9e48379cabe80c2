"""Options of prompts, resources and templates, and their checks."""

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from types import FunctionType
from typing import Any, TypedDict, cast

from signpost.calling.components import fault_of_pattern, fault_of_uri
from signpost.contract import PROMPT, RESOURCE, TEMPLATE
from signpost.directory.listing import check_flag
from signpost.model import Json, JsonObject
from signpost.toolkit import function, options
from signpost.toolkit.content import ContentAnnotations, build_annotations
from signpost.toolkit.options import Schema

type Completions = Mapping[str, Sequence[str] | Callable[..., Sequence[str] | Coroutine[Any, Any, Sequence[str]]]]
"""By argument: the list of its possible values, or a function that answers them. The function takes the typed text, the
other arguments and the context."""


class _ComponentOptions(TypedDict, total=False):
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
    calls: Collection[str]
    needs: Sequence[str]
    visible_when: Mapping[str, Json]


class PromptOptions(_ComponentOptions, total=False):
    arguments: Schema
    complete: Completions


class ResourceOptions(_ComponentOptions, total=False):
    mime_type: str
    size: int
    annotations: ContentAnnotations


class TemplateOptions(_ComponentOptions, total=False):
    mime_type: str
    annotations: ContentAnnotations
    complete: Completions
    enumerate: Callable[..., Sequence[Any] | Coroutine[Any, Any, Sequence[Any]]]


OPTIONS: Mapping[str, Collection[str]] = {
    PROMPT: PromptOptions.__annotations__,
    RESOURCE: ResourceOptions.__annotations__,
    TEMPLATE: TemplateOptions.__annotations__,
}
COPIED_OPTIONS = tuple(option for option in _ComponentOptions.__annotations__ if option != "visible")
"""Options that are copied to the Function field of the same name."""


def fault_of_option(kind: str, name: str, value: object) -> str | None:
    """Find the fault of an option, in words that follow its name; None if it has none."""
    if name == "uri":
        return _fault_of_uri(kind, value)
    if name not in OPTIONS[kind]:
        return f"is not an option of a {kind}; the options are {', '.join(sorted(OPTIONS[kind]))}"
    if name in _OPTION_CHECKS:
        return _OPTION_CHECKS[name](value)
    return "must not be None" if value is None else function.OPTIONS[name](value)


def _fault_of_uri(kind: str, value: object) -> str | None:
    if not isinstance(value, str):
        return "must be a text"
    fault = fault_of_uri(value) if kind == RESOURCE else fault_of_pattern(value)
    return f"{value!r} {fault}" if fault else None


def _fault_of_arguments(value: object) -> str | None:
    return options.fault_of_option("input", value)


def _fault_of_completions(value: object) -> str | None:
    if not isinstance(value, Mapping):
        return "must be a mapping of arguments"
    for name, completion in cast("Mapping[object, object]", value).items():
        if not isinstance(completion, FunctionType) and not _are_texts(completion):
            return f"must have a list of texts or a function for {name!r}"
    return None


def _are_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in cast("Sequence[object]", value))


def _fault_of_function(value: object) -> str | None:
    return None if isinstance(value, FunctionType) else "must be a function"


def _fault_of_mime_type(value: object) -> str | None:
    return None if isinstance(value, str) and "/" in value else "must be a text of the form type/subtype"


def _fault_of_size(value: object) -> str | None:
    fits = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return None if fits else "must be a whole number of at least 0"


def _fault_of_annotations(value: object) -> str | None:
    if not isinstance(value, Mapping):
        return "must be a mapping"
    annotations = cast("ContentAnnotations", value)
    if unknown := [name for name in annotations if name not in ContentAnnotations.__annotations__]:
        return f"has an unknown key {unknown[0]!r}; use one of {', '.join(ContentAnnotations.__annotations__)}"
    try:
        build_annotations(annotations)
    except (AttributeError, TypeError, ValueError) as fault:
        return f"is not valid: {fault}"
    return None


_OPTION_CHECKS: Mapping[str, Callable[[object], str | None]] = {
    "arguments": _fault_of_arguments,
    "complete": _fault_of_completions,
    "enumerate": _fault_of_function,
    "mime_type": _fault_of_mime_type,
    "size": _fault_of_size,
    "annotations": _fault_of_annotations,
    "visible": check_flag,
}
