"""The prompts, resources and templates of a tenant, as they are listed and as they are found."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from signpost.contract import PROMPT, RESOURCE, TEMPLATE, Component, Hosted
from signpost.execution.components import prompt_name
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
    is_own: bool
    """The tenant's, and not shipped."""


@dataclass(frozen=True, slots=True)
class Pattern:
    template: UriTemplate
    declared: Declared


class ComponentIndex:
    """Of two that clients could not tell apart there is the tenant's own before a shipped one, and else the one whose
    id comes first."""

    def __init__(self, functions: FunctionList, shows: Callable[[str], bool]) -> None:
        """`shows` says which hidden ones are listed all the same, by the ids of their functions."""
        declared = sorted(_declared(functions), key=_precedence)
        self.prompts = {prompt_name(one.hosted): one for one in reversed(declared) if one.component.kind == PROMPT}
        self.resources = _by_uri(declared, RESOURCE)
        self.templates = _by_uri(declared, TEMPLATE)
        patterns = [Pattern(uri_template(uri), one) for uri, one in self.templates.items()]
        self.patterns: Sequence[Pattern] = sorted(patterns, key=_order)
        listed = {one.hosted.function for one in declared if not one.hosted.hidden or shows(one.hosted.function)}
        self._left_out = {one.hosted.function for one in declared} - listed
        self.listed_prompts = [_prompt(one) for one in _of(self.prompts, listed)]
        self.listed_resources = [_resource(one) for one in _of(self.resources, listed)]
        self.listed_templates = [_template(one) for one in _of(self.templates, listed)]
        self.enumerating = [
            pattern
            for pattern in self.patterns
            if pattern.declared.component.enumerates and pattern.declared.hosted.function in listed
        ]
        """The templates whose functions name instances for lists."""

    @property
    def hidden_prompts(self) -> Sequence[Prompt]:
        return [_prompt(one) for one in _of(self.prompts, self._left_out)]

    @property
    def hidden_resources(self) -> Sequence[Resource]:
        return [_resource(one) for one in _of(self.resources, self._left_out)]

    @property
    def hidden_templates(self) -> Sequence[ResourceTemplate]:
        return [_template(one) for one in _of(self.templates, self._left_out)]

    def at(self, uri: str) -> Iterator[tuple[Hosted, Mapping[str, str]]]:
        """Whatever may be there, with its variables: what has exactly this URI, then instances of templates."""
        if uri in self.resources:
            yield self.resources[uri].hosted, {}
        for pattern in self.patterns:
            variables = pattern.template.values_in(uri)
            if variables is not None:
                yield pattern.declared.hosted, variables


def _declared(functions: FunctionList) -> Iterator[Declared]:
    for hosted in functions.functions:
        if hosted.component is not None and not is_internal(hosted.function):
            yield Declared(hosted, hosted.component, hosted.function in functions.own)


def _precedence(declared: Declared) -> tuple[bool, str]:
    return not declared.is_own, declared.hosted.function


def _by_uri(declared: Sequence[Declared], kind: str) -> Mapping[str, Declared]:
    return {str(one.component.uri): one for one in reversed(declared) if one.component.kind == kind}


def _of(found: Mapping[str, Declared], listed: AbstractSet[str]) -> Sequence[Declared]:
    return sorted((one for one in found.values() if one.hosted.function in listed), key=lambda one: one.hosted.function)


def _order(pattern: Pattern) -> tuple[int, bool, str]:
    """What says more about its instances goes first."""
    return -pattern.template.said, *_precedence(pattern.declared)


def _prompt(declared: Declared) -> Prompt:
    hosted = declared.hosted
    return Prompt(
        prompt_name(declared.hosted),
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
        name=prompt_name(declared.hosted),
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
        name=prompt_name(declared.hosted),
        title=hosted.title,
        description=hosted.description or None,
        mime_type=component.mime_type,
        annotations=component.annotations,
        icons=hosted.icons,
        meta=hosted.meta,
    )
