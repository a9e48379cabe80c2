"""A manifest put in the place of a tenant's catalogue, without the way that publications take."""

from collections.abc import Mapping
from typing import Any

from signpost.model import PROXY, CatalogueItem, as_object
from signpost.ports import ContentStore, Texts
from signpost.registry.defined import connection_items, defined_in
from signpost.registry.publication import Published
from signpost.registry.sent_definitions import SentDefinitions
from signpost.workflow.definition import published
from signpost.workflow.proxy import document_of
from signpost.workflow.story import text_of
from tests.support.catalogues import put_in_place


def publish(content: ContentStore, values: Texts, definitions: Texts, tenant: str, manifest: Mapping[str, Any]) -> None:
    """All that the tenant has from now on is what the manifest says."""
    defined = defined_in(manifest)
    assert isinstance(defined, SentDefinitions), defined
    for text in defined.texts:
        definitions.keep(tenant, text)
    named = {item.id: item.definition for item in defined.items if item.kind == "capability"}
    transitions = {name: as_object(defined.transitions[digest]) for name, digest in named.items()}
    proxy = definitions.keep(tenant, text_of(document_of(transitions))) if transitions else ""
    connections = as_object(manifest.get("connections"))
    said = Published(proxy=proxy, connections=connections, discovery=as_object(manifest.get("discovery")))
    put_in_place(content, values, tenant, [*defined.items, *connection_items(connections)], said)


def publish_documents(
    content: ContentStore, values: Texts, definitions: Texts, tenant: str, documents: Mapping[str, Mapping[str, Any]]
) -> None:
    """The same of definitions by their ids, that of all capabilities among them."""
    digests = {name: definitions.keep(tenant, text_of(document)) for name, document in documents.items()}
    read = [published(name, document) for name, document in documents.items() if name != PROXY]
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
    put_in_place(content, values, tenant, items, Published(proxy=digests.get(PROXY, "")))
