"""Publications of workflows and capabilities: what becomes of the catalogue, and who hears of it."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, get_ident
from typing import Any

import pytest

from signpost.adapters.memory import (
    FunctionTable,
    MemoryBodies,
    MemoryContentStore,
    MemoryFunctionStates,
    MemoryRevisionRows,
    MemoryTextStore,
)
from signpost.calling.lookup import FunctionView
from signpost.catalogue.cache import CachedCatalogue, CatalogueView
from signpost.catalogue.catalogue_access import CatalogueAccess
from signpost.catalogue.definitions import CatalogueDefinitions
from signpost.catalogue.items import compile_definitions
from signpost.catalogue.publishing import catalogue as catalogue_publisher
from signpost.catalogue.publishing.catalogue import CataloguePublisher
from signpost.catalogue.publishing.publish_functions import PublishFunctions
from signpost.catalogue.publishing.publisher import Publisher
from signpost.catalogue.publishing.request import MOST_BODIES
from signpost.catalogue.publishing.sent_definitions import SentDefinitions
from signpost.catalogue.run_functions import HostedRunFunctions
from signpost.content.api.errors import RegistryRefusal
from signpost.content.callers import Caller
from signpost.list_revisions import RevisionView
from signpost.model import LONGEST_ITEM_TEXT, PROXY_WORKFLOW
from signpost.policy.access import UnrestrictedAccess
from tests.support.catalogues import search_catalogue
from tests.support.memory_gateway import ManualClock
from tests.support.registry import PRINCIPAL, TENANT, CountingTimestamps

type Manifest = Mapping[str, Any]


def workflow(target: str = "done", **fields: Any) -> Manifest:
    states = {"open": {"transitions": {"go": {"target": target}}}, target: {"terminal": True}}
    return {"initialState": "open", "states": states, **fields}


class CatalogueStage:
    def __init__(self, content: MemoryContentStore | None = None) -> None:
        self.content = content or MemoryContentStore(FunctionTable())
        self.texts = MemoryTextStore()
        revisions = RevisionView(rows=MemoryRevisionRows(self.content), clock=ManualClock())
        self.view = CatalogueView(revisions=revisions, texts=self.texts)
        functions = HostedRunFunctions(FunctionView(states=MemoryFunctionStates(FunctionTable()), clock=ManualClock()))
        accesses = UnrestrictedAccess()
        access = CatalogueAccess(catalogue=self.view, accesses=accesses)
        self.definitions = CatalogueDefinitions(
            catalogue=self.view, access=access, functions=functions, texts=self.texts
        )
        self.functions = PublishFunctions(
            Publisher(
                content=self.content,
                bodies=MemoryBodies(),
                catalogues=CataloguePublisher(content=self.content, values=self.texts, definitions=self.texts),
                timestamps=CountingTimestamps(),
            )
        )

    def ask(self, function: str, payload: Manifest) -> Any:
        answer = self.functions.call(f"manifest::{function}", payload, Caller(TENANT, PRINCIPAL, 0.0))
        assert not isinstance(answer, RegistryRefusal), answer.message
        return answer

    def refusal(self, function: str, payload: Manifest) -> str:
        answer = self.functions.call(f"manifest::{function}", payload, Caller(TENANT, PRINCIPAL, 0.0))
        assert isinstance(answer, RegistryRefusal), answer
        return answer.message

    def publish(self, *, prune: bool = False, **manifest: Any) -> Any:
        """As the command does it: definitions first, then all that names them."""
        return self.ask("publish", self.named(manifest, prune=prune))

    def named(self, manifest: Manifest, *, prune: bool = False) -> Manifest:
        parts = [self.ask("bodies", {"definitions": {"version": 1, **manifest}})["part"]]
        settings = {name: manifest[name] for name in ("connections", "discovery", "audit") if name in manifest}
        return {**named_definitions(manifest), **settings, "prune": prune, "parts": parts}

    @property
    def snapshot(self) -> CachedCatalogue:
        return self.view.load(TENANT, fresh=True)

    def leads_to(self, name: str) -> str | None:
        found = self.definitions.find_current(TENANT, name)
        return found.definition.states["open"].transitions["go"].target if found else None

    def capabilities(self) -> list[str]:
        found = self.definitions.find_current(TENANT, PROXY_WORKFLOW)
        return list(found.definition.states["ready"].transitions) if found else []

    def told(self) -> list[tuple[str, str]]:
        told = [(event.op, event.key) for event in self.content.events]
        self.content.events.clear()
        return told


def named_definitions(manifest: Manifest) -> Manifest:
    sent = compile_definitions({"version": 1, **manifest})
    assert isinstance(sent, SentDefinitions), sent
    spoken = {"workflow": "workflows" in manifest, "capability": "proxy" in manifest}
    named = {
        kind: [{"id": item.id, "digest": item.definition} for item in sent.items if item.kind == kind]
        for kind, is_spoken in spoken.items()
        if is_spoken
    }
    return {{"workflow": "workflows", "capability": "capabilities"}[kind]: listed for kind, listed in named.items()}


def changes(answer: Any, kind: str = "workflows") -> tuple[list[str], ...]:
    return tuple(list(answer[kind][what]) for what in ("added", "changed", "same", "removed"))


@pytest.fixture
def stage() -> CatalogueStage:
    return CatalogueStage()


class TestWorkflows:
    def test_workflows_are_added_changed_kept_and_removed(self, stage: CatalogueStage) -> None:
        stage.publish(workflows={"a": workflow(), "b": workflow(), "d": workflow()})
        answer = stage.publish(workflows={"a": workflow(), "b": workflow("shipped"), "c": workflow()}, prune=True)
        assert changes(answer) == (["c"], ["b"], ["a"], ["d"])
        assert [item.id for item in stage.snapshot.items] == ["a", "b", "c"]
        assert (stage.leads_to("a"), stage.leads_to("b"), stage.leads_to("d")) == ("done", "shipped", None)

    def test_workflows_stay_without_prune_or_without_the_kind_in_the_request(self, stage: CatalogueStage) -> None:
        stage.publish(workflows={"a": workflow()})
        stage.publish(workflows={"b": workflow()})
        stage.publish(proxy={"expose": [{"name": "ping"}]}, prune=True)
        assert [item.id for item in stage.snapshot.items] == ["a", "b", "ping"]

    def test_only_changed_workflows_have_change_events(self, stage: CatalogueStage) -> None:
        stage.publish(workflows={"a": workflow(), "b": workflow()})
        assert stage.told() == [("register", "a"), ("register", "b")]
        stage.publish(workflows={"a": workflow(), "b": workflow("shipped")})
        assert stage.told() == [("register", "b")]
        stage.publish(workflows={"b": workflow("shipped")}, prune=True)
        assert stage.told() == [("unregister", "a")]
        stage.publish(workflows={"b": workflow("shipped")})
        assert stage.told() == []

    def test_a_plan_of_workflows_changes_no_catalogue(self, stage: CatalogueStage) -> None:
        stage.publish(workflows={"a": workflow()})
        before = stage.content.catalogue(TENANT)
        plan = stage.ask("plan", named_definitions({"workflows": {"a": workflow("shipped"), "b": workflow()}}))
        assert changes(plan) == (["b"], ["a"], [], [])
        assert stage.content.catalogue(TENANT) == before

    def test_a_workflow_without_a_sent_definition_is_refused(self, stage: CatalogueStage) -> None:
        stage.publish(workflows={"a": workflow()})
        named = named_definitions({"workflows": {"a": workflow(), "b": workflow("shipped")}})
        assert "'b'" in stage.refusal("publish", named)
        assert [item.id for item in stage.snapshot.items] == ["a"]

    def test_an_invalid_definition_is_refused_before_it_is_stored(self, stage: CatalogueStage) -> None:
        manifest: Manifest = {"version": 1, "workflows": {"broken": {"states": {}}}}
        assert "broken" in stage.refusal("bodies", {"definitions": manifest})

    def test_workflows_and_documents_are_published_together_or_not_at_all(self, stage: CatalogueStage) -> None:
        named = stage.named({"workflows": {"a": workflow()}})
        assert "UPPER" in stage.refusal("publish", {**named, "skills": [{"id": "UPPER", "skill": "# A"}]})
        assert stage.content.catalogue(TENANT) is None
        stage.ask("publish", {**named, "skills": [{"id": "lower", "skill": "# A"}]})
        assert [item.id for item in stage.snapshot.items] == ["a"]
        assert [skill.id for skill in stage.content.skills(TENANT)] == ["lower"]


class TestCapabilities:
    def test_capabilities_of_several_publications_are_transitions_of_one_workflow(self, stage: CatalogueStage) -> None:
        stage.publish(proxy={"expose": [{"name": "zeta"}, {"name": "alpha"}]})
        stage.publish(proxy={"expose": [{"name": "middle"}]})
        assert stage.capabilities() == ["zeta", "alpha", "middle"]
        assert [item.id for item in stage.snapshot.items] == ["alpha", "middle", "zeta"]

    def test_capabilities_are_changed_and_removed(self, stage: CatalogueStage) -> None:
        stage.publish(proxy={"expose": [{"name": "one"}, {"name": "two"}]})
        answer = stage.publish(proxy={"expose": [{"name": "one", "title": "The first"}]}, prune=True)
        assert changes(answer, "capabilities") == ([], ["one"], [], ["two"])
        assert stage.capabilities() == ["one"]
        (item,) = stage.snapshot.items
        assert item.title == "The first"
        stage.publish(proxy={"expose": []}, prune=True)
        assert stage.capabilities() == []
        assert stage.snapshot.proxy == ""

    def test_capabilities_have_change_events_of_the_proxy_workflow(self, stage: CatalogueStage) -> None:
        stage.publish(proxy={"expose": [{"name": "one"}]})
        assert stage.told() == [("register", PROXY_WORKFLOW)]
        stage.publish(proxy={"expose": []}, prune=True)
        assert stage.told() == [("unregister", PROXY_WORKFLOW)]

    def test_a_capability_and_a_workflow_can_have_the_same_id(self, stage: CatalogueStage) -> None:
        stage.publish(workflows={"deploy": workflow()}, proxy={"expose": [{"name": "deploy"}]})
        assert stage.leads_to("deploy") == "done"
        assert stage.capabilities() == ["deploy"]


class TestSettings:
    def test_discovery_settings_select_and_rank_the_items(self, stage: CatalogueStage) -> None:
        stage.publish(workflows={"a": workflow()}, connections={"crm": {"kind": "rest"}})
        assert [item.id for item in stage.snapshot.items] == ["a"]
        stage.publish(discovery={"include": ["connections"], "ranking": "fused"})
        assert [item.id for item in stage.snapshot.items] == ["connection:crm"]
        assert stage.snapshot.ranking == "fused"
        assert stage.leads_to("a") == "done"

    def test_connections_of_several_publications_are_merged_and_pruned(self, stage: CatalogueStage) -> None:
        stage.publish(connections={"crm": {"kind": "rest"}})
        assert changes(stage.publish(connections={"mail": {"kind": "mcp"}}), "connections") == (["mail"], [], [], [])
        assert stage.snapshot.snapshot.connections == {"crm": {"kind": "rest"}, "mail": {"kind": "mcp"}}
        stage.publish(connections={"mail": {"kind": "mcp"}}, prune=True)
        assert list(stage.snapshot.snapshot.connections) == ["mail"]

    def test_a_connection_with_its_members_in_another_order_is_unchanged(self, stage: CatalogueStage) -> None:
        stage.publish(connections={"crm": {"kind": "rest", "url": "https://crm.example"}})
        reordered = {"crm": {"url": "https://crm.example", "kind": "rest"}}
        assert changes(stage.publish(connections=reordered), "connections") == ([], [], ["crm"], [])


class TestSwitching:
    def test_a_switched_off_workflow_stays_off_until_switched_on(self, stage: CatalogueStage) -> None:
        stage.publish(workflows={"a": workflow()})
        stage.told()
        assert stage.ask("switch", {"id": "a", "enabled": False}) == {"id": "a", "enabled": False, "changed": True}
        stage.publish(workflows={"a": workflow("shipped")})
        assert stage.leads_to("a") is None
        assert stage.snapshot.items == []
        stage.ask("switch", {"id": "a", "enabled": True})
        assert stage.leads_to("a") == "shipped"
        assert stage.told() == [("unregister", "a"), ("register", "a")]

    def test_a_switched_off_workflow_stays_off_after_it_was_removed(self, stage: CatalogueStage) -> None:
        stage.publish(workflows={"a": workflow()})
        stage.ask("switch", {"id": "a", "enabled": False})
        stage.publish(workflows={"b": workflow()}, prune=True)
        stage.publish(workflows={"a": workflow()})
        assert (stage.leads_to("a"), stage.leads_to("b")) == (None, "done")

    def test_switching_to_the_same_position_changes_no_catalogue(self, stage: CatalogueStage) -> None:
        stage.publish(workflows={"a": workflow()})
        assert stage.ask("switch", {"id": "a", "enabled": True})["changed"] is False

    def test_switching_an_unknown_workflow_is_refused(self, stage: CatalogueStage) -> None:
        assert "'b'" in stage.refusal("switch", {"id": "b", "enabled": False})
        assert "boolean" in stage.refusal("switch", {"id": "b"})


class OvertakenContentStore(MemoryContentStore):
    """Somebody else publishes between the reading of the catalogue and what is made of it, once."""

    other: "CatalogueStage | None" = None

    def catalogue(self, tenant: str) -> str | None:
        found = super().catalogue(tenant)
        other, self.other = self.other, None
        if other is not None:
            other.publish(workflows={"theirs": workflow()})
        return found


@pytest.mark.invariant(8)
def test_a_publication_overtaken_by_another_is_decided_again() -> None:
    content = OvertakenContentStore(FunctionTable())
    world = CatalogueStage(content)
    named = world.named({"workflows": {"ours": workflow()}})
    content.other = world
    world.ask("publish", named)
    assert [item.id for item in world.snapshot.items] == ["ours", "theirs"]


class BarrierContentStore(MemoryContentStore):
    """Who looks at the catalogue first waits until all others have."""

    def __init__(self, publishers: int) -> None:
        super().__init__(FunctionTable())
        self._barrier, self._publishers = Barrier(publishers), publishers
        self._waited = set[int]()

    def catalogue(self, tenant: str) -> str | None:
        found = super().catalogue(tenant)
        if len(self._waited) < self._publishers and get_ident() not in self._waited:
            self._waited.add(get_ident())
            self._barrier.wait(10)
        return found


@pytest.mark.invariant(8)
def test_no_concurrent_publication_is_lost() -> None:
    many = 6
    worlds = CatalogueStage(BarrierContentStore(many))
    manifests: list[Manifest] = [{"version": 1, "workflows": {f"w{number}": workflow()}} for number in range(many)]
    parts = [worlds.ask("bodies", {"definitions": manifest})["part"] for manifest in manifests]

    def publish(number: int) -> None:
        worlds.ask("publish", {**named_definitions(manifests[number]), "parts": [parts[number]]})

    with ThreadPoolExecutor(many) as pool:
        list(pool.map(publish, range(many)))
    assert len(worlds.snapshot.items) == many


def test_a_search_reads_only_the_beginning_of_a_long_workflow(stage: CatalogueStage) -> None:
    states = {"open": {"terminal": True, "guidance": "zebra " + "x" * 100_000}}
    stage.publish(workflows={"long": {"initialState": "open", "states": states}})
    assert search_catalogue(stage.snapshot, "zebra") == ["long"]
    assert len(stage.snapshot.items[0].text) == LONGEST_ITEM_TEXT


class TestLimits:
    def test_the_size_of_a_catalogue_is_limited(self, stage: CatalogueStage, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(catalogue_publisher, "LARGEST_CATALOGUE", 1_000)
        named = stage.named({"workflows": {"a": workflow(description="x" * 1_000)}})
        assert "at most" in stage.refusal("publish", named)
        assert stage.content.catalogue(TENANT) is None

    def test_the_number_of_catalogue_items_is_limited(
        self, stage: CatalogueStage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(catalogue_publisher, "MOST_ITEMS", 2)
        stage.publish(workflows={"a": workflow(), "b": workflow()})
        named = stage.named({"workflows": {"c": workflow()}})
        assert "2 items at most" in stage.refusal("publish", named)
        assert [item.id for item in stage.snapshot.items] == ["a", "b"]

    def test_the_number_of_definitions_in_a_request_is_limited(self, stage: CatalogueStage) -> None:
        manifest: Manifest = {"version": 1, "workflows": {f"w{n}": workflow() for n in range(MOST_BODIES + 1)}}
        assert f"send at most {MOST_BODIES}" in stage.refusal("bodies", {"definitions": manifest})

    def test_the_first_thousand_problems_are_reported(self, stage: CatalogueStage) -> None:
        unsent = [{"id": f"w{number}", "digest": "0" * 64} for number in range(5_000)]
        answer = stage.functions.call("manifest::publish", {"workflows": unsent}, Caller(TENANT, PRINCIPAL, 0.0))
        assert isinstance(answer, RegistryRefusal)
        told: Any = answer.data["problems"]
        assert len(told) == 1_000
        assert "And 4995 more" in answer.message

    @pytest.mark.parametrize(
        "said",
        [
            {"connections": {"": {}}},
            {"connections": {"a": 5}},
            {"discovery": 5},
            {"audit": []},
            {"discovery": {"x": "\ud800"}},
        ],
    )
    def test_invalid_settings_are_refused(self, stage: CatalogueStage, said: Manifest) -> None:
        stage.refusal("publish", said)
        assert stage.content.catalogue(TENANT) is None

    def test_a_workflow_with_the_id_of_the_proxy_workflow_is_refused(self, stage: CatalogueStage) -> None:
        own: Manifest = {"initialState": "ready", "states": {"ready": {"transitions": {"a": {"target": "ready"}}}}}
        documents: list[Manifest] = [{**own, "title": "Mine"}, {**own, "title": "Capabilities", "readers": []}]
        for document in documents:
            assert PROXY_WORKFLOW in stage.refusal(
                "bodies", {"definitions": {"version": 1, "workflows": {PROXY_WORKFLOW: document}}}
            )
