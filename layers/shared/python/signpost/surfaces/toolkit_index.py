"""An index of the prompts, resources and templates of a tenant, for lists and lookups."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from signpost.calling.components import prompt_name
from signpost.calling.lookup import FunctionList
from signpost.calling.runtime_settings import has_hidden_prefix
from signpost.calling.uri_templates import UriTemplate, parse_uri_template
from signpost.content.names import is_internal
from signpost.contract import PROMPT, RESOURCE, TEMPLATE, Component, HostedFunction
from signpost.model import Prompt, Resource, ResourceTemplate
from signpost.records import dataclass


@dataclass(frozen=True, slots=True)
class DeclaredComponent:
    """A hosted function that is a prompt, resource, template or helper."""

    hosted: HostedFunction
    component: Component
    is_own: bool
    """True if it is the tenant's own, False if it is shipped."""


@dataclass(frozen=True, slots=True)
class IndexedTemplate:
    """A parsed template with its function."""

    template: UriTemplate
    declared: DeclaredComponent


class ComponentIndex:
    """The components of a tenant by name and URI.

    Where two components have the same name or URI, the tenant's own replaces the shipped one; else the first by id is
    kept.
    """

    def __init__(self, functions: FunctionList, unlisted: frozenset[str]) -> None:
        """`unlisted` are the ids of the functions that lists leave out."""
        declared = sorted(_list_components(functions), key=_precedence)
        self.prompts = {
            prompt_name(entry.hosted): entry for entry in reversed(declared) if entry.component.kind == PROMPT
        }
        self.resources = _index_by_uri(declared, RESOURCE)
        self.templates = _index_by_uri(declared, TEMPLATE)
        patterns = [IndexedTemplate(parse_uri_template(uri), entry) for uri, entry in self.templates.items()]
        self.patterns: Sequence[IndexedTemplate] = sorted(patterns, key=_template_order)
        listed = {entry.hosted.function for entry in declared} - unlisted
        self._hidden_ids = unlisted
        self.listed_prompts = [_prompt(entry) for entry in _select_listed(self.prompts, listed)]
        self.listed_resources = [_resource(entry) for entry in _select_listed(self.resources, listed)]
        self.listed_templates = [_template(entry) for entry in _select_listed(self.templates, listed)]
        self.enumerating_templates = [
            pattern
            for pattern in self.patterns
            if pattern.declared.component.enumerates and pattern.declared.hosted.function in listed
        ]
        """The listed templates with a helper that lists their instances."""

    @property
    def hidden_prompts(self) -> Sequence[Prompt]:
        return [_prompt(entry) for entry in _select_listed(self.prompts, self._hidden_ids)]

    @property
    def hidden_resources(self) -> Sequence[Resource]:
        return [_resource(entry) for entry in _select_listed(self.resources, self._hidden_ids)]

    @property
    def hidden_templates(self) -> Sequence[ResourceTemplate]:
        return [_template(entry) for entry in _select_listed(self.templates, self._hidden_ids)]

    def find_at(self, uri: str) -> Iterator[tuple[HostedFunction, Mapping[str, str]]]:
        """Yield the functions that may have a resource at this URI, with its variables: first the one with exactly this
        URI, then those of matching templates."""
        if uri in self.resources:
            yield self.resources[uri].hosted, {}
        for pattern in self.patterns:
            variables = pattern.template.values_in(uri)
            if variables is not None:
                yield pattern.declared.hosted, variables


def _list_components(functions: FunctionList) -> Iterator[DeclaredComponent]:
    for hosted in functions.functions:
        is_hidden = is_internal(hosted.function) or has_hidden_prefix(hosted.function, functions.settings)
        if hosted.component is not None and not is_hidden:
            yield DeclaredComponent(hosted, hosted.component, hosted.function in functions.own)


def _precedence(declared: DeclaredComponent) -> tuple[bool, str]:
    return not declared.is_own, declared.hosted.function


def _index_by_uri(declared: Sequence[DeclaredComponent], kind: str) -> Mapping[str, DeclaredComponent]:
    return {str(entry.component.uri): entry for entry in reversed(declared) if entry.component.kind == kind}


def _select_listed(
    components: Mapping[str, DeclaredComponent], listed: AbstractSet[str]
) -> Sequence[DeclaredComponent]:
    return sorted(
        (entry for entry in components.values() if entry.hosted.function in listed),
        key=lambda entry: entry.hosted.function,
    )


def _template_order(pattern: IndexedTemplate) -> tuple[int, bool, str]:
    """Sort templates with more literal characters first: they are more specific."""
    return -pattern.template.literal_length, *_precedence(pattern.declared)


def _prompt(declared: DeclaredComponent) -> Prompt:
    hosted = declared.hosted
    return Prompt(
        prompt_name(declared.hosted),
        hosted.title,
        hosted.description or None,
        declared.component.arguments,
        hosted.icons,
        hosted.meta,
    )


def _resource(declared: DeclaredComponent) -> Resource:
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


def _template(declared: DeclaredComponent) -> ResourceTemplate:
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
