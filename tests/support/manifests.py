"""A manifest put in the place of a tenant's catalogue, without the way that publications take."""

from collections.abc import Mapping
from typing import Any

from signpost.catalogue.items import compile_definitions, connection_items
from signpost.catalogue.publishing.sent_definitions import SentDefinitions
from signpost.catalogue.snapshot import CatalogueSnapshot
from signpost.content.ports import ContentStore
from signpost.model import PROXY_WORKFLOW, CatalogueItem, as_object
from signpost.ports import TextStore
from signpost.workflow.definition import parse_published_definition
from signpost.workflow.proxy_default import document_of
from signpost.workflow.running.serialization import text_of
from tests.support.catalogues import put_in_place


def publish(
    content: ContentStore, values: TextStore, definitions: TextStore, tenant: str, manifest: Mapping[str, Any]
) -> None:
    """All that the tenant has from now on is what the manifest says."""
    defined = compile_definitions(manifest)
    assert isinstance(defined, SentDefinitions), defined
    for text in defined.texts:
        definitions.keep(tenant, text)
    named = {item.id: item.definition for item in defined.items if item.kind == "capability"}
    transitions = {name: as_object(defined.transitions[digest]) for name, digest in named.items()}
    proxy = definitions.keep(tenant, text_of(document_of(transitions))) if transitions else ""
    connections = as_object(manifest.get("connections"))
    said = CatalogueSnapshot(proxy=proxy, connections=connections, discovery=as_object(manifest.get("discovery")))
    put_in_place(content, values, tenant, [*defined.items, *connection_items(connections)], said)


def publish_documents(
    content: ContentStore,
    values: TextStore,
    definitions: TextStore,
    tenant: str,
    documents: Mapping[str, Mapping[str, Any]],
) -> None:
    """The same of definitions by their ids, that of all capabilities among them."""
    digests = {name: definitions.keep(tenant, text_of(document)) for name, document in documents.items()}
    read = [
        parse_published_definition(name, document) for name, document in documents.items() if name != PROXY_WORKFLOW
    ]
    items = [
        CatalogueItem(
            one.id,
            "workflow",
            one.title,
            definition=digests[one.id],
            enabled=one.enabled,
            input_schema=one.input_schema or {},
        )
        for one in read
    ]
    put_in_place(content, values, tenant, items, CatalogueSnapshot(proxy=digests.get(PROXY_WORKFLOW, "")))
