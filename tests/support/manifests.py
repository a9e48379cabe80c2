"""Stores a manifest as a tenant's catalogue directly, without the registry's publication."""

from collections.abc import Mapping
from typing import Any

from signpost.catalogue.items import compile_definitions, connection_items
from signpost.catalogue.publishing.sent_definitions import SentDefinitions
from signpost.catalogue.snapshot import CatalogueSnapshot
from signpost.content.ports import ContentStore
from signpost.model import PROXY_WORKFLOW, CatalogueItem, as_object
from signpost.ports import TextStore
from signpost.workflow.definition_reader import parse_published_definition
from signpost.workflow.proxy_default import document_of
from signpost.workflow.running.serialization import text_of
from tests.support.catalogues import store_catalogue


def publish(
    content: ContentStore, values: TextStore, definitions: TextStore, tenant: str, manifest: Mapping[str, Any]
) -> None:
    """Replace the catalogue of the tenant by the content of the manifest."""
    defined = compile_definitions(manifest)
    assert isinstance(defined, SentDefinitions), defined
    for text in defined.texts:
        definitions.keep(tenant, text)
    capabilities = {item.id: item.definition for item in defined.items if item.kind == "capability"}
    transitions = {name: as_object(defined.transitions[digest]) for name, digest in capabilities.items()}
    proxy = definitions.keep(tenant, text_of(document_of(transitions))) if transitions else ""
    connections = as_object(manifest.get("connections"))
    published = CatalogueSnapshot(proxy=proxy, connections=connections, discovery=as_object(manifest.get("discovery")))
    store_catalogue(content, values, tenant, [*defined.items, *connection_items(connections)], published)


def publish_documents(
    content: ContentStore,
    values: TextStore,
    definitions: TextStore,
    tenant: str,
    documents: Mapping[str, Mapping[str, Any]],
) -> None:
    """Replace the catalogue of the tenant by definitions by their ids, among them the definition of all
    capabilities."""
    digests = {name: definitions.keep(tenant, text_of(document)) for name, document in documents.items()}
    parsed = [
        parse_published_definition(name, document) for name, document in documents.items() if name != PROXY_WORKFLOW
    ]
    items = [
        CatalogueItem(
            definition.id,
            "workflow",
            definition.title,
            definition=digests[definition.id],
            enabled=definition.enabled,
            input_schema=definition.input_schema or {},
        )
        for definition in parsed
    ]
    store_catalogue(content, values, tenant, items, CatalogueSnapshot(proxy=digests.get(PROXY_WORKFLOW, "")))
