"""Which definition is started now, and which one an instance follows."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from signpost.adapters.memory import (
    FunctionTable,
    MemoryContentStore,
    MemoryFunctionStates,
    MemoryRevisionRows,
    MemoryTextStore,
)
from signpost.calling.lookup import FunctionView
from signpost.catalogue import snapshot as publication
from signpost.catalogue.cache import CatalogueView
from signpost.catalogue.catalogue_access import CatalogueAccess
from signpost.catalogue.definitions import CatalogueDefinitions
from signpost.catalogue.run_functions import HostedRunFunctions
from signpost.list_revisions import RevisionView
from signpost.model import CatalogueItem, JsonObject
from signpost.policy.access import UnrestrictedAccess
from tests.support.catalogues import search_catalogue, store_catalogue
from tests.support.memory_gateway import ManualClock

TENANT = "acme"


def document(target: str) -> Mapping[str, Any]:
    return {"initialState": "open", "states": {"open": {"transitions": {"go": {"target": target}}}, target: {}}}


class PublishedCatalogue:
    def __init__(self) -> None:
        self.clock, self._content, self._texts = ManualClock(), MemoryContentStore(FunctionTable()), MemoryTextStore()
        revisions = RevisionView(rows=MemoryRevisionRows(self._content), clock=self.clock)
        self.view = CatalogueView(revisions=revisions, texts=self._texts)
        functions = HostedRunFunctions(FunctionView(states=MemoryFunctionStates(FunctionTable()), clock=ManualClock()))
        accesses = UnrestrictedAccess()
        access = CatalogueAccess(catalogue=self.view, accesses=accesses)
        self.definitions = CatalogueDefinitions(
            catalogue=self.view, access=access, functions=functions, texts=self._texts
        )

    def publish(
        self, *items: tuple[str, str, str], enabled: bool = True, listed: bool = True, switched_off: bool = False
    ) -> None:
        """Kind, id, and the state that its definition leads to."""
        kept = {name: self._texts.keep(TENANT, json.dumps(document(to))) for _, name, to in items}
        offered = [CatalogueItem(name, kind, name, definition=kept[name]) for kind, name, _ in items]
        whole = [replace(item, enabled=enabled, switched_off=switched_off) for item in offered]
        proxy = next((kept[name] for kind, name, _ in items if kind == "capability"), "")
        discovery: JsonObject = {} if listed else {"include": []}
        said = publication.CatalogueSnapshot(proxy=proxy, discovery=discovery)
        store_catalogue(self._content, self._texts, TENANT, whole, said)

    def leads_to(self, definition_id: str) -> str | None:
        found = self.definitions.find_current(TENANT, definition_id)
        return None if found is None else found.definition.states["open"].transitions["go"].target


@pytest.fixture
def published() -> PublishedCatalogue:
    return PublishedCatalogue()


def test_the_latest_published_definition_is_started(published: PublishedCatalogue) -> None:
    published.publish(("workflow", "deploy", "done"))
    assert published.leads_to("deploy") == "done"
    assert published.definitions.list_ids(TENANT) == ["deploy"]
    published.publish(("workflow", "deploy", "shipped"))
    assert published.leads_to("deploy") == "shipped"


def test_an_instance_follows_the_definition_that_it_was_started_with(published: PublishedCatalogue) -> None:
    published.publish(("workflow", "deploy", "done"))
    before = published.definitions.find_current(TENANT, "deploy")
    assert before is not None
    published.publish(("workflow", "deploy", "shipped"))
    pinned = published.definitions.load_pinned(TENANT, "deploy", before.digest)
    assert pinned.states["open"].transitions["go"].target == "done"


def test_a_capability_is_a_transition_of_the_proxy_workflow(published: PublishedCatalogue) -> None:
    assert published.leads_to("proxy_default") is None
    published.publish(("capability", "github.list", "ready"), ("workflow", "deploy", "done"))
    assert published.leads_to("proxy_default") == "ready"
    assert published.leads_to("github.list") is None
    assert published.definitions.list_ids(TENANT) == ["deploy"]


@pytest.mark.parametrize("said", [{"enabled": False}, {"switched_off": True}])
def test_a_disabled_workflow_is_neither_listed_nor_found_nor_started(
    published: PublishedCatalogue, said: Mapping[str, bool]
) -> None:
    published.publish(("workflow", "deploy", "done"), **said)
    assert published.leads_to("deploy") is None
    assert published.definitions.list_ids(TENANT) == []
    snapshot = published.view.load(TENANT)
    assert search_catalogue(snapshot, "deploy") == []
    assert [item.id for item in snapshot.snapshot.items] == ["deploy"]


def test_an_unlisted_workflow_can_be_started(published: PublishedCatalogue) -> None:
    published.publish(("workflow", "deploy", "done"), listed=False)
    assert published.view.load(TENANT).items == []
    assert published.leads_to("deploy") == "done"


def test_a_catalogue_is_searched_by_the_text_of_its_items(published: PublishedCatalogue) -> None:
    published.publish(("workflow", "deploy", "done"), ("capability", "github.list", "ready"))
    assert search_catalogue(published.view.load(TENANT), "github") == ["github.list"]
