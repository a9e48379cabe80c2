"""A catalogue put in its place without a manifest."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from signpost.adapters.dynamodb import DynamoContentStore
from signpost.adapters.memory import MemoryTexts
from signpost.adapters.s3 import S3Publications, S3Values
from signpost.content import CatalogueChange, Scopes
from signpost.model import CatalogueItem
from signpost.ports import ContentStore, Texts
from signpost.registry import publication
from signpost.registry.catalogue_publisher import CataloguePublisher
from signpost.registry.publication import Published

if TYPE_CHECKING:
    from tests.support.laptop import Laptop, Stack


def put_in_place(
    content: ContentStore, texts: Texts, tenant: str, items: Sequence[CatalogueItem], published: Published | None = None
) -> None:
    """All that the tenant has from now on; beside the items as `published` says."""
    whole = replace(published or Published(), items=sorted(items, key=lambda item: item.id))
    digest = texts.keep(tenant, publication.to_text(whole))
    content.apply(tenant, [CatalogueChange(content.catalogue(tenant), digest)])


def put_in_place_of(laptop: "Laptop", stack: "Stack", tenant: str, items: Sequence[CatalogueItem]) -> None:
    """The same in a deployed stack."""
    table, bucket = (stack.deployed.outputs[name] for name in ("RegistryTableName", "ContentBucketName"))
    s3 = laptop.client("s3")
    publications, values = S3Publications(lambda: s3, bucket), S3Values(lambda: s3, bucket)
    content = DynamoContentStore(laptop.client("dynamodb"), table, publications, Scopes("skills", "prompts"))
    put_in_place(content, values, tenant, items)


def catalogues(content: ContentStore, texts: Texts | None = None) -> CataloguePublisher:
    """For publishers in memory."""
    there = texts or MemoryTexts()
    return CataloguePublisher(content=content, values=there, definitions=there)
