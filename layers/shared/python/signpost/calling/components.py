"""Components: functions that are prompts, resources, resource templates or helpers of those, and no tools."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from signpost.calling.uri_templates import TemplateRefused, parse_uri_template
from signpost.calling.wire_fields import (
    number_in,
    objects_in,
    optional_object_in,
    optional_text_in,
    text_in,
    texts_in,
)
from signpost.contract import (
    HELPER,
    LONGEST_COMPONENT,
    LONGEST_URI,
    PROMPT,
    RESOURCE,
    TEMPLATE,
    Component,
    HostedFunction,
)
from signpost.model import Json, JsonObject, PromptArgument

KINDS = (PROMPT, RESOURCE, TEMPLATE, HELPER)
COMPLETE_SUFFIX = "::complete"
"""The suffix of the id of a helper that completes arguments of a component; the rest is the component's id."""
ENUMERATE_SUFFIX = "::enumerate"
"""The suffix of the id of a helper that lists the instances of a template; the rest is the template's id."""

RESERVED_SCHEMES = ("iii", "signpost", "skill")
"""Schemes of URIs that only the gateway may use."""
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!#-;=?-\[\]_a-z~]+")
AUDIENCES = ("user", "assistant")


def component_object(component: Component) -> JsonObject:
    optional: Mapping[str, Json] = {
        "uri": component.uri,
        "mimeType": component.mime_type,
        "size": component.size,
        "annotations": component.annotations or None,
        "arguments": [_argument_object(argument) for argument in component.arguments] or None,
        "complete": {name: values and list(values) for name, values in component.complete.items()} or None,
        "enumerates": component.enumerates or None,
    }
    return {"kind": component.kind, **{name: value for name, value in optional.items() if value is not None}}


def _argument_object(argument: PromptArgument) -> JsonObject:
    described: JsonObject = {} if argument.description is None else {"description": argument.description}
    return {"name": argument.name, **described, "required": argument.required}


def component_of(fields: JsonObject) -> Component:
    """Read a component from a manifest. Raises MalformedMessage."""
    complete = optional_object_in(fields, "complete") or {}
    return Component(
        kind=text_in(fields, "kind"),
        uri=optional_text_in(fields, "uri"),
        mime_type=optional_text_in(fields, "mimeType"),
        size=int(number_in(fields, "size")) if fields.get("size") is not None else None,
        annotations=optional_object_in(fields, "annotations") or {},
        arguments=tuple(map(_argument_of, objects_in(fields, "arguments"))),
        complete={name: None if complete[name] is None else tuple(texts_in(complete, name)) for name in complete},
        enumerates=fields.get("enumerates") is True,
    )


def _argument_of(fields: JsonObject) -> PromptArgument:
    return PromptArgument(
        text_in(fields, "name"), optional_text_in(fields, "description"), fields.get("required") is True
    )


def fault_of_component(value: object) -> str | None:
    """Return the fault that keeps a component out of lists, as words that follow `component`, or None."""
    if not isinstance(value, Component):
        return "is not a component"
    if value.kind not in KINDS:
        return f"has a kind that is not one of {', '.join(KINDS)}"
    if len(json.dumps(component_object(value))) > LONGEST_COMPONENT:
        return f"has more than {LONGEST_COMPONENT} characters"
    return _FAULTS[value.kind](value) or _fault_of_names(value)


def _no_fault(component: Component) -> str | None:
    del component
    return None


def _fault_of_resource(resource: Component) -> str | None:
    fault = fault_of_uri(resource.uri or "")
    return f"has a URI that {fault}" if fault else _fault_of_content(resource)


def _fault_of_template(template: Component) -> str | None:
    fault = fault_of_pattern(template.uri or "")
    return f"has a pattern that {fault}" if fault else _fault_of_content(template)


_FAULTS: Mapping[str, Callable[[Component], str | None]] = {
    PROMPT: _no_fault,
    RESOURCE: _fault_of_resource,
    TEMPLATE: _fault_of_template,
    HELPER: _no_fault,
}


def fault_of_uri(uri: str) -> str | None:
    """Return the fault of a resource's URI, as words that follow it, or None."""
    if len(uri) > LONGEST_URI:
        return f"has more than {LONGEST_URI} characters"
    if _URI.fullmatch(uri) is None:
        return "is not valid: a URI begins with a scheme and a colon, and the rest is ASCII or percent-encoded"
    scheme = uri.partition(":")[0].lower()
    return f"begins with {scheme}:, which is reserved for the gateway" if scheme in RESERVED_SCHEMES else None


def fault_of_pattern(pattern: str) -> str | None:
    """Return the fault of a template's pattern, as words that follow it, or None."""
    try:
        template = parse_uri_template(pattern)
    except TemplateRefused as fault:
        return str(fault)
    if not template.variables:
        return "has no variable: declare a resource instead"
    if ":" not in template.prefix:
        return "is not valid: a pattern begins with a scheme and a colon"
    if len(pattern) > LONGEST_URI:
        return f"has more than {LONGEST_URI} characters"
    return fault_of_uri("x".join((template.prefix, *(variable.literal_after for variable in template.variables))))


def _fault_of_content(component: Component) -> str | None:
    if component.mime_type is not None and "/" not in component.mime_type:
        return "has a MIME type without a slash"
    if component.size is not None and component.size < 0:
        return "has a size below zero"
    return fault_of_annotations(component.annotations)


def fault_of_annotations(annotations: JsonObject) -> str | None:
    audience, priority = annotations.get("audience", []), annotations.get("priority", 0)
    if not isinstance(audience, list | tuple) or not all(role in AUDIENCES for role in audience):
        return f"has an audience that is not a list of {' and '.join(AUDIENCES)}"
    if isinstance(priority, bool) or not isinstance(priority, int | float) or not 0 <= priority <= 1:
        return "has a priority that is not a number from 0 to 1"
    return None if isinstance(annotations.get("lastModified", ""), str) else "has a lastModified that is not a text"


def _fault_of_names(component: Component) -> str | None:
    names = argument_names_of(component)
    if twice := [name for name in names if names.count(name) > 1]:
        return f"has the argument {twice[0]} twice"
    unknown = [name for name in component.complete if name not in names]
    return f"completes {unknown[0]}, which is not one of its arguments" if unknown else None


def prompt_name(hosted: HostedFunction) -> str:
    """Return the name of a prompt, resource or template. Toolkits always give one; other executors may leave it out."""
    return hosted.name or hosted.function


def argument_names_of(component: Component) -> Sequence[str]:
    """Return the names of a component's arguments: the arguments of a prompt, the variables of a template."""
    if component.kind == TEMPLATE:
        return parse_uri_template(cast("str", component.uri)).names
    return [argument.name for argument in component.arguments]
