"""The prompts, resources and templates of a tenant, as they are listed and as they are found."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from signpost.contract import PROMPT, RESOURCE, TEMPLATE, Component, Hosted
from signpost.execution.functions import FunctionList
from signpost.execution.uri_templates import UriTemplate, uri_template
from signpost.model import Prompt, Resource, ResourceTemplate
from signpost.records import dataclass
from signpost.registry.names import is_internal


@dataclass(frozen=True, slots=True)
class Declared:
    """A function that is no tool to clients."""

    hosted: Hosted
    component: Component


@dataclass(frozen=True, slots=True)
class Pattern:
    template: UriTemplate
    declared: Declared


class ComponentIndex:
    """Of two that clients could not tell apart there is the one whose id comes first."""

    def __init__(self, functions: FunctionList) -> None:
        self.functions = functions
        declared = list(_declared(functions))
        self.prompts = {_name(one): one for one in reversed(declared) if one.component.kind == PROMPT}
        self.resources = _by_uri(declared, RESOURCE)
        self.templates = _by_uri(declared, TEMPLATE)
        patterns = [Pattern(uri_template(uri), one) for uri, one in self.templates.items()]
        self.patterns: Sequence[Pattern] = sorted(patterns, key=_order)

    def at(self, uri: str) -> Iterator[tuple[Hosted, Mapping[str, str]]]:
        """Whatever may be there, with its variables: what has exactly this URI, then instances of templates."""
        if uri in self.resources:
            yield self.resources[uri].hosted, {}
        for pattern in self.patterns:
            variables = pattern.template.values_in(uri)
            if variables is not None:
                yield pattern.declared.hosted, variables


class ListedComponents:
    """Some of them, as lists show them: all that is not hidden, or what policy leaves to a principal and shows to it.
    Or what lists leave out although it may be used."""

    def __init__(self, index: ComponentIndex, is_listed: Callable[[Hosted], bool]) -> None:
        self.prompts = [_prompt(one) for one in _in_order(index.prompts) if is_listed(one.hosted)]
        self.resources = [_resource(one) for one in _in_order(index.resources) if is_listed(one.hosted)]
        self.templates = [_template(one) for one in _in_order(index.templates) if is_listed(one.hosted)]
        self.taken = index.resources.keys()
        """The URIs at which there is something already, listed or not."""
        self.enumerating = [
            pattern
            for pattern in index.patterns
            if pattern.declared.component.enumerates and is_listed(pattern.declared.hosted)
        ]
        """The templates whose functions name instances."""


def _declared(functions: FunctionList) -> Iterator[Declared]:
    for hosted in functions.functions:
        if hosted.component is not None and not is_internal(hosted.function):
            yield Declared(hosted, hosted.component)


def _name(declared: Declared) -> str:
    """Authors of toolkits always say one; other executors may not."""
    return declared.hosted.name or declared.hosted.function


def _by_uri(declared: Sequence[Declared], kind: str) -> Mapping[str, Declared]:
    return {str(one.component.uri): one for one in reversed(declared) if one.component.kind == kind}


def _in_order(found: Mapping[str, Declared]) -> Sequence[Declared]:
    return sorted(found.values(), key=lambda one: one.hosted.function)


def _order(pattern: Pattern) -> tuple[int, str]:
    """What says more about its instances goes first."""
    return -pattern.template.said, pattern.declared.hosted.function


def _prompt(declared: Declared) -> Prompt:
    hosted = declared.hosted
    return Prompt(
        _name(declared),
        hosted.title,
        hosted.description or None,
        declared.component.arguments,
        hosted.icons,
        hosted.meta,
    )


def _resource(declared: Declared) -> Resource:
    hosted, component = declared.hosted, declared.component
    return Resource(
        uri=str(component.uri),
        name=_name(declared),
        title=hosted.title,
        description=hosted.description or None,
        mime_type=component.mime_type,
        size=component.size,
        annotations=component.annotations,
        icons=hosted.icons,
        meta=hosted.meta,
    )


def _template(declared: Declared) -> ResourceTemplate:
    hosted, component = declared.hosted, declared.component
    return ResourceTemplate(
        uri_template=str(component.uri),
        name=_name(declared),
        title=hosted.title,
        description=hosted.description or None,
        mime_type=component.mime_type,
        annotations=component.annotations,
        icons=hosted.icons,
        meta=hosted.meta,
    )
