"""Stores a catalogue directly, without publishing a manifest."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from signpost.adapters.dynamodb import DynamoContentStore
from signpost.adapters.memory import MemoryTextStore
from signpost.adapters.s3 import S3ChangeBatchStore, S3Values
from signpost.catalogue import snapshot
from signpost.catalogue.cache import CachedCatalogue
from signpost.catalogue.callable_skills import SkillSet
from signpost.catalogue.publishing.catalogue import CataloguePublisher
from signpost.catalogue.snapshot import CatalogueSnapshot
from signpost.content.model import CatalogueChange, ScopeNames
from signpost.content.ports import ContentStore
from signpost.model import CatalogueItem
from signpost.ports import TextStore
from signpost.search.ranking import Ranking
from signpost.surfaces.gateway.found_items import FoundItems, StartableItems

if TYPE_CHECKING:
    from tests.support.laptop import Laptop, Stack


def store_catalogue(
    content: ContentStore,
    texts: TextStore,
    tenant: str,
    items: Sequence[CatalogueItem],
    published: CatalogueSnapshot | None = None,
) -> None:
    """Replace the tenant's catalogue by these items. Everything else is taken from `published`."""
    whole = replace(published or CatalogueSnapshot(), items=sorted(items, key=lambda item: item.id))
    digest = texts.keep(tenant, snapshot.to_text(whole))
    content.apply(tenant, [CatalogueChange(content.catalogue(tenant), digest)])


def store_stack_catalogue(
    laptop: "Laptop",
    stack: "Stack",
    tenant: str,
    items: Sequence[CatalogueItem],
    published: CatalogueSnapshot | None = None,
) -> None:
    """Replace the catalogue of a tenant of a deployed stack."""
    table, bucket = (stack.deployed.outputs[name] for name in ("RegistryTableName", "ContentBucketName"))
    s3 = laptop.client("s3")
    publications, values = S3ChangeBatchStore(lambda: s3, bucket), S3Values(lambda: s3, bucket)
    content = DynamoContentStore(laptop.client("dynamodb"), table, publications, ScopeNames("skills", "prompts"))
    store_catalogue(content, values, tenant, items, published)


def build_catalogue_publisher(content: ContentStore, texts: TextStore | None = None) -> CataloguePublisher:
    """Return a catalogue publisher on stores in memory."""
    text_store = texts or MemoryTextStore()
    return CataloguePublisher(content=content, values=text_store, definitions=text_store)


def search_catalogue(catalogue: CachedCatalogue, query: str, ranking: Ranking = "literal") -> Sequence[str]:
    """Return the ids that a search finds in a catalogue alone, without skills and documents."""
    found = FoundItems(StartableItems(catalogue, SkillSet({}, (), ())), (), (), (), ())
    return [item_id for _, item_id in found.search.find(query, ranking=ranking)]
