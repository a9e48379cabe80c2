"""The items that clients find: workflows, capabilities, connections, documents, prompts and resources. Each keeps the
value that it stands for; answers take from it the members that a catalogue item does not have."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from signpost.catalogue.cache import CachedCatalogue
from signpost.catalogue.callable_skills import CallableSkill, SkillSet
from signpost.content.model import Skill
from signpost.model import LONGEST_ITEM_TEXT, CatalogueItem, Json, Prompt, Resource, ResourceTemplate, as_object
from signpost.records import dataclass
from signpost.surfaces.gateway.tool_specs import CAPABILITY, DOCUMENT, PROMPT, RESOURCE

if TYPE_CHECKING:
    from signpost.search.ranking import CatalogueSearch

type ItemSource = CallableSkill | Skill | Prompt | Resource | ResourceTemplate | None
"""The value that an item stands for; None for an item that its tenant has published in a manifest."""
type ItemKey = tuple[str, str]
"""The kind and the id of an item."""


@dataclass(frozen=True, slots=True)
class FoundItem:
    item: CatalogueItem
    source: ItemSource = None

    @property
    def key(self) -> ItemKey:
        return self.item.kind, self.item.id


@dataclass(frozen=True)  # no slots: cached properties need a `__dict__`
class StartableItems:
    """The items that one principal can start, and the connections that discovery shows."""

    catalogue: CachedCatalogue
    skills: SkillSet

    @cached_property
    def items(self) -> Sequence[FoundItem]:
        """The items that `gateway.home` lists, sorted by id."""
        found = [*map(FoundItem, self.catalogue.items), *self._find_skills()]
        return sorted(found, key=lambda one: (one.item.id, one.item.kind))

    @cached_property
    def by_key(self) -> Mapping[ItemKey, FoundItem]:
        return {one.key: one for one in self.items}

    def _find_skills(self) -> Iterator[FoundItem]:
        if CAPABILITY not in self.catalogue.visible_kinds:
            return
        published = self.catalogue.capability_ids
        for skill in self.skills.listed:
            if skill.name not in published:
                yield build_skill_item(skill)


@dataclass(frozen=True)  # no slots: as above
class FoundItems:
    """Everything that one principal finds."""

    startable: StartableItems
    documents: Sequence[Skill]
    prompts: Sequence[Prompt]
    resources: Sequence[Resource]
    templates: Sequence[ResourceTemplate]

    @cached_property
    def by_key(self) -> Mapping[ItemKey, FoundItem]:
        others = (
            *map(_build_document_item, self.documents),
            *map(_build_prompt_item, self.prompts),
            *map(_build_resource_item, self.resources),
            *map(_build_template_item, self.templates),
        )
        return {**self.startable.by_key, **{one.key: one for one in others}}

    def document_of(self, found: FoundItem) -> FoundItem | None:
        """Find the document that the author of a skill named, if there is one."""
        doc = found.source.hosted.doc if isinstance(found.source, CallableSkill) else None
        return None if doc is None else self.by_key.get((DOCUMENT, doc))

    @cached_property
    def search(self) -> "CatalogueSearch":
        # Imported on first use: most requests search nothing.
        from signpost.search.documents import SearchDocument  # noqa: PLC0415
        from signpost.search.ranking import CatalogueSearch  # noqa: PLC0415 - as above

        def build(item: CatalogueItem, place: int) -> SearchDocument:
            return SearchDocument(
                item.id, item.kind, item.title, item.description, item.tags, item.aliases, item.text, place
            )

        startable = self.startable.by_key
        return CatalogueSearch(build(found.item, int(key not in startable)) for key, found in self.by_key.items())


def build_skill_item(skill: CallableSkill) -> FoundItem:
    hosted = skill.hosted
    category = (hosted.category,) if hosted.category else ()
    item = CatalogueItem(
        id=skill.name,
        kind=CAPABILITY,
        title=hosted.title or skill.name,
        description=skill.description,
        tags=tuple(dict.fromkeys((*category, *_texts_in(hosted.meta.get("tags"))))),
        text=" ".join(_searched_texts(skill))[:LONGEST_ITEM_TEXT],
    )
    return FoundItem(item, skill)


def examples_of(skill: CallableSkill) -> Sequence[str]:
    """Return the requests that the author of the function gave as examples."""
    return _texts_in(skill.hosted.meta.get("examples"))


def _searched_texts(skill: CallableSkill) -> Iterator[str]:
    """Yield the texts of a skill that a search covers beside its item: function id, examples and arguments."""
    yield skill.hosted.function
    yield from examples_of(skill)
    for name, declared in as_object((skill.hosted.input_schema or {}).get("properties")).items():
        description = as_object(declared).get("description")
        yield name
        if isinstance(description, str):
            yield description


def _texts_in(value: Json) -> Sequence[str]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return ()
    return [text for text in value if isinstance(text, str)]


def _build_document_item(document: Skill) -> FoundItem:
    item = CatalogueItem(document.id, DOCUMENT, document.title, document.description or "", text=document.headings)
    return FoundItem(item, document)


def _build_prompt_item(prompt: Prompt) -> FoundItem:
    arguments = " ".join(
        text for argument in prompt.arguments for text in (argument.name, argument.description) if text
    )
    item = CatalogueItem(
        prompt.name, PROMPT, prompt.title or prompt.name, prompt.description or "", text=arguments[:LONGEST_ITEM_TEXT]
    )
    return FoundItem(item, prompt)


def _build_resource_item(resource: Resource) -> FoundItem:
    title = resource.title or resource.name
    item = CatalogueItem(resource.uri, RESOURCE, title, resource.description or "", text=resource.name)
    return FoundItem(item, resource)


def _build_template_item(template: ResourceTemplate) -> FoundItem:
    title = template.title or template.name
    item = CatalogueItem(template.uri_template, RESOURCE, title, template.description or "", text=template.name)
    return FoundItem(item, template)
